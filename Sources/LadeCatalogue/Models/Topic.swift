extension Catalogue {
    /// A topic of shows and medias.
    ///
    /// Topics are equal when their identifiers are.
    public struct Topic: BroadcastItem {
        /// The identifiers, texts and image.
        public var itemProperties = ItemProperties()
        /// The way of broadcasting; from `transmission`.
        public var transmission: Transmission = .none
        /// The subtopics; from `subTopicList`.
        public var subtopics: [Subtopic]?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try itemProperties.read(members)
            try members.read("transmission", &transmission)
            try members.read("subTopicList", &subtopics)
        }

        /// The key for comparing values.
        public var identity: String { uid }
    }
}

extension Catalogue.Topic {
    /// A subtopic of a topic.
    ///
    /// Subtopics are equal when their identifiers are; a subtopic never equals a topic.
    public struct Subtopic: Catalogue.BroadcastItem {
        /// The identifiers, texts and image.
        public var itemProperties = Catalogue.ItemProperties()
        /// The way of broadcasting; from `transmission`.
        public var transmission: Catalogue.Transmission = .none

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try itemProperties.read(members)
            try members.read("transmission", &transmission)
        }

        /// The key for comparing values.
        public var identity: String { uid }
    }
}
