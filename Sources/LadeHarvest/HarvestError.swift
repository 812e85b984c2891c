#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// Why a harvest ended early.
///
/// Its journal stays valid, so it can be run again.
@nonexhaustive
public enum HarvestError: Error, Sendable {
    /// The value of an argument in the journal, and its current value.
    public struct Difference: Sendable, Hashable {
        /// The name of the argument.
        public let argument: String
        /// The value in the journal; nil for none.
        public let before: String?
        /// The current value; nil for none.
        public let now: String?
        /// Whether both values are secrets, of which the current one may be a renewed one of the same user.
        ///
        /// ``Harvest/isSameSignIn`` says that it is.
        public internal(set) var isRenewal = false
    }

    /// A page could not be loaded.
    ///
    /// Run the harvest again to continue from there.
    case page(PageError)
    /// The journal was written with other arguments.
    ///
    /// Use those, or restart.
    case argumentsDiffer(journal: String, [Difference])
    /// There is a file of that name without a journal.
    ///
    /// Remove it, or restart.
    case outputExists(path: String)
    /// The output differs from the bytes that were written according to the journal.
    ///
    /// Restart.
    case outputChanged(path: String, reason: String)
    /// The journal cannot be parsed.
    ///
    /// Restart.
    case invalidJournal(path: String, reason: String)
    /// Another harvest writes to this output.
    case outputBusy(path: String)
    /// There is no space left.
    ///
    /// Make some and run the harvest again.
    case diskFull(path: String)
    /// The reader of the output has closed it.
    case outputClosed
    /// The output or the journal cannot be written or read.
    case file(LoadingError.FileCause)
    /// The store that shares the work of several processes sent something that none of them writes.
    case store
}

extension HarvestError: CustomStringConvertible {
    /// One plain sentence.
    public var description: String {
        switch self {
        case .page(let failure): failure.description
        case .argumentsDiffer(let journal, let differences):
            "The journal \(journal) was begun with other arguments: "
                + differences.map {
                    "\($0.argument) was \($0.before ?? "not given") and is \($0.now ?? "not given")"
                }.joined(separator: "; ") + "."
        case .outputExists(let path): "\(path) exists, and there is no journal beside it."
        case .outputChanged(let path, let reason): "\(path) is not what its journal says: \(reason)."
        case .invalidJournal(let path, let reason): "The journal \(path) cannot be understood: \(reason)."
        case .outputBusy(let path): "Another harvest writes to \(path)."
        case .diskFull(let path): "There is no room left for \(path)."
        case .outputClosed: "The reader of the output has closed it."
        case .file(let fault):
            "\(fault.path) cannot be \(fault.operation == .read ? "read" : "written"): \(fault.reason)."
        case .store: "The store of the fleet sent what no worker writes."
        }
    }
}

extension HarvestError: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var localizedDescription: String {
        if case .page(let failure) = self { failure.text() } else { description }
    }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}
