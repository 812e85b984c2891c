/// The position of an element in a coding path.
struct ElementKey: CodingKey {
    let position: Int

    init(_ position: Int) { self.position = position }
    init?(intValue: Int) { position = intValue }
    init?(stringValue: String) { nil }

    var intValue: Int? { position }
    var stringValue: String { "Index \(position)" }
}

/// A name in a coding path that no type declares: of a dictionary, or of a superclass.
struct MemberKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    static let `super` = MemberKey("super")

    /// The same name as the key that dictionaries of the standard library decode with.
    var dictionaryKey: any CodingKey { Self.dictionaryKeyType?.init(stringValue: stringValue) ?? self }

    // The type is not public: a dictionary that is decoded from nothing shows it.
    private static let dictionaryKeyType: (any CodingKey.Type)? = {
        let probe = DictionaryKeyProbe()
        // Its container always fails, after the type was seen.
        _ = try? [String: Bool](from: probe)
        return probe.type
    }()
}

/// A decoder that notes the key type of the container it is asked for.
private final class DictionaryKeyProbe: Decoder {
    struct End: Error {}

    var type: (any CodingKey.Type)?
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        self.type = type
        throw End()
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw End() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw End() }
}
