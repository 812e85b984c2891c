public import LadeCore

/// Why a harvest ended before its end; whatever its journal says is still true, so it can be run again.
@nonexhaustive
public enum HarvestError: Error, Sendable {
    /// What an argument was when the journal was begun, and what it is now.
    public struct Difference: Sendable, Hashable {
        /// Which argument.
        public let argument: String
        /// What the journal says; nil for nothing.
        public let before: String?
        /// What it is now; nil for nothing.
        public let now: String?
    }

    /// A page could not be had. Run it again to go on from there.
    case page(PageFailure)
    /// The journal was begun with other arguments. Use those, or restart (pages PA-23).
    case argumentsDiffer(journal: String, [Difference])
    /// There is a file of that name and no journal beside it. Remove it, or restart.
    case outputExists(path: String)
    /// The output is not what the journal says was written. Restart.
    case outputChanged(path: String, reason: String)
    /// The journal cannot be understood. Restart.
    case invalidJournal(path: String, reason: String)
    /// Another harvest writes to this output.
    case outputBusy(path: String)
    /// There is no room left. Make some and run it again.
    case diskFull(path: String)
    /// Whoever read the output has closed it.
    case outputClosed
    /// The output or the journal cannot be written, or not be read back.
    case file(FileFault)
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
        case .outputExists(let path): "\(path) exists, and there is no journal that says how it came about."
        case .outputChanged(let path, let reason): "\(path) is not what its journal says: \(reason)."
        case .invalidJournal(let path, let reason): "The journal \(path) cannot be understood: \(reason)."
        case .outputBusy(let path): "Another harvest writes to \(path)."
        case .diskFull(let path): "There is no room left for \(path)."
        case .outputClosed: "Whoever read the output has closed it."
        case .file(let fault):
            "\(fault.path) cannot be \(fault.operation == .read ? "read" : "written"): \(fault.reason)."
        }
    }
}

/// What stood in the place where the list of items was to be.
public struct MissingListFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Where the list was to be.
    public let pointer: JSONPointer
    /// What was there.
    public let found: JSONSplitter.ListState

    /// One plain clause.
    public var description: String {
        let place = pointer.tokens.isEmpty ? "The document" : "What stands at \(pointer)"
        return switch found {
        case .missing: pointer.tokens.isEmpty ? "The document is no list" : "There is nothing at \(pointer)"
        case .null: "\(place) is null and no list"
        case .array, .other: "\(place) is no list"
        }
    }
}
