import Foundation
import LadeConformance
import LadeCore
import LadeTesting
import LadeWire
import Testing

/// Servers of other projects, each with an implementation of TLS or HTTP/2 of its own.
@Suite("WireTransport and the servers of others", .timeLimit(.minutes(5)))
struct RealPeersTests {
    private static let peers = ConformancePeers.fromEnvironment()

    /// A value of the peers' file; without it the test is skipped, which is a failure in CI.
    private static func peer<Value>(_ look: (ConformancePeers) throws -> Value) throws -> Value {
        do {
            return try look(peers)
        } catch {
            if ProcessInfo.processInfo.environment["CI"] == "true" { Issue.record("\(error)") }
            try Test.cancel("\(error)")
        }
    }

    private static func origin(_ name: String) throws -> String {
        let port = try peer { try $0.port(name) }
        return name == "nghttpdClear" ? "http://127.0.0.1:\(port)" : "https://localhost:\(port)"
    }

    private static func transport(_ change: (inout TransportSettings) throws -> Void = { _ in }) throws -> WireTransport
    {
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.tls.authorities = [.file(try peer { try $0.text("ca") })]
        try change(&settings)
        return try WireTransport(settings: settings)
    }

    private static func served(_ file: String) throws -> Data {
        try Data(contentsOf: URL(filePath: try peer { try $0.text("www") }).appending(path: file))
    }

    private static func collected(_ response: Response) async throws -> Data {
        var bytes = Data()
        for try await chunk in response.body { bytes.append(chunk) }
        return bytes
    }

    // MARK: - Exchanges

    struct Row: CustomTestStringConvertible, Sendable {
        var peer: String
        var preference = Request.VersionPreference.automatic
        var version: Response.Version
        var testDescription: String { "\(peer), \(version.rawValue)" }

        init(_ peer: String, _ version: Response.Version, _ preference: Request.VersionPreference = .automatic) {
            (self.peer, self.version, self.preference) = (peer, version, preference)
        }
    }

    static let rows = [
        Row("nginxTLS", .http2), Row("nginxTLS", .http1_1, .http1_1), Row("nginxTLS12", .http2),
        Row("apacheTLS", .http2), Row("apacheTLS", .http1_1, .http1_1),
        Row("haproxyTLS", .http2), Row("haproxyTLS", .http1_1, .http1_1),
        Row("nghttpd", .http2), Row("nghttpdClear", .http2, .http2PriorKnowledge),
        Row("opensslTLS12", .http1_0), Row("opensslTLS13", .http1_0),
    ]

    @Test("a file of 100 KB is complete, alone and twenty times at a time, buffered and streamed", arguments: rows)
    func files(row: Row) async throws {
        let origin = try Self.origin(row.peer)
        let file = try Self.served("medium.json")
        let transport = try Self.transport()
        let get: @Sendable (Request.Delivery) async throws -> Bool = { delivery in
            var request = try Request(.get, origin + "/medium.json", delivery: delivery)
            request.version = row.preference
            let response = try await transport.send(request, call: Call())
            let body = try await Self.collected(response)
            return response.status == 200 && response.version == row.version && body == file
        }
        #expect(try await get(.buffered(limit: 1 << 20)))
        #expect(try await get(.streamed))
        let whole = try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<20 {
                group.addTask { try await get(index % 2 == 0 ? .streamed : .buffered(limit: 1 << 20)) }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(whole == 20)
        await transport.shutDown()
    }

    @Test("GnuTLS serves over both versions of TLS", arguments: ["gnutlsTLS12", "gnutlsTLS13"])
    func gnutls(peer: String) async throws {
        let transport = try Self.transport()
        // The second connection resumes the session of the first.
        for _ in 0..<2 {
            let response = try await transport.send(Request(try Self.origin(peer) + "/"), call: Call())
            #expect(response.status == 200)
            #expect(String(decoding: try await Self.collected(response), as: UTF8.self).contains("GnuTLS"))
        }
        await transport.shutDown()
    }

    @Test(
        "a body is sent and comes back whole, with trailers, from bytes and from a stream",
        arguments: ["nghttpd", "nghttpdClear"]
    )
    func echo(peer: String) async throws {
        let transport = try Self.transport()
        let piece = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let (pieces, continuation) = AsyncStream.makeStream(of: Data.self)
        for _ in 0..<12 { continuation.yield(piece) }
        continuation.finish()
        let bodies: [(Request.Body, Data)] = [
            (.bytes(piece), piece), (.stream { pieces }, Data(repeatElement(piece, count: 12).joined())),
        ]
        for (body, expected) in bodies {
            var request = try Request(.post, try Self.origin(peer) + "/echo", body: body, delivery: .streamed)
            if peer == "nghttpdClear" { request.version = .http2PriorKnowledge }
            let response = try await transport.send(request, call: Call())
            #expect(response.status == 200)
            #expect(try await Self.collected(response) == expected)
            #expect(response.trailers["x-trailer"] == "last")
        }
        await transport.shutDown()
    }

    @Test("a stream is uploaded through haproxy", arguments: [Request.VersionPreference.automatic, .http1_1])
    func upload(version: Request.VersionPreference) async throws {
        let transport = try Self.transport()
        let piece = Data(repeating: 7, count: 100_000)
        let (pieces, continuation) = AsyncStream.makeStream(of: Data.self)
        for _ in 0..<20 { continuation.yield(piece) }
        continuation.finish()
        let name = "wire-\(UUID().uuidString)"
        let origin = try Self.origin("haproxyTLS")
        var request = try Request(.put, "\(origin)/upload/\(name)", body: .stream { pieces })
        request.version = version
        let response = try await transport.send(request, call: Call())
        #expect(response.status == 201)
        let file = URL(filePath: try Self.peer { try $0.text("uploads") }).appending(path: name)
        #expect(try Data(contentsOf: file) == Data(repeatElement(piece, count: 20).joined()))
        try FileManager.default.removeItem(at: file)
        await transport.shutDown()
    }

    // MARK: - Trust

    // The faults of certificates are in TR-71, which this transport passes.
    @Test("a server without a common cipher is a failed handshake")
    func weakCipher() async throws {
        let transport = try Self.transport()
        let request = try Request(try Self.origin("opensslWeakCipher") + "/small.json")
        let error = await #expect(throws: LoadingError.self) { try await transport.send(request, call: Call()) }
        #expect(error?.kind == .cannotConnect(host: "localhost", reason: .handshakeFailed))
        await transport.shutDown()
    }

    @Test(
        "a server of another authority is not trusted",
        arguments: ["apacheTLS", "haproxyTLS", "nghttpd", "opensslTLS12", "opensslTLS13"]
    )
    func otherAuthority(peer: String) async throws {
        let transport = try Self.transport { $0.tls.authorities = [.file(try Self.peer { try $0.text("otherCA") })] }
        let request = try Request(try Self.origin(peer) + "/small.json")
        let error = await #expect(throws: LoadingError.self) { try await transport.send(request, call: Call()) }
        guard case .untrustedServer(let found) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.cause == .untrustedRoot)
        await transport.shutDown()
    }
}
