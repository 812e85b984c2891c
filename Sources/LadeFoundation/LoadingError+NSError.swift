public import Foundation
public import Lade

extension LoadingError {
    /// The domain of errors for a status that does not count as success; the code is the status.
    public static let statusErrorDomain = "HTTP"

    /// The domain of errors without an equivalent in Foundation.
    public static let errorDomain = "Lade"

    /// The user-info key of the response's header fields: a dictionary of strings.
    public static let headersUserInfoKey = "LadeHeaders"

    /// The user-info key of the beginning of the response's body.
    public static let bodyUserInfoKey = "LadeBody"

    /// The error in the form of Foundation.
    ///
    /// | error | domain | code |
    /// | --- | --- | --- |
    /// | status | `HTTP` | the status |
    /// | cancelled, time-outs, connection, name, trust, redirects, addresses | `NSURLErrorDomain` | as `URLSession` would |
    /// | JSON that cannot be parsed | `NSCocoaErrorDomain` | 3840 |
    /// | local files | `NSCocoaErrorDomain` | as `FileManager` would |
    /// | everything else | `Lade` | the number of the case in this table's source |
    ///
    /// The user info contains the description, the address, the header fields and the beginning of the body without the
    /// secrets of the call. It contains the underlying error if there is one.
    public var nsError: NSError {
        let (domain, code) = domainAndCode
        var info: [String: Any] = [NSLocalizedDescriptionKey: description]
        if let url = context.url.flatMap(URL.init(string:)) { info[NSURLErrorFailingURLErrorKey] = url }
        if !context.headers.isEmpty {
            let pairs = context.redactedHeaders.map { ($0.name, $0.value) }
            info[Self.headersUserInfoKey] = Dictionary(pairs) { "\($0), \($1)" }
        }
        if let body = context.body { info[Self.bodyUserInfoKey] = Data(context.redaction.maskingValues(Array(body))) }
        if let underlying { info[NSUnderlyingErrorKey] = underlying }
        return NSError(domain: domain, code: code, userInfo: info)
    }

    private var underlying: (any Error)? {
        underlyingError ?? context.processingError
    }

    private var domainAndCode: (String, Int) {
        switch kind {
        case .unacceptableStatus(let status): (Self.statusErrorDomain, status.code)
        case .cancelled: url(NSURLErrorCancelled)
        case .timedOut, .deadlineExceeded: url(NSURLErrorTimedOut)
        case .nameNotResolved: url(NSURLErrorCannotFindHost)
        case .cannotConnect(_, .handshakeFailed): url(NSURLErrorSecureConnectionFailed)
        case .cannotConnect, .proxy: url(NSURLErrorCannotConnectToHost)
        case .connectionLost, .incompleteBody: url(NSURLErrorNetworkConnectionLost)
        case .malformedResponse, .headTooLarge: url(NSURLErrorBadServerResponse)
        case .bodyTooLarge, .decompressionRatioExceeded: url(NSURLErrorDataLengthExceedsMaximum)
        case .untrustedServer, .pinMismatch: url(NSURLErrorServerCertificateUntrusted)
        case .clientCertificateRequired: url(NSURLErrorClientCertificateRequired)
        case .redirectRefused: url(NSURLErrorHTTPTooManyRedirects)
        case .authorisationFailed: url(NSURLErrorUserAuthenticationRequired)
        case .notStored: url(NSURLErrorResourceUnavailable)
        case .invalidRequest(.unsupportedScheme): url(NSURLErrorUnsupportedURL)
        case .invalidRequest(.url): url(NSURLErrorBadURL)
        case .decoding where underlyingError is JSONError:
            (NSCocoaErrorDomain, CocoaError.Code.propertyListReadCorrupt.rawValue)
        case .file(let fault) where fault.operation == .read:
            (NSCocoaErrorDomain, CocoaError.Code.fileReadUnknown.rawValue)
        case .file: (NSCocoaErrorDomain, CocoaError.Code.fileWriteUnknown.rawValue)
        case .decoding: (Self.errorDomain, 1)
        case .invalidRequest: (Self.errorDomain, 2)
        case .invalidSetting: (Self.errorDomain, 3)
        case .requestBodyFailed: (Self.errorDomain, 4)
        case .decorationFailed: (Self.errorDomain, 5)
        case .rateLimited: (Self.errorDomain, 6)
        case .transport: (Self.errorDomain, 7)
        case .interceptionFailed: (Self.errorDomain, 8)
        }
    }

    private func url(_ code: Int) -> (String, Int) { (NSURLErrorDomain, code) }
}
