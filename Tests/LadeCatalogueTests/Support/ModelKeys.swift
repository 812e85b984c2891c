import LadeCatalogue

/// The keys that a model asks for, found by decoding it from an object without any.
struct ModelKeys {
    /// All keys, in the order in which they are asked for.
    private(set) var all: [String] = []
    /// The keys that must have a value in strict decoding.
    private(set) var mandatory: [String] = []

    init(of model: any CatalogueModel.Type) throws {
        let record = Record()
        _ = try model.init(from: EmptyDecoder(record: record))
        var seen: Set<String> = []
        all = record.keys.filter { seen.insert($0).inserted }
        mandatory = record.mandatory
    }
}

private final class Record {
    var keys: [String] = []
    var mandatory: [String] = []
}

/// A decoder of an object without members.
private struct EmptyDecoder: Decoder {
    let record: Record
    var codingPath: [any CodingKey] { [] }

    /// The models ask for the settings only after a mandatory key without a value.
    var userInfo: [CodingUserInfoKey: Any] {
        record.mandatory.append(record.keys.last ?? "")
        return [:]
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(EmptyMembers<Key>(record: record))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw noValue() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw noValue() }
}

private struct EmptyMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let record: Record
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool {
        record.keys.append(key.stringValue)
        return false
    }

    func decodeNil(forKey key: Key) -> Bool { true }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { throw noValue() }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> { throw noValue() }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw noValue() }

    func superDecoder() -> any Decoder { EmptyDecoder(record: record) }
    func superDecoder(forKey key: Key) -> any Decoder { EmptyDecoder(record: record) }
}

private func noValue() -> DecodingError {
    .valueNotFound(Never.self, DecodingError.Context(codingPath: [], debugDescription: "There is no value."))
}
