#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension ProcessingError {
    /// The value at the location of the list is not a list.
    public struct MissingList: Sendable, Hashable, CustomStringConvertible {
        /// The location of the list.
        public let pointer: JSONPointer
        /// The kind of value at the location.
        package let found: JSONSplitter.ListState

        /// The lists that the document has elsewhere, with the number of their elements; the longest first.
        package let lists: [(pointer: JSONPointer, count: Int)]

        package init(
            pointer: JSONPointer,
            found: JSONSplitter.ListState,
            lists: [(pointer: JSONPointer, count: Int)] = []
        ) {
            self.pointer = pointer
            self.found = found
            self.lists = lists
        }

        /// The lists in a document, outside of other lists, the longest first; at most four.
        package static func lists(in document: Data) -> [(pointer: JSONPointer, count: Int)] {
            // A body that is no JSON has no lists.
            guard let value = try? JSONValue(parsing: document) else { return [] }
            var found: [(pointer: JSONPointer, count: Int)] = []
            func scan(_ value: JSONValue, _ path: [String]) {
                if let elements = value.array { found.append((JSONPointer(tokens: path), elements.count)) }
                guard path.count < 4, case .object(let members) = value else { return }
                for (name, value) in members.sorted(by: { $0.name < $1.name }) { scan(value, path + [name]) }
            }
            scan(value, [])
            return Array(found.sorted { $0.count > $1.count }.prefix(4))
        }

        /// Whether the locations and their contents are the same.
        public static func == (lhs: MissingList, rhs: MissingList) -> Bool {
            lhs.pointer == rhs.pointer && lhs.found == rhs.found
        }

        /// Hashes the location and its contents.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(pointer)
            hasher.combine(found)
        }

        /// One plain clause.
        public var description: String {
            let place = pointer.tokens.isEmpty ? "The document" : "The value at \(pointer)"
            let rest =
                lists.isEmpty
                ? "" : "; there is one at " + lists.map { "\($0.pointer) (\($0.count))" }.joined(separator: ", ")
            return switch found {
            case .missing:
                pointer.tokens.isEmpty ? "The document is not a list\(rest)" : "There is nothing at \(pointer)\(rest)"
            case .null: "\(place) is null, not a list\(rest)"
            case .array, .other: "\(place) is not a list\(rest)"
            }
        }
    }
}
