import Foundation
import LadeTesting
import Testing

/// Which of the options and variables about proxies takes precedence, beside the real curl.
@Suite("Proxy precedence", .timeLimit(.minutes(5)))
struct ProxyPrecedenceTests {
    struct Row: CustomTestStringConvertible {
        var variables: [String: String]
        var arguments: [String]
        /// The origin; nil for a server on this machine, which only `--proxy` is used for.
        var target: String?
        var testDescription: String { "\(variables) \(arguments)" }
    }

    /// `PROXY` stands for the address of the proxy.
    static let rows: [Row] = [
        Row(variables: [:], arguments: ["-x", "PROXY"]),
        Row(variables: ["NO_PROXY": "127.0.0.1"], arguments: ["-x", "PROXY"]),
        Row(variables: ["no_proxy": "127.0.0.1"], arguments: ["-x", "PROXY"]),
        Row(variables: ["no_proxy": "127.0.0.0/8"], arguments: ["-x", "PROXY"]),
        Row(variables: ["no_proxy": "*"], arguments: ["-x", "PROXY"]),
        Row(variables: ["no_proxy": "other.test"], arguments: ["-x", "PROXY"]),
        Row(variables: ["no_proxy": "", "NO_PROXY": "127.0.0.1"], arguments: ["-x", "PROXY"]),
        Row(variables: ["no_proxy": "127.0.0.1"], arguments: ["-x", "PROXY", "--noproxy", ""]),
        Row(variables: ["no_proxy": "127.0.0.1"], arguments: ["-x", "PROXY", "--noproxy", "other.test"]),
        Row(variables: [:], arguments: ["-x", "PROXY", "--noproxy", "127.0.0.1"]),
        Row(variables: [:], arguments: ["-x", "PROXY", "--noproxy", "*"]),
        Row(variables: ["http_proxy": "PROXY"], arguments: [], target: "http://192.0.2.1/"),
        Row(variables: ["http_proxy": "PROXY"], arguments: ["-x", ""], target: "http://192.0.2.1/"),
        Row(variables: ["http_proxy": "PROXY"], arguments: ["--noproxy", "192.0.2.0/24"], target: "http://192.0.2.1/"),
        Row(variables: ["http_proxy": "PROXY", "NO_PROXY": "192.0.2.1"], arguments: [], target: "http://192.0.2.1/"),
        Row(
            variables: ["http_proxy": "PROXY", "NO_PROXY": "192.0.2.1"],
            arguments: ["--noproxy", ""],
            target: "http://192.0.2.1/"
        ),
        Row(variables: ["HTTP_PROXY": "PROXY"], arguments: [], target: "http://192.0.2.1/"),
        Row(variables: ["ALL_PROXY": "PROXY"], arguments: [], target: "http://192.0.2.1/"),
        Row(variables: ["http_proxy": "", "all_proxy": "PROXY"], arguments: [], target: "http://192.0.2.1/"),
    ]

    @Test("finding CF-18 lade and curl use the same proxy", arguments: rows)
    func precedence(row: Row) async throws {
        let proxy = try LoopbackServer { _ in .text("proxied") }
        let origin = try LoopbackServer { _ in .text("direct") }
        let filled: (String) -> String = { $0.replacing("PROXY", with: proxy.address()) }
        let target = row.target ?? origin.address()
        let variables = row.variables.mapValues(filled)
        let arguments = row.arguments.map(filled) + [target]

        let ours = try await LadeProcess(["get"] + arguments + ["--retry", "0"], environment: variables).outcome()
        let theirs = try await LadeProcess(["-s"] + arguments, program: "/usr/bin/curl", environment: variables)
            .outcome()

        #expect(ours.output == theirs.output, "\(ours.talk)")
        #expect((ours.status == 0) == (theirs.status == 0))
    }

    @Test(
        "finding CF-18 the message about a failing proxy names it and the variable that it is from, without its password"
    )
    func messages() async throws {
        let server = try LoopbackServer { _ in .text("") }
        server.stop()
        let address = "http://me:secret@\(server.authority)"
        let run = try await LadeProcess(
            ["get", "http://192.0.2.1/", "--retry", "0"],
            environment: ["http_proxy": address]
        ).outcome()

        #expect(run.status != 0)
        #expect(run.talk.contains("the proxy \(server.authority) (from http_proxy)"), "\(run.talk)")
        #expect(!run.talk.contains("secret"))
    }
}
