#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// Why a store could not do something.
public struct CacheError: Error, Sendable, Hashable {
    /// The reasons.
    @nonexhaustive
    public enum Reason: Sendable, Hashable {
        /// The store is closed.
        case closed
        /// The entry is larger than the store accepts.
        case tooLarge
        /// The account of the entry has signed out.
        case signedOut
        /// The bytes of the entry are not those that were stored.
        case damaged
        /// The store's limit is below the least useful one.
        case limitTooSmall(least: Int)
        /// Another program used the store for longer than a call waits.
        case busy
        /// There is no space for another entry.
        case full
        /// The store writes more slowly than the response arrives.
        case tooSlow
        /// A file or folder is not used: it is foreign, shared, a link, or cannot be opened.
        case file(LoadingError.FileCause)
        /// The system reported an error.
        case system(String)
    }

    /// The reason.
    public var reason: Reason

    /// Makes a fault.
    public init(_ reason: Reason) {
        self.reason = reason
    }
}

extension CacheError: CustomStringConvertible {
    /// One sentence.
    public var description: String {
        switch reason {
        case .closed: "The cache store is closed"
        case .tooLarge: "The response is larger than the cache store accepts"
        case .signedOut: "The account of the stored response has signed out"
        case .damaged: "The stored response is damaged"
        case .limitTooSmall(let least): "The limit of a cache store is at least \(least) bytes"
        case .busy: "Another program is using the cache store"
        case .full: "The disk is full, and the cache store has no space for another response"
        case .tooSlow: "The cache store writes more slowly than the response arrives"
        case .file(let cause): "The cache store cannot use \(cause.path): \(cause.reason)"
        case .system(let text): text
        }
    }
}

extension CacheError: LocalizedError {
    /// The description.
    public var localizedDescription: String { description }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}
