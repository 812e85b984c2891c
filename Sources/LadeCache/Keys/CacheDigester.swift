package import LadeCore

/// Digests of what must not be stored as it is: credentials, and bodies of requests (HMAC-SHA-256, RFC 2104).
///
/// The key belongs to the store, so that a digest in its files reveals nothing to a reader without the key.
package struct CacheDigester: Sendable, Hashable {
    private let inner: [UInt8]
    private let outer: [UInt8]

    /// Makes a digester with a key of any length.
    package init(key: [UInt8]) {
        let short: [UInt8] = key.count > 64 ? SHA256.hash(key) : key
        let block = short + Array(repeating: 0, count: 64 - short.count)
        inner = block.map { $0 ^ 0x36 }
        outer = block.map { $0 ^ 0x5C }
    }

    /// Makes a digester with a random key.
    package init(random: some RandomSource) {
        self.init(key: (0..<4).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } })
    }

    /// The digest of some bytes: 32 bytes.
    package func digest(_ bytes: [UInt8]) -> [UInt8] {
        SHA256.hash(outer + SHA256.hash(inner + bytes))
    }
}
