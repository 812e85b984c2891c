#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// The error of request handles and queues, with a text for display to the user.
///
/// ```swift
/// message = error.text(in: .french)     // or error.localizedDescription, in the user's language
/// ```
///
/// The codes are those of SRGNetwork.
@nonexhaustive
public enum NetworkError: Error, Sendable {
    /// The response has a status that counts as an error; the address is without secrets.
    case http(Response.Status, url: String?)
    /// The response could not be decoded into the requested value.
    case invalidData(any Error, url: String?)
    /// Several errors were reported to a queue, in this order.
    case multiple([any Error])
    /// The page was loaded, but its response names a next page that cannot be loaded.
    case pagination(PageError)
    /// There was no response.
    ///
    /// If the certificate was refused, the login page of a public WiFi is a likely cause.
    case transport(LoadingError, looksLikePublicWiFi: Bool)
}

extension NetworkError {
    /// The kinds of error that have a code, compatible with SRGNetwork.
    public enum Code: Int, Sendable, Hashable {
        /// The response has an error status.
        case http = 0
        /// The response could not be decoded.
        case invalidData = 1
        /// Several errors.
        case multiple = 2
    }

    /// The kind of error; nil for an error of a lower layer.
    public var code: Code? {
        switch self {
        case .http: .http
        case .invalidData: .invalidData
        case .multiple: .multiple
        case .pagination, .transport: nil
        }
    }

    /// The status of the response, if it was the cause.
    public var status: Response.Status? {
        switch self {
        case .http(let status, _): status
        case .transport(let error, _): error.context.status
        case .invalidData, .multiple, .pagination: nil
        }
    }

    /// The address that failed, after redirects where there were some, without secrets.
    public var failingURL: String? {
        switch self {
        case .http(_, let url), .invalidData(_, let url): url
        case .transport(let error, _): error.context.url
        case .pagination(let failure): LoadingError.Context(failure.page.request).url
        case .multiple: nil
        }
    }

    /// The individual errors of ``multiple(_:)``; empty otherwise.
    public var errors: [any Error] {
        if case .multiple(let errors) = self { errors } else { [] }
    }

    /// The error of the lower layer; nil if it is of another kind.
    public var loadingError: LoadingError? {
        if case .transport(let error, _) = self { error } else { nil }
    }

    /// Whether the call was cancelled, which is an outcome and not a failure.
    public var isCancellation: Bool {
        switch self {
        case .transport(let error, _): error.isCancellation
        case .pagination(let failure): failure.isCancellation
        case .http, .invalidData, .multiple: false
        }
    }

    /// A text for display to the user.
    public func text(in language: MessageLanguage = .preferred) -> String {
        switch self {
        case .http(let status, _): status.text(in: language)
        case .pagination(let failure): failure.text(in: language)
        case .invalidData: Message.invalidData.text(in: language)
        case .multiple: Message.severalErrors.text(in: language)
        case .transport(_, looksLikePublicWiFi: true): Message.publicWiFi.text(in: language)
        case .transport(let error, looksLikePublicWiFi: false): error.text(in: language)
        }
    }
}

extension NetworkError: CancellableError, LocalizedError, CustomStringConvertible {
    /// The text for display, in one of the user's languages.
    public var localizedDescription: String { text() }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }

    /// One plain sentence for logs, in English.
    public var description: String {
        switch self {
        case .http(let status, let url):
            "\(url ?? "The server") responded with \(status) (\(status.text(in: .english)))."
        case .invalidData(let error, let url):
            "The response of \(url ?? "the server") could not be used: \(error)".endedByFullStop
        case .multiple(let errors): "\(errors.count) errors: " + errors.map { "\($0)" }.joined(separator: " ")
        case .pagination(let failure): failure.description
        case .transport(let error, _): error.description
        }
    }
}
