#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
public import LadeTraffic

/// A server on loopback that gives the responses of a recording, for programs that load with something else.
///
/// The origin comes from the request, in this order:
///
/// 1. an absolute address, as clients of a proxy send it;
/// 2. a path such as `/https/api.example.com/shows`;
/// 3. a `Host` that the recording has.
///
/// Any other request is compared by path and query alone. Responses
/// come immediately. An exchange that failed in the recording closes the connection, and a body that is not whole ends there. A
/// request without an entry gets status 404 and a sentence that names the nearest entry.
public final class ReplayServer: Sendable {
    private let server: LoopbackServer
    private let hosts: Set<String>
    // Guarded by its lock.
    private let book: Locked<ReplayBook>

    /// Serves entries.
    ///
    /// - Parameters:
    ///   - entries: The recording.
    ///   - order: Which entry is taken when all that match are used.
    ///   - address: The address to listen on; a free port by default.
    /// - Throws: The call of the system that failed.
    public init(
        _ entries: [HAREntry],
        order: ReplayBook.Rules.Order = .repeatingLast,
        address: LoopbackServer.Address = .ipv4()
    ) throws(SystemCallError) {
        var rules = ReplayBook.Rules()
        rules.order = order
        rules.comparesOrigins = false
        rules.accepts = { asked, entry in
            guard let host = Self.host(of: asked.url) else { return true }
            return host == Self.host(of: entry.request.url)
        }
        let book = Locked(ReplayBook(entries, rules: rules))
        let hosts = Set(entries.compactMap { Self.host(of: $0.request.url) })
        (self.book, self.hosts) = (book, hosts)
        var options = LoopbackServer.Options()
        options.address = address
        server = try LoopbackServer(options) { request throws in
            let asked = Self.asked(request, hosts)
            let (found, entries) = book.withLock { book in (book.take(asked), book.entries) }
            switch found {
            case .entry(let index): return try Self.response(entries[index])
            case .nothing(let sentence): return .text(sentence + "\n", status: 404)
            }
        }
    }

    /// The port.
    public var port: UInt16 { server.port }

    /// The address of a path.
    public func address(_ target: String = "/") -> String { server.address(target) }

    /// Stops the server, and closes its connections.
    public func stop() { server.stop() }

    /// The numbers of the entries that no request has used, from 1.
    public var unused: [Int] { book.withLock { $0.unused.map { $0 + 1 } } }

    private static func asked(_ request: ServerRequest, _ hosts: Set<String>) -> ReplayBook.Asked {
        var url = request.target
        if url.utf8.first == UInt8(ascii: "/") {
            // By bytes: a mark that combines with a slash would hide it from a comparison of characters.
            let parts = url.utf8.dropFirst().split(
                separator: UInt8(ascii: "/"),
                maxSplits: 2,
                omittingEmptySubsequences: false
            )
            .map { String(Substring($0)) }
            if parts.count >= 2, parts[0] == "https" || parts[0] == "http", !parts[1].isEmpty {
                url = "\(parts[0])://\(parts[1])/" + (parts.count > 2 ? parts[2] : "")
            } else if let host = request["Host"]?.asciiLowercased, hosts.contains(host) {
                url = "http://\(host)\(url)"
            }
        }
        let fields = request.fields.map { HAREntry.Field($0.name, $0.value) }
        return ReplayBook.Asked(method: request.method, url: url, headers: fields, body: request.body)
    }

    /// Host and port of an absolute address, without a default port.
    private static func host(of url: String) -> String? {
        guard let end = url.utf8.firstRange(of: "://".utf8)?.upperBound else { return nil }
        let authority = url.utf8[end...].prefix { !"/?#".utf8.contains($0) }
        let host = String(decoding: authority, as: UTF8.self).asciiLowercased
        for port in [":80", ":443"] where host.hasSuffix(port) { return String(host.dropLast(port.utf8.count)) }
        return host
    }

    private static func response(_ entry: HAREntry) throws -> ServerResponse {
        guard entry.response.status > 0 else { throw ServerConnection.Ended.byServer }
        let bytes = entry.response.content.bytes ?? Data()
        var fields: [ServerField] = []
        for field in entry.response.headers {
            let isOfTheWire = ScriptedResponse.isOfTheWire(field.name)
            // A value that breaks the head, as a hostile recording has it, is left out.
            if !isOfTheWire, Headers([(field.name, field.value)]).fault == nil {
                fields.append(ServerField(field.name, field.value))
            }
        }
        var response = ServerResponse.bytes(bytes, status: entry.response.status, fields)
        let isCut = entry.response.content.isTruncated || entry.facts.fault.map { $0.kind != "cancelled" } ?? false
        if isCut, entry.request.method != "HEAD" {
            let size = max(entry.response.content.size, Int64(bytes.count) + 1)
            response.fields.append(ServerField("Content-Length", String(size)))
            response.body = .raw { try $0.send(bytes) }
        }
        return response
    }
}
