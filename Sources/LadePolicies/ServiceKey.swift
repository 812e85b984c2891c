#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// Identifies requests that share limits, gates and retry budgets: by default host, port and first path component.
///
/// `https://api.example.com/v1/shows` and `https://API.example.com:443/v1` share `api.example.com:443/v1`.
public struct ServiceKey: Sendable, Hashable, CustomStringConvertible {
    /// The key as text; shown in events and errors.
    public let description: String

    /// Makes a custom key.
    public init(_ description: String) { self.description = description }

    /// The default key of a request: lower-case host, effective port, first path component.
    ///
    /// The key of an address without an authority, such as `data:…`, is its scheme and a colon.
    public init(_ request: Request) {
        // One pass over the text: `URL` would make a string of each part, which costs ten times as much.
        var address = request.url.absoluteString
        let parts = request.parts
        description = address.withUTF8 { Self.text(parts, $0) }
    }

    /// The key rule by which all requests to a host and port share limits, gates and retry budgets, whatever their path.
    ///
    /// ```swift
    /// limits.keyRule = ServiceKey.perHost
    /// ```
    public static func perHost(_ request: Request) -> ServiceKey {
        let key = ServiceKey(request).description
        guard let slash = key.utf8.firstIndex(of: UInt8(ascii: "/")) else { return ServiceKey(key) }
        return ServiceKey(String(key[..<slash]))
    }

    /// Makes the key of a request.
    public typealias Rule = @Sendable (Request) -> ServiceKey

    private static func text(_ parts: AddressParts, _ bytes: UnsafeBufferPointer<UInt8>) -> String {
        guard parts.authorityEnd > 0 else {
            return String(decoding: bytes.prefix { $0 != 0x3A }, as: UTF8.self).lowercased() + ":"
        }
        let port = parts.port ?? (parts.scheme == .https ? 443 : parts.scheme == .http ? 80 : 0)
        var start = parts.authorityEnd
        while start < bytes.count, bytes[start] == 0x2F { start += 1 }
        var end = start
        while end < bytes.count, bytes[end] != 0x2F, bytes[end] != 0x3F, bytes[end] != 0x23 { end += 1 }
        let component = start..<end
        // `Request` has normalised the host except for these two.
        let endsWithDot = parts.host.last.map { bytes[$0] == 0x2E } ?? false
        let host = endsWithDot ? parts.host.dropLast() : parts.host
        // At most a colon, five digits and a slash are added.
        return String(unsafeUninitializedCapacity: parts.host.count + 7 + component.count) { target in
            var count = 0
            for index in host {
                let byte = bytes[index]
                target[count] = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
                count += 1
            }
            target[count] = 0x3A
            count += 1
            var divisor = 10_000
            while divisor > max(1, port) { divisor /= 10 }
            while divisor > 0 {
                target[count] = 0x30 + UInt8(truncatingIfNeeded: port / divisor % 10)
                count += 1
                divisor /= 10
            }
            target[count] = 0x2F
            count += 1
            for index in component {
                target[count] = bytes[index]
                count += 1
            }
            return count
        }
    }
}
