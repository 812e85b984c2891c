#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Converts names from snake case by the rules of Foundation's `convertFromSnakeCase`: `one_two` becomes `oneTwo`.
///
/// Underscores at both ends are kept. A name without underscores between words is unchanged.
enum SnakeCase {
    static func converted(_ name: String) -> String {
        guard let first = name.firstIndex(where: { $0 != "_" }), let last = name.lastIndex(where: { $0 != "_" }) else {
            return name
        }
        let words = name[first...last].split(separator: "_")
        guard words.count > 1 else { return name }
        let joined = words[0].lowercased() + words.dropFirst().map { $0.capitalized }.joined()
        return name[..<first] + joined + name[name.index(after: last)...]
    }

    /// Whether a name in the document converts to a coding key; nil when only the full conversion can decide.
    ///
    /// It decides for names of letters and underscores, which covers nearly all names.
    @inline(__always)
    static func matches(_ raw: UnsafeBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>) -> Bool? {
        guard let source = raw.baseAddress, let wanted = name.baseAddress, !raw.isEmpty, !name.isEmpty else {
            return raw.isEmpty && name.isEmpty
        }
        // The conversion never makes a name longer.
        guard name.count <= raw.count else { return false }
        // A different first letter decides without a comparison of the rest.
        if (source[0] ^ wanted[0]) & 0xDF != 0 { return false }
        var first = 0
        var last = raw.count - 1
        while first <= last, source[first] == UInt8(ascii: "_") { first &+= 1 }
        guard first <= last else { return raw.count == name.count && Bytes.areEqual(source, wanted, raw.count) }
        while source[last] == UInt8(ascii: "_") { last &-= 1 }
        var hasWords = false
        for position in first...last where source[position] == UInt8(ascii: "_") { hasWords = true }
        guard hasWords else { return raw.count == name.count && Bytes.areEqual(source, wanted, raw.count) }
        var written = 0
        var isStart = false
        for position in 0..<raw.count {
            var byte = source[position]
            if byte == UInt8(ascii: "_") {
                if position >= first, position <= last {
                    isStart = true
                    continue
                }
            } else {
                guard (byte | 0x20) &- 0x61 < 26 else { return nil }
                byte = isStart ? byte & 0xDF : byte | 0x20
                isStart = false
            }
            guard written < name.count, wanted[written] == byte else { return false }
            written &+= 1
        }
        return written == name.count
    }

    /// Converts a name to snake case as Foundation's `convertToSnakeCase` does: `oneTwo` to `one_two`, `myURLName` to
    /// `my_url_name`.
    static func written(_ name: String) -> String {
        let bytes = Array(name.utf8)
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return writtenByFoundation(name) }
        let isUpper = { (byte: UInt8) in (0x41...0x5A).contains(byte) }
        let isLower = { (byte: UInt8) in (0x61...0x7A).contains(byte) }
        var starts: Set<Int> = []
        var position = 1
        while let upper = bytes.indices.dropFirst(position).first(where: { isUpper(bytes[$0]) }) {
            starts.insert(upper)
            guard let lower = bytes.indices.dropFirst(upper).first(where: { isLower(bytes[$0]) }) else { break }
            // The last of several capitals begins the next word.
            starts.insert(lower - 1)
            position = lower + 1
        }
        var written: [UInt8] = []
        written.reserveCapacity(bytes.count + starts.count)
        for (position, byte) in bytes.enumerated() {
            if starts.contains(position) { written.append(UInt8(ascii: "_")) }
            written.append(isUpper(byte) ? byte | 0x20 : byte)
        }
        return String(decoding: written, as: UTF8.self)
    }

    /// Converts a non-ASCII name with Foundation, which decides which characters are letters.
    private static func writtenByFoundation(_ name: String) -> String {
        struct Probe: Codable {
            var key: MemberKey
            init(_ name: String) { key = MemberKey(name) }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: MemberKey.self)
                key = container.allKeys.first ?? MemberKey("")
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: MemberKey.self)
                try container.encode(0, forKey: key)
            }
        }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        // Encoding and decoding an object with one member does not fail.
        let probe = (try? encoder.encode(Probe(name))).flatMap { try? JSONDecoder().decode(Probe.self, from: $0) }
        return probe?.key.stringValue ?? name
    }
}
