#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// What request handles and queues fail with: something to act on, and a text to show.
///
/// ```swift
/// message = error.text(in: .french)     // or error.localizedDescription, in the user's language
/// ```
///
/// Source: brief `srg-network.txt`, `requests-pages-queues.md` §6.
@nonexhaustive
public enum NetworkError: Error, Sendable {
    /// The server answered with a status that counts as refusal, from the address given, without secrets.
    case http(Status, url: String?)
    /// The answer could not be turned into the value that was asked for, and why.
    case invalidData(any Error, url: String?)
    /// Several errors were reported to a queue, in this order.
    case multiple([any Error])
    /// The page was loaded, but its answer names a next one that cannot be followed.
    case pagination(PageFailure)
    /// No answer was had. When the certificate was refused, a public WiFi's login page is the likely reason.
    case transport(LoadingError, looksLikePublicWiFi: Bool)
}

extension NetworkError {
    /// The kinds of error that have a number, that of the brief.
    public enum Code: Int, Sendable, Hashable {
        /// The server refused.
        case http = 0
        /// The answer could not be used.
        case invalidData = 1
        /// Several errors.
        case multiple = 2
    }

    /// The kind of error; nil for what comes from below and keeps its own.
    public var code: Code? {
        switch self {
        case .http: .http
        case .invalidData: .invalidData
        case .multiple: .multiple
        case .pagination, .transport: nil
        }
    }

    /// The status of the answer, when one arrived and was refused.
    public var status: Status? {
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
        case .pagination(let failure): ErrorContext(failure.page.request).url
        case .multiple: nil
        }
    }

    /// The several errors; empty for any other.
    public var errors: [any Error] {
        if case .multiple(let errors) = self { errors } else { [] }
    }

    /// The error from below, when this is one.
    public var loadingError: LoadingError? {
        if case .transport(let error, _) = self { error } else { nil }
    }

    /// Whether the caller gave up, which is an outcome and not a failure.
    public var isCancellation: Bool { loadingError?.isCancellation ?? false }

    /// A text for the user.
    public func text(in language: MessageLanguage = .preferred) -> String {
        switch self {
        case .http(let status, _): status.text(in: language)
        case .invalidData, .pagination: Message.invalidData.text(in: language)
        case .multiple: Message.severalErrors.text(in: language)
        case .transport(_, looksLikePublicWiFi: true): Message.publicWiFi.text(in: language)
        case .transport(let error, looksLikePublicWiFi: false): error.text(in: language)
        }
    }
}

extension NetworkError: LocalizedError, CustomStringConvertible {
    /// The text for the user, in a language of theirs.
    public var errorDescription: String? { text() }

    /// One plain sentence for the log, in English.
    public var description: String {
        switch self {
        case .http(let status, let url): "\(url ?? "The server") answered \(status) (\(status.text(in: .english)))."
        case .invalidData(let error, let url):
            "The answer of \(url ?? "the server") could not be used: \(error)".endedByFullStop
        case .multiple(let errors): "\(errors.count) errors: " + errors.map { "\($0)" }.joined(separator: " ")
        case .pagination(let failure): failure.description
        case .transport(let error, _): error.description
        }
    }
}
