package import LadeCore

/// Digests of values that must not be stored themselves: credentials, and bodies of requests (HMAC-SHA-256, RFC 2104).
///
/// The key belongs to the store, so that a digest in its files reveals nothing to a reader without the key.
package struct CacheDigester: Sendable, Hashable {
    /// The hash functions after the block that depends on the key alone.
    private let inner: SHA256
    private let outer: SHA256

    /// Makes a digester with a key of any length.
    package init(key: [UInt8]) {
        let short: [UInt8] = key.count > 64 ? SHA256.hash(key) : key
        let block = short + Array(repeating: 0, count: 64 - short.count)
        func begun(_ mask: UInt8) -> SHA256 {
            var hash = SHA256()
            hash.update(block.map { $0 ^ mask })
            return hash
        }
        (inner, outer) = (begun(0x36), begun(0x5C))
    }

    /// Makes a digester with a random key.
    package init(random: some RandomSource) {
        self.init(key: (0..<4).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } })
    }

    /// The digest of some bytes: 32 bytes.
    package func digest(_ bytes: [UInt8]) -> [UInt8] {
        var (inner, outer) = (inner, outer)
        inner.update(bytes)
        outer.update(inner.finish())
        return outer.finish()
    }
}
