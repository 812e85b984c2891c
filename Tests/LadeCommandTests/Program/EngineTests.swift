import Foundation
import LadeTesting
import Testing

@testable import LadeCommand

/// The choice of the transport, with the program itself.
@Suite("The engine of the command", .timeLimit(.minutes(5)))
struct EngineTests {
    @Test("fetches with each engine, and the server receives the same request", arguments: ["curl", "wire"])
    func fetches(engine: String) async throws {
        let server = try LoopbackServer { request in
            .text("\(request.method) \(request.target) \(request["Accept"] ?? "")")
        }

        let run = try await LadeProcess(["get", "--engine", engine, server.address("/a?b"), "X-A:1"]).outcome()

        #expect(run.status == 0, "\(run.talk)")
        #expect(run.output == "GET /a?b */*")
    }

    @Test("goes through a proxy with each engine, in the absolute form", arguments: ["curl", "wire"])
    func proxy(engine: String) async throws {
        let proxy = try LoopbackServer { .text("\($0.target) \($0["Proxy-Authorization"] ?? "")") }
        let words = ["get", "--engine", engine, "-x", proxy.address(""), "-U", "me:pw", "http://192.0.2.1/x?y"]

        let run = try await LadeProcess(words).outcome()

        #expect(run.status == 0, "\(run.talk)")
        // RFC 7617 §2: `me:pw`.
        #expect(run.output == "http://192.0.2.1/x?y Basic bWU6cHc=")
    }

    @Test("goes through a proxy of the environment with each engine", arguments: ["curl", "wire"])
    func environment(engine: String) async throws {
        let proxy = try LoopbackServer { .text($0.target) }

        let run = try await LadeProcess(
            ["get", "--engine", engine, "http://192.0.2.1/x"],
            environment: ["http_proxy": proxy.address("")]
        ).outcome()

        #expect(run.status == 0, "\(run.talk)")
        #expect(run.output == "http://192.0.2.1/x")
    }

    @Test("refuses an engine that there is not")
    func unknown() {
        let parser = ArgumentParser(command: "lade get", rows: GetSettings.rows)
        let error = #expect(throws: CommandError.self) { try parser.parse(["http://h/", "--engine", "quic"]) }
        #expect(error?.code == .usage)
        #expect(error?.what.contains("quic") == true)
    }
}
