#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// A message of a broadcaster to its users, such as about a disturbance.
    ///
    /// Messages are equal when their identifiers are.
    public struct ServiceMessage: KeyedModel {
        /// The identifier; from `id`.
        public var uid = ""
        /// The text to show; from `text`.
        public var text = ""
        /// When the message was last changed; from `modifyDate`.
        public var modificationDate: Date?
        /// A page about it; from `url`.
        public var url: URL?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("text", &text)
            try members.read("modifyDate", &modificationDate)
            try members.read("url", &url)
        }

        /// The key for comparing values.
        public var identity: String { uid }
    }
}
