#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Detects encodings other than UTF-8 from a document's first bytes (RFC 4627 §3).
enum TextEncoding {
    struct Found {
        var encoding: String.Encoding
        var markLength: Int
    }

    /// The encoding of a document; nil for UTF-8, with or without a byte order mark.
    @inline(__always)
    static func detected(_ bytes: UnsafeBufferPointer<UInt8>) -> Found? {
        // A document in another encoding has a zero byte or a byte order mark among its first two bytes.
        guard bytes.count >= 2, bytes[0] == 0 || bytes[1] == 0 || bytes[0] >= 0xFE else { return nil }
        return unusual(bytes)
    }

    @inline(__always)
    static func hasUTF8Mark(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
    }

    @inline(never)
    private static func unusual(_ bytes: UnsafeBufferPointer<UInt8>) -> Found? {
        let first = (0..<4).map { $0 < bytes.count ? Int(bytes[$0]) : -1 }
        switch (first[0], first[1], first[2], first[3]) {
        case (0, 0, 0xFE, 0xFF): return Found(encoding: .utf32BigEndian, markLength: 4)
        // Foundation treats these four as little-endian UTF-32.
        case (0xFE, 0xFF, 0, 0): return Found(encoding: .utf32LittleEndian, markLength: 4)
        case (0xFE, 0xFF, _, _): return Found(encoding: .utf16BigEndian, markLength: 2)
        case (0xFF, 0xFE, _, _): return Found(encoding: .utf16LittleEndian, markLength: 2)
        case (0, 0, 0, 1...): return Found(encoding: .utf32BigEndian, markLength: 0)
        case (0, 1..., 0, 1...): return Found(encoding: .utf16BigEndian, markLength: 0)
        case (1..., 0, 0, 0): return Found(encoding: .utf32LittleEndian, markLength: 0)
        case (1..., 0, 1..., 0): return Found(encoding: .utf16LittleEndian, markLength: 0)
        case (0, 1..., -1, -1): return Found(encoding: .utf16BigEndian, markLength: 0)
        case (1..., 0, -1, -1): return Found(encoding: .utf16LittleEndian, markLength: 0)
        default: return nil
        }
    }
}
