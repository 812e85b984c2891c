/// A topic of shows and medias.
///
/// Topics are equal when their identifiers are.
public struct Topic: BroadcastItem {
    /// The identifiers, texts, image and way of broadcasting.
    public var broadcastProperties = BroadcastProperties()
    /// The subtopics; from `subTopicList`.
    public var subtopics: [Subtopic]?

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try broadcastProperties.read(members)
        try members.read("subTopicList", &subtopics)
    }

    /// The key for comparing values.
    public var identity: String { uid }
}

/// A subtopic of a topic.
///
/// Subtopics are equal when their identifiers are; a subtopic never equals a topic.
public struct Subtopic: BroadcastItem {
    /// The identifiers, texts, image and way of broadcasting.
    public var broadcastProperties = BroadcastProperties()

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try broadcastProperties.read(members)
    }

    /// The key for comparing values.
    public var identity: String { uid }
}
