import Foundation
import LadeCore
import LadeTesting
import Testing

@Suite("Where a loopback server listens", .timeLimit(.minutes(5)))
struct ServerAddressTests {
    /// A path for a socket, short enough for its address.
    private static func socketPath() -> String {
        FileManager.default.temporaryDirectory.appending(path: "lade-\(UInt32.random(in: 0...(.max)))").path
    }

    private func options(_ endpoint: LoopbackServer.Address) -> LoopbackServer.Options {
        var options = LoopbackServer.Options()
        options.address = endpoint
        return options
    }

    @Test("serves over IPv4, IPv6 and Unix-domain sockets alike", arguments: ["4", "6", "unix"])
    func serves(kind: String) async throws {
        let endpoint: LoopbackServer.Address =
            switch kind {
            case "4": .ipv4()
            case "6": .ipv6()
            default: .unixSocket(path: Self.socketPath())
            }
        let server = try LoopbackServer(options(endpoint)) { .text("\($0.method) \($0.target) \($0.text)") }
        let client = try RawClient(to: endpoint, port: server.port)
        let fields = "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 13\r\n"
        let answer = "HTTP/1.1 200 OK\r\n\(fields)\r\nPUT /a?b body"
        for _ in 0..<2 {
            client.send("PUT /a?b HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody")
            #expect(client.receive(exactly: answer.utf8.count) == answer)
        }
        client.closeWriting()

        #expect(try await server.connectionClosed(at: 0) == .byClient)
        #expect(server.requestCount == 2)
        #expect(server.acceptedCount == 1)
    }

    @Test("resets connections of each kind", arguments: ["6", "unix"])
    func resets(kind: String) async throws {
        let endpoint: LoopbackServer.Address = kind == "6" ? .ipv6() : .unixSocket(path: Self.socketPath())
        let server = try LoopbackServer(options(endpoint), script: [.readRequest, .send("part"), .reset])
        let client = try RawClient(to: endpoint, port: server.port)
        client.send("GET / HTTP/1.1\r\n\r\n")
        _ = client.receiveAll()
        #expect(try await server.connectionClosed(at: 0) == .resetByServer)
    }

    @Test("says in requests and addresses where it is")
    func addresses() throws {
        let six = try LoopbackServer(options(.ipv6()), script: [.stall])
        let path = Self.socketPath()
        let unix = try LoopbackServer(options(.unixSocket(path: path)), script: [.stall])

        #expect(six.authority == "[::1]:\(six.port)")
        #expect(six.address("/x") == "http://[::1]:\(six.port)/x")
        #expect(try six.request().url.absoluteString == "http://[::1]:\(six.port)/")
        #expect(try six.request().destination == nil)
        #expect(unix.port == 0)
        #expect(unix.address("/x") == "http://localhost/x")
        #expect(try unix.request().destination == .unixSocket(path: path))
    }

    @Test("replaces the file at a socket's path, and removes the socket at the end")
    func replacesAndRemovesTheSocket() throws {
        let path = Self.socketPath()
        try Data("left over".utf8).write(to: URL(filePath: path))

        let server = try LoopbackServer(options(.unixSocket(path: path)), script: [.send("new")])
        #expect(try RawClient(to: .unixSocket(path: path)).receiveAll() == "new")
        server.stop()

        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(!(try RawClient(to: .unixSocket(path: path)).isConnected))
    }

    @Test("refuses a path that no socket's address can hold")
    func refusesLongPaths() {
        let path = "/" + String(repeating: "x", count: 200)
        let failure = #expect(throws: SystemCallError.self) {
            try LoopbackServer(options(.unixSocket(path: path)), script: [.stall])
        }
        #expect(failure?.operation == "bind \(path)")
    }

    @Test("listens only on IPv6 when the endpoint says so")
    func keepsTheFamiliesApart() throws {
        let (server, hole) = try serverBesideATakenPort()
        #expect(try RawClient(to: .ipv6(), port: server.port).receiveAll() == "six")
        #expect(try RawClient(to: .ipv4(), port: hole.port).receiveAll() == "four")
    }

    /// Servers on the same port of both families.
    private func serverBesideATakenPort() throws -> (LoopbackServer, LoopbackServer) {
        // A port that is free in one family may be in use in the other.
        for _ in 0..<20 {
            let six = try LoopbackServer(options(.ipv6()), script: [.send("six")])
            if let four = try? LoopbackServer(options(.ipv4(port: six.port)), script: [.send("four")]) {
                return (six, four)
            }
        }
        throw SocketFailure()
    }
}
