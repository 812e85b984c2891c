/// The position of an element in a coding path.
struct ElementKey: CodingKey {
    let position: Int

    init(_ position: Int) { self.position = position }
    init?(intValue: Int) { position = intValue }
    init?(stringValue: String) { nil }

    var intValue: Int? { position }
    var stringValue: String { "Index \(position)" }
}

/// A name in a coding path without a declared key: a dictionary's key, or `super`.
struct MemberKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    static let `super` = MemberKey("super")

    /// The same name as the key type with which the standard library decodes dictionaries.
    var dictionaryKey: any CodingKey { Self.dictionaryKeyType?.init(stringValue: stringValue) ?? self }

    // The type is not public, so it is found by decoding a dictionary with a probe.
    private static let dictionaryKeyType: (any CodingKey.Type)? = {
        let probe = DictionaryKeyProbe()
        // The probe's container always fails, after the key type is known.
        _ = try? [String: Bool](from: probe)
        return probe.type
    }()
}

/// A decoder that records the key type of the requested container.
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
