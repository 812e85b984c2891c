#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import LadeCore

/// The file of a jar.
///
/// It is an actor because writing blocks, and because the newest state must be written last.
actor CookieFile {
    private let path: String
    private var written = 0

    init(path: String) { self.path = path }

    /// Writes the newest state, unless an earlier call wrote it already.
    func write(_ snapshot: @Sendable () -> (version: Int, cookies: [Cookie])) throws(LoadingError) {
        let (version, cookies) = snapshot()
        guard version != written else { return }
        // If the file would be too large to be read again, the least recently used cookies are not written.
        var room = Self.sizeLimit
        let entries = cookies.filter { $0.expires != nil }
            .sorted { $0.lastUse > $1.lastUse }
            .prefix { cookie in
                room -= Self.size(cookie)
                return room >= 0
            }
            .sorted { $0.order < $1.order }
            .map(Entry.init)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let bytes: Data
        do {
            bytes = try encoder.encode(Contents(cookies: entries))
        } catch {
            throw Self.fault(path, .write, "its contents cannot be encoded")
        }
        try replace(with: bytes)
        written = version
    }

    /// Writes a new file beside the old one and renames it, so that a reader never sees half of it.
    private func replace(with bytes: Data) throws(LoadingError) {
        let part = path + ".part"
        unlink(part)
        // Created with its final permissions: other users can never open it.
        let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.fault(path, .write) }
        let isWritten = bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Self.writeSome(descriptor, UnsafeRawBufferPointer(rebasing: rest))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return TrustedFile.synchronise(descriptor) == 0
        }
        let fault = Self.fault(path, .write)
        close(descriptor)
        guard isWritten else {
            unlink(part)
            throw fault
        }
        guard rename(part, path) == 0 else { throw Self.fault(path, .write) }
    }

    private static func writeSome(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        // The system's function; within this type the name would refer to the method.
        #if canImport(Glibc)
            Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #elseif canImport(Musl)
            Musl.write(descriptor, bytes.baseAddress, bytes.count)
        #elseif canImport(Darwin)
            Darwin.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
    }

    // The jar itself keeps far less, unless its limits are changed.
    private static let sizeLimit = 64 << 20

    /// The most bytes of a cookie in the file: its text, which may need escapes or Base64, and the names of its members.
    private static func size(_ cookie: Cookie) -> Int {
        2 * (cookie.domain.utf8.count + cookie.path.utf8.count + cookie.setter.utf8.count)
            + 4 * (cookie.pair.nameOctets.count + cookie.pair.valueOctets.count) + 600
    }

    /// The contents of the file; empty when there is none.
    static func read(_ path: String) throws(LoadingError) -> [Cookie] {
        guard access(path, F_OK) == 0 else { return [] }
        let bytes = try FileContents.read(path, limit: sizeLimit, kind: "a cookie jar")
        do {
            return try JSONDecoder().decode(Contents.self, from: bytes).cookies.map(\.cookie)
        } catch {
            throw fault(path, .read, "it is no cookie jar")
        }
    }

    private static func fault(_ path: String, _ operation: LoadingError.FileCause.Operation, _ reason: String? = nil)
        -> LoadingError
    {
        let reason = reason ?? String(cString: strerror(errno))
        return LoadingError(.file(LoadingError.FileCause(path: path, operation: operation, reason: reason)))
    }

    private struct Contents: Codable {
        var cookies: [Entry]
    }

    /// A cookie as it is written.
    ///
    /// This is the only place where its value is plain text.
    private struct Entry: Codable {
        var name: String
        var value: String
        var domain: String
        var hostOnly: Bool
        var path: String
        var expires: Double
        var secure: Bool
        var httpOnly: Bool
        var created: Double
        var lastAccess: Double
        var setter: String?
        /// Name and value in base64, when they are not UTF-8.
        var octets: [Data]?

        init(_ cookie: Cookie) {
            name = cookie.name
            value = cookie.value.reveal()
            domain = cookie.domain
            hostOnly = cookie.isHostOnly
            path = cookie.path
            expires = (cookie.expires ?? .distantPast).timeIntervalSince1970
            secure = cookie.isSecure
            httpOnly = cookie.isHTTPOnly
            created = cookie.created.timeIntervalSince1970
            lastAccess = cookie.lastAccess.timeIntervalSince1970
            setter = cookie.setter.isEmpty ? nil : cookie.setter
            let pair = cookie.pair
            let isText = pair == CookiePair(name: Array(name.utf8), value: Array(value.utf8))
            octets = isText ? nil : [Data(pair.nameOctets), Data(pair.valueOctets)]
        }

        var cookie: Cookie {
            var cookie = Cookie(
                name: name,
                value: Secret(value),
                domain: domain,
                isHostOnly: hostOnly,
                path: path,
                expires: Date(timeIntervalSince1970: expires),
                isSecure: secure
            )
            cookie.isHTTPOnly = httpOnly
            cookie.setter = setter ?? ""
            if let octets, octets.count == 2 {
                cookie.pair = CookiePair(name: Array(octets[0]), value: Array(octets[1]))
            }
            cookie.created = Date(timeIntervalSince1970: created)
            cookie.lastAccess = Date(timeIntervalSince1970: lastAccess)
            return cookie
        }
    }
}
