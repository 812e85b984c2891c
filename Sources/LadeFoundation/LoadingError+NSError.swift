public import Foundation
public import Lade

extension LoadingError {
    /// The domain of errors for a status that does not count as success; the code is the status.
    public static let statusErrorDomain = "HTTP"

    /// The domain of errors that Foundation has none for.
    public static let errorDomain = "Lade"

    /// Where the answer's header fields are among the user information: a dictionary of texts.
    public static let headersUserInfoKey = "LadeHeaders"

    /// Where the beginning of the answer's body is among the user information.
    public static let bodyUserInfoKey = "LadeBody"

    /// The error for callers that speak Foundation.
    ///
    /// | error | domain | code |
    /// | --- | --- | --- |
    /// | status | `HTTP` | the status |
    /// | cancelled, time-outs, connection, name, trust, redirects, addresses | `NSURLErrorDomain` | as `URLSession` would |
    /// | JSON that cannot be parsed | `NSCocoaErrorDomain` | 3840 |
    /// | local files | `NSCocoaErrorDomain` | as `FileManager` would |
    /// | everything else | `Lade` | the number of the case in this table's source |
    ///
    /// The user information has the description, the address and the header fields without secrets, the beginning of the body,
    /// and the underlying error, as far as there are any. Source: `client-decorators-processors.md` §8,
    /// `service-loader.md` §23.
    public var nsError: NSError {
        let (domain, code) = domainAndCode
        var info: [String: Any] = [NSLocalizedDescriptionKey: description]
        if let url = context.url.flatMap(URL.init(string:)) { info[NSURLErrorFailingURLErrorKey] = url }
        if !context.headers.isEmpty {
            let pairs = context.redactedHeaders.map { ($0.name, $0.value) }
            info[Self.headersUserInfoKey] = Dictionary(pairs) { "\($0), \($1)" }
        }
        if let body = context.body { info[Self.bodyUserInfoKey] = body }
        if let underlying { info[NSUnderlyingErrorKey] = underlying }
        return NSError(domain: domain, code: code, userInfo: info)
    }

    private var underlying: (any Error)? {
        underlyingError ?? context.processingError
    }

    private var domainAndCode: (String, Int) {
        switch self {
        case .unacceptableStatus(let status, _): (Self.statusErrorDomain, status.code)
        case .cancelled: url(NSURLErrorCancelled)
        case .timedOut, .deadlineExceeded: url(NSURLErrorTimedOut)
        case .nameNotResolved: url(NSURLErrorCannotFindHost)
        case .cannotConnect(_, .handshakeFailed, _): url(NSURLErrorSecureConnectionFailed)
        case .cannotConnect, .proxy: url(NSURLErrorCannotConnectToHost)
        case .connectionLost, .incompleteBody: url(NSURLErrorNetworkConnectionLost)
        case .malformedResponse, .headTooLarge: url(NSURLErrorBadServerResponse)
        case .bodyTooLarge, .decompressionRatioExceeded: url(NSURLErrorDataLengthExceedsMaximum)
        case .untrustedServer, .pinMismatch: url(NSURLErrorServerCertificateUntrusted)
        case .clientCertificateRequired: url(NSURLErrorClientCertificateRequired)
        case .redirectRefused: url(NSURLErrorHTTPTooManyRedirects)
        case .authorisationFailed: url(NSURLErrorUserAuthenticationRequired)
        case .notStored: url(NSURLErrorResourceUnavailable)
        case .invalidRequest(.unsupportedScheme, _): url(NSURLErrorUnsupportedURL)
        case .invalidRequest(.url, _): url(NSURLErrorBadURL)
        case .decoding(is JSONFault, _): (NSCocoaErrorDomain, CocoaError.Code.propertyListReadCorrupt.rawValue)
        case .file(let fault, _) where fault.operation == .read:
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
