import Foundation
import LadeTesting
import Testing

@testable import LadeCommand

/// The transport of the command, with the program itself.
@Suite("The transport of the command", .timeLimit(.minutes(5)))
struct TransportTests {
    @Test("fetches, and the server receives the request as written")
    func fetches() async throws {
        let server = try LoopbackServer { request in
            .text("\(request.method) \(request.target) \(request["Accept"] ?? "")")
        }

        let run = try await LadeProcess(["get", server.address("/a?b"), "X-A:1"]).outcome()

        #expect(run.status == 0, "\(run.talk)")
        #expect(run.output == "GET /a?b */*")
    }

    @Test("goes through a proxy in the absolute form")
    func proxy() async throws {
        let proxy = try LoopbackServer { .text("\($0.target) \($0["Proxy-Authorization"] ?? "")") }
        let words = ["get", "-x", proxy.address(""), "-U", "me:pw", "http://192.0.2.1/x?y"]

        let run = try await LadeProcess(words).outcome()

        #expect(run.status == 0, "\(run.talk)")
        // RFC 7617 §2: `me:pw`.
        #expect(run.output == "http://192.0.2.1/x?y Basic bWU6cHc=")
    }

    @Test("goes through a proxy of the environment")
    func environment() async throws {
        let proxy = try LoopbackServer { .text($0.target) }

        let run = try await LadeProcess(
            ["get", "http://192.0.2.1/x"],
            environment: ["http_proxy": proxy.address("")]
        ).outcome()

        #expect(run.status == 0, "\(run.talk)")
        #expect(run.output == "http://192.0.2.1/x")
    }

    #if os(Linux)
        @Test("the program links OpenSSL and nghttp2, and not libcurl")
        func libraries() throws {
            let program = try Data(contentsOf: URL(fileURLWithPath: LadeProcess.path))
            #expect(program.range(of: Data("libssl.so".utf8)) != nil)
            #expect(program.range(of: Data("libnghttp2.so".utf8)) != nil)
            #expect(program.range(of: Data("libcurl.so".utf8)) == nil)
        }
    #endif
}
