#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Names in snake case as Foundation's `convertFromSnakeCase` reads them: `one_two` is `oneTwo`.
///
/// Underscores at both ends stay; a name without underscores between its words stays as it is.
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

    /// Whether a name of a document is that of a coding key; nil when only the conversion itself can tell.
    ///
    /// It answers for letters and underscores, which is nearly always.
    @inline(__always)
    static func matches(_ raw: UnsafeBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>) -> Bool? {
        guard let source = raw.baseAddress, let wanted = name.baseAddress, !raw.isEmpty, !name.isEmpty else {
            return raw.isEmpty && name.isEmpty
        }
        // The conversion makes no name longer.
        guard name.count <= raw.count else { return false }
        // A first letter in another case, or another one, decides without any look at the rest.
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
}
