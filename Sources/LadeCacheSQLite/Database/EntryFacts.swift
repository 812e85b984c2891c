#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore

/// The facts about key and head in the row of an entry, without secrets.
///
/// Addresses are redacted, and found by keyed digests of the full addresses.
struct EntryFacts: Sendable {
    let key: [UInt8]
    let place: [UInt8]
    let address: [UInt8]
    let text: String
    let partition: String
    /// The account; nil for entries of all accounts.
    let account: String?
    let host: String
    let origin: String
    private(set) var tags: Set<String>
    private(set) var received: Date

    init(_ key: CacheKey, _ head: StoredHead, _ digests: Digests) {
        self.key = digests.key(key)
        place = digests.place(key.place)
        address = digests.address(key.place.address.text)
        text = Redaction.standard.address(key.place.address.text)
        partition = key.place.partition
        account = key.place.scope.account
        host = key.place.address.host
        origin = key.place.address.origin
        tags = head.tags
        received = head.times.received.date
    }

    /// The facts of a row; nil when its address is none.
    init?(
        key: [UInt8],
        place: [UInt8],
        address: [UInt8],
        text: String,
        partition: String,
        account: String?,
        _ head: StoredHead
    ) {
        guard let normal = CacheAddress(stored: text) else { return nil }
        (self.key, self.place, self.address, self.text) = (key, place, address, text)
        (self.partition, self.account, host, origin) = (partition, account, normal.host, normal.origin)
        (tags, received) = (head.tags, head.times.received.date)
    }

    /// The facts with another head.
    func with(_ head: StoredHead) -> EntryFacts {
        var facts = self
        (facts.tags, facts.received) = (head.tags, head.times.received.date)
        return facts
    }

    /// The key as a listing shows it.
    var listedKey: CacheKey? {
        guard let address = CacheAddress(stored: text) else { return nil }
        let scope: CacheScope = account.map { .account($0) } ?? .shared
        return CacheKey(CachePlace(partition: partition, scope: scope, address: address), stored: key)
    }

    /// The tags between zero bytes, in which one of them is searched for.
    static func tagOctets(_ tags: Set<String>) -> [UInt8] {
        tags.isEmpty ? [] : tags.sorted().reduce([0]) { $0 + $1.utf8 + [0] }
    }
}

/// Digests of keys and addresses, with the key of the store.
struct Digests: Sendable {
    let key: [UInt8]
    private let digester: CacheDigester

    init(_ key: [UInt8]) {
        self.key = key
        digester = CacheDigester(key: key)
    }

    func key(_ key: CacheKey) -> [UInt8] { digester.digest(key.octets) }

    func address(_ text: String) -> [UInt8] { digester.digest(Array(text.utf8)) }

    func place(_ place: CachePlace) -> [UInt8] {
        var writer = OctetWriter()
        writer.write(place.partition.utf8)
        writer.write(place.scope.account?.utf8)
        writer.write(place.address.text.utf8)
        return digester.digest(writer.octets)
    }
}

extension CacheScope {
    fileprivate var account: String? { if case .account(let identifier) = self { identifier } else { nil } }
}

/// A selection as the database knows it, which other processes compare with the entries that they store.
struct StoredSelection: Sendable {
    private enum Kind: UInt64 { case all, ids, places, address, prefix, origin, host, account, tag, before }

    private let kind: Kind
    private let values: [[UInt8]]

    init(_ selection: ResponseCache.Selection, _ digests: Digests) {
        func octets(_ text: String) -> [UInt8] { Array(text.utf8) }
        (kind, values) =
            switch selection.kind {
            case .all: (.all, [])
            case .ids(let ids): (.ids, ids.sorted().map { octets(String($0)) })
            case .places(let places): (.places, places.map(digests.place))
            case .address(let text): (.address, [digests.address(text)])
            case .prefix(let text): (.prefix, [octets(Redaction.standard.address(text))])
            case .origin(let origin, let scopes):
                (.origin, [octets(origin)] + scopes.map { $0.account.map { [1] + octets($0) } ?? [0] })
            case .host(let name): (.host, [octets(name)])
            case .account(let identifier): (.account, [octets(identifier)])
            case .tag(let name): (.tag, [octets(name)])
            case .before(let date): (.before, [octets(String(date.timeIntervalSinceReferenceDate))])
            }
    }

    /// The bytes of a row in the table of removals.
    var encoded: [UInt8] {
        var writer = OctetWriter()
        writer.writeNumber(kind.rawValue)
        for value in values { writer.write(value) }
        return writer.octets
    }

    /// Reads a row; nil for bytes that are none.
    init?(encoded octets: [UInt8]) {
        var reader = OctetReader(octets)
        guard let number = reader.readNumber(), let kind = Kind(rawValue: number) else { return nil }
        var values: [[UInt8]] = []
        while !reader.isAtEnd {
            guard let value = reader.read() ?? nil else { return nil }
            values.append(value)
        }
        (self.kind, self.values) = (kind, values)
    }

    /// Whether the selection may include entries that are being written.
    ///
    /// A selection by number cannot, because these entries have no number yet.
    var concernsWrites: Bool { kind != .ids }

    /// Whether every entry is selected.
    var isEverything: Bool { kind == .all }

    /// The account that has signed out, where this is the removal of its entries.
    var account: String? { kind == .account ? text : nil }

    private var text: String { String(decoding: values.first ?? [], as: UTF8.self) }
    private var date: Date { Date(timeIntervalSinceReferenceDate: Double(text) ?? 0) }

    /// Whether an entry that is being written is selected.
    func contains(_ entry: EntryFacts) -> Bool {
        switch kind {
        case .all: true
        case .ids: false
        case .places: values.contains(entry.place)
        case .address: values.contains(entry.address)
        case .prefix: entry.text.begins(with: text)
        case .origin:
            entry.origin.isSpelled(like: text)
                && values.dropFirst().contains(entry.account.map { [1] + Array($0.utf8) } ?? [0])
        case .host: entry.host.isSpelled(like: text)
        case .account: entry.account?.isSpelled(like: text) ?? false
        case .tag: entry.tags.contains(text)
        case .before: entry.received < date
        }
    }

    /// The condition for the rows of selected entries.
    var condition: (sql: String, values: [Connection.Value]) {
        func list(_ column: String, _ values: some Sequence<[UInt8]>) -> (String, [Connection.Value]) {
            let all = values.map { Connection.Value.bytes($0) }
            return ("\(column) IN (\(all.map { _ in "?" }.joined(separator: ",")))", all)
        }
        switch kind {
        case .all: return ("1", [])
        case .ids:
            let ids = values.compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
            return ("id IN (\(ids.map { String($0) }.joined(separator: ",")))", [])
        case .places: return list("place", values)
        case .address: return list("address", values)
        case .prefix:
            return (
                "substr(CAST(text AS BLOB), 1, ?) = ?",
                [.number(Int64(values.first?.count ?? 0)), .bytes(values.first ?? [])]
            )
        case .origin:
            let origin = (values.first ?? []) + [UInt8(ascii: "/")]
            let accounts = values.dropFirst().map {
                $0.first == 1 ? String(decoding: $0.dropFirst(), as: UTF8.self) : nil
            }
            let scopes = accounts.map { $0 == nil ? "account IS NULL" : "account = ?" }
            return (
                "substr(CAST(text AS BLOB), 1, ?) = ? AND (\(scopes.isEmpty ? "0" : scopes.joined(separator: " OR ")))",
                [.number(Int64(origin.count)), .bytes(origin)] + accounts.compactMap { $0.map { .text($0) } }
            )
        case .host: return ("host = ?", [.text(text)])
        case .account: return ("account = ?", [.text(text)])
        case .tag: return ("instr(tags, ?)", [.bytes([0] + Array(text.utf8) + [0])])
        case .before: return ("received < ?", [.real(date.timeIntervalSinceReferenceDate)])
        }
    }
}
