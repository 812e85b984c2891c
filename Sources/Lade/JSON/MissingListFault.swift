/// The value at the location of the list is not a list.
public struct MissingListFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The location of the list.
    public let pointer: JSONPointer
    /// What the location contains.
    public let found: JSONSplitter.ListState

    package init(pointer: JSONPointer, found: JSONSplitter.ListState) {
        self.pointer = pointer
        self.found = found
    }

    /// One plain clause.
    public var description: String {
        let place = pointer.tokens.isEmpty ? "The document" : "The value at \(pointer)"
        return switch found {
        case .missing: pointer.tokens.isEmpty ? "The document is not a list" : "There is nothing at \(pointer)"
        case .null: "\(place) is null, not a list"
        case .array, .other: "\(place) is not a list"
        }
    }
}
