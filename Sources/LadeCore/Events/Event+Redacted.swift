extension Call.Event {
    /// Whether the event shows the fields of a response.
    var showsHead: Bool {
        switch self {
        case .headReceived, .interimResponse: true
        default: false
        }
    }

    /// The event without secrets: those that field and query names identify, and those that the call carries.
    ///
    /// Errors redact themselves; see `LoadingError.Context`.
    func redacted(_ rule: Redaction) -> Call.Event {
        switch self {
        case .callStarted(let method, let url): .callStarted(method: method, url: rule.address(url))
        case .exchangeStarted(let method, let url): .exchangeStarted(method: method, url: rule.address(url))
        case .interimResponse(let status, let headers):
            .interimResponse(status: status, headers: rule.headers(headers))
        case .headReceived(let status, let headers, let version):
            .headReceived(status: status, headers: rule.headers(headers), version: version)
        case .malformationTolerated(let fault):
            .malformationTolerated(LoadingError.MalformedResponse(fault.rule, redacted: fault.excerpt.map(rule.text)))
        case .redirectFollowed(let status, let from, let to, let method):
            .redirectFollowed(status: status, from: rule.address(from), to: rule.address(to), method: method)
        case .valueIgnored(let name, let value):
            .valueIgnored(name: name, value: rule.isSecret(name) ? Redaction.mark : rule.text(value))
        default: self
        }
    }
}
