import Foundation
import LadeCore
import LadeTesting
import Testing

@testable import LadeCurl

@Suite("Connections over Unix sockets", .timeLimit(.minutes(5)))
struct UnixSocketTests {
    private static func options() -> LoopbackServer.Options {
        var options = LoopbackServer.Options()
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UInt32.random(in: 0...(.max)))").path
        options.address = .unixSocket(path: path)
        return options
    }

    private static func transport(proxy: TransportSettings.ProxyChoice = .direct) throws -> CurlTransport {
        var settings = TransportSettings()
        settings.proxy = proxy
        return try CurlTransport(settings: settings)
    }

    @Test("are reused while nothing arrives between the calls")
    func reuse() async throws {
        let server = try LoopbackServer(Self.options()) { .text($0.path) }
        let transport = try Self.transport()
        for path in ["/1", "/2", "/3"] {
            let response = try await transport.send(server.request(.get, path), call: Call())
            #expect(try await String(decoding: response.body.collect(), as: UTF8.self) == path)
        }
        #expect(server.acceptedCount == 1)
        await transport.shutDown()
    }

    @Test("do not use the proxy of the settings", arguments: [TransportSettings.ProxyChoice.Proxy.Kind.http, .socks5])
    func withoutProxy(kind: TransportSettings.ProxyChoice.Proxy.Kind) async throws {
        let server = try LoopbackServer(Self.options()) { .text($0.target) }
        let transport = try Self.transport(proxy: .proxy(.init(kind, host: "127.0.0.1", port: 1)))

        let response = try await transport.send(server.request(.get, "/path"), call: Call())

        #expect(try await String(decoding: response.body.collect(), as: UTF8.self) == "/path")
        await transport.shutDown()
    }

    @Test(
        "finding FH-1 a byte that arrived before a request is no part of its response",
        arguments: [Request.Method.get, .post]
    )
    func unasked(_ method: Request.Method) async throws {
        let (isAnswered, isSent) = (Signal(), Signal())
        let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        let server = try LoopbackServer(Self.options()) { index -> [ServerStep] in
            guard index == 0 else { return [.readRequest, .respond(.text("mine")), .stall] }
            return [
                .readRequest, .respond(.text("first")), .wait(for: isAnswered), .send(evil),
                .run { _ in isSent.raise() }, .stall,
            ]
        }
        let transport = try Self.transport()
        let first = try await transport.send(server.request(), call: Call())
        #expect(try await String(decoding: first.body.collect(), as: UTF8.self) == "first")
        isAnswered.raise()
        try await isSent.wait()

        let next = try await transport.send(server.request(method, "/next"), call: Call())

        #expect(try await String(decoding: next.body.collect(), as: UTF8.self) == "mine")
        #expect(server.requests.count { $0.path == "/next" } == 1)
        await transport.shutDown()
    }
}
