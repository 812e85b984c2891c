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

    @Test("names what the wire does not have yet, before anything is sent")
    func missing() async throws {
        let server = try LoopbackServer { _ in .text("") }
        let words = ["get", "--engine", "wire", "-x", server.address(""), "http://192.0.2.1/"]

        let run = try await LadeProcess(words).outcome()

        #expect(run.status == ExitCode.usage.rawValue)
        #expect(run.talk.contains("no proxies yet"), "\(run.talk)")
        #expect(server.acceptedCount == 0)
    }

    @Test("refuses to use a proxy of the environment that the wire cannot reach")
    func environment() async throws {
        let run = try await LadeProcess(
            ["get", "--engine", "wire", "http://192.0.2.1/"],
            environment: ["http_proxy": "http://127.0.0.1:9"]
        ).outcome()

        #expect(run.status == ExitCode.usage.rawValue)
        #expect(run.talk.contains("no proxies yet"), "\(run.talk)")
    }

    @Test("refuses an engine that there is not")
    func unknown() {
        let parser = ArgumentParser(command: "lade get", rows: GetSettings.rows)
        let error = #expect(throws: CommandError.self) { try parser.parse(["http://h/", "--engine", "quic"]) }
        #expect(error?.code == .usage)
        #expect(error?.what.contains("quic") == true)
    }
}
