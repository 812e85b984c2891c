#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore
public import LadeTraffic

/// A server on loopback that gives the responses of a recording, for programs that load with something else.
///
/// The origin comes from the request, in this order:
///
/// 1. an absolute address, as clients of a proxy send it;
/// 2. a path such as `/https/api.example.com/shows`;
/// 3. a `Host` that the recording has.
///
/// Any other request is compared by path and query alone. Responses come immediately, or after the times of the recording. An
/// exchange that failed in the recording closes the connection, and a body that is not whole ends there. A request without an
/// entry gets status 404 and a sentence that names the nearest entry.
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
    ///   - keepsTimes: Whether responses take as long as in the recording; false by default. The events of an event stream are
    ///     then spread over the time in which it was received.
    ///   - time: The clock for that.
    ///   - address: The address to listen on; a free port by default.
    /// - Throws: The call of the system that failed.
    public init(
        _ entries: [HAREntry],
        order: ReplayBook.Rules.Order = .repeatingLast,
        keepsTimes: Bool = false,
        time: any TimeSource = SystemTime(),
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
        // The server may run for hours, so it records no requests.
        options.keptRequests = 0
        options.keptConnections = 0
        options.keptConnectionBytes = 0
        server = try LoopbackServer(
            options,
            serving: { connection in
                try connection.serveRequests { request in
                    let asked = Self.asked(request, hosts)
                    let (found, entries) = book.withLock { book in (book.take(asked), book.entries) }
                    switch found {
                    case .entry(let index):
                        try connection.play(ScriptedResponse(entries[index], keepsTimes: keepsTimes), in: time)
                    case .nothing(let sentence): try connection.respond(.text(sentence + "\n", status: 404))
                    }
                }
            }
        )
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
        guard let end = url.startOfAuthority else { return nil }
        let authority = url.utf8[end...].prefix { !"/?#".utf8.contains($0) }
        let host = String(decoding: authority, as: UTF8.self).asciiLowercased
        for port in [":80", ":443"] where host.hasSuffix(port) { return String(host.dropLast(port.utf8.count)) }
        return host
    }
}

extension ServerConnection {
    /// Sends the response of a script, and closes the connection where the script has none or fails.
    fileprivate func play(_ response: ScriptedResponse, in time: any TimeSource) throws {
        for case .duration(let duration) in response.waits { try wait(for: duration, in: time) }
        // A response before the final one is of no use to a client that did not ask for another protocol.
        guard case .response(let status) = response.kind, status.code >= 200 else { try close() }
        var headers = response.headers
        if status == 204 { headers.remove("Content-Length") }
        if case .fail = response.steps.last, response.length >= headers["Content-Length"].flatMap({ Int($0) }) ?? 0 {
            // The client must see that something is missing.
            headers.set("Content-Length", String(response.length + 1))
        }
        // A value that breaks the head, as a hostile recording has it, is left out.
        let fields = headers.filter { Headers([($0.name, $0.value)]).fault == nil }
        try sendHead(status: status.code, fields: fields.map { ServerField($0.name, $0.value) })
        for step in response.steps {
            switch step {
            case .bytes(let bytes): try send(bytes)
            case .wait(let duration): try wait(for: duration, in: time)
            case .signal, .stall, .fail: try close()
            }
        }
    }
}

extension ScriptedResponse {
    /// The bytes that the steps deliver.
    fileprivate var length: Int {
        steps.reduce(0) { if case .bytes(let bytes) = $1 { $0 + bytes.count } else { $0 } }
    }
}
