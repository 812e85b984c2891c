#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Sends a request and turns the response into an outcome.
struct ResponsePipeline<Value: Sendable>: Sendable {
    let request: Request
    let access: LoaderAccess
    private let acceptable: Response.StatusSet
    private let load: @Sendable () async throws(LoadingError) -> Response
    private let parse: @Sendable (Response) throws(LoadingError) -> Value?

    /// Makes the pipeline of an endpoint.
    init(_ access: LoaderAccess, _ endpoint: Endpoint<Value>) {
        self.init(access, endpoint) { response throws(LoadingError) in try access.value(of: endpoint, from: response) }
    }

    /// Makes the pipeline of a request whose body is parsed into a value, or into nil.
    init(_ access: LoaderAccess, _ request: Request, parser: @escaping @Sendable (Data) throws -> Value?) {
        let endpoint = Endpoint(request).map(parser)
        self.init(access, endpoint) { response throws(LoadingError) in try access.value(of: endpoint, from: response) }
    }

    private init<Parsed>(
        _ access: LoaderAccess,
        _ endpoint: Endpoint<Parsed>,
        parse: @escaping @Sendable (Response) throws(LoadingError) -> Value?
    ) {
        self.access = access
        self.parse = parse
        request = endpoint.request
        let acceptable = endpoint.request.acceptableStatuses ?? endpoint.acceptableStatuses ?? .codes(0..<400)
        self.acceptable = acceptable
        load = { () async throws(LoadingError) in
            try await access.response(to: endpoint.acceptingStatuses(acceptable))
        }
    }

    /// Sends the request once; nil when nothing must be delivered.
    func outcome(_ options: RequestOptions) async -> Outcome<Value, NetworkError>? {
        do throws(LoadingError) {
            return outcome(of: try await load(), options)
        } catch {
            return outcome(of: error, options)
        }
    }

    private func outcome(of error: LoadingError, _ options: RequestOptions) -> Outcome<Value, NetworkError>? {
        if error.isCancellation, !options.contains(.cancellationErrors) { return nil }
        let isHotspot = error.looksLikePublicWiFi && !options.contains(.friendlyWiFiMessagesDisabled)
        return Outcome(request: request, error: .transport(error, looksLikePublicWiFi: isHotspot))
    }

    private func outcome(of response: Response, _ options: RequestOptions) -> Outcome<Value, NetworkError> {
        let url = LoadingError.Context(response.request).url
        guard response.isSuccess(acceptable) else {
            let isError = !options.contains(.httpErrorsDisabled)
            return Outcome(
                request: request,
                response: response,
                error: isError ? .http(response.status, url: url) : nil
            )
        }
        do throws(LoadingError) {
            return Outcome(request: request, response: response, value: try parse(response))
        } catch {
            if error.kind == .decoding, let cause = error.underlyingError {
                return Outcome(request: request, response: response, error: .invalidData(cause, url: url))
            }
            return Outcome(
                request: request,
                response: response,
                error: .transport(error, looksLikePublicWiFi: false)
            )
        }
    }
}

extension LoadingError {
    /// Whether a login page of a public WiFi probably responded instead of the server: it cannot have the server's
    /// certificate.
    var looksLikePublicWiFi: Bool {
        guard case .untrustedServer(let fault) = kind else { return false }
        return switch fault.cause {
        case .selfSigned, .wrongHost, .untrustedRoot: true
        default: false
        }
    }
}

extension Outcome where Failure == NetworkError {
    /// The outcome of a run that was cancelled through its handle.
    static func cancelled(_ request: Request) -> Self {
        Self(
            request: request,
            error: .transport(LoadingError(.cancelled, LoadingError.Context(request)), looksLikePublicWiFi: false)
        )
    }
}
