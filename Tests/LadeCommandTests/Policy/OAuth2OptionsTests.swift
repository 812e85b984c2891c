import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// What `--auth oauth2` sends to the token endpoint.
@Suite("OAuth 2 in the command", .timeLimit(.minutes(5)))
struct OAuth2OptionsTests {
    @Test(
        "finding RF-10 the token request has the secret, the grant and the parameters that are given",
        arguments: [
            ([], ["grant_type=client_credentials"], true),
            (
                ["--client-auth", "post"], ["client_id=me", "client_secret=s3cret", "grant_type=client_credentials"],
                false
            ),
            (
                ["--refresh-token-env", "LADE_REFRESH"], ["grant_type=refresh_token", "refresh_token=refresh-me"], true
            ),
            (
                ["--audience", "https://api.example", "--token-param", "resource=a b"],
                ["audience=https%3A%2F%2Fapi.example", "grant_type=client_credentials", "resource=a"], true
            ),
        ] as [([String], [String], Bool)]
    )
    func tokenRequest(options: [String], form: [String], isBasic: Bool) async throws {
        let server = try LoopbackServer { request in
            request.path == "/token"
                ? .json(#"{"access_token":"token-1","token_type":"Bearer","expires_in":60}"#)
                : .json("[\"\(request["Authorization"] ?? "-")\"]")
        }
        let endpoint = server.address("/token").replacing("http://", with: "oauth2:http://me@")

        let outcome = try await LadeProcess(
            ["pages", server.address(), "--auth", endpoint, "--secret-env", "LADE_SECRET"] + options,
            environment: ["LADE_SECRET": "s3cret", "LADE_REFRESH": "refresh-me"]
        ).outcome()

        let asked = try #require(server.requests.first { $0.path == "/token" })
        let body = String(decoding: asked.body, as: UTF8.self)
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(outcome.output == "\"Bearer token-1\"\n", "\(outcome.talk)")
        #expect(form.allSatisfy(body.contains), "\(body)")
        #expect((asked["Authorization"]?.hasPrefix("Basic ") == true) == isBasic)
    }

    @Test("finding RF-10 a public client has a refresh token and no secret")
    func publicClient() async throws {
        let server = try LoopbackServer { request in
            request.path == "/token" ? .json(#"{"access_token":"t-1","token_type":"Bearer"}"#) : .json("[1]")
        }
        let endpoint = server.address("/token").replacing("http://", with: "oauth2:http://me@")
        let arguments = ["pages", server.address(), "--auth", endpoint, "--client-auth", "none"]

        let outcome = try await LadeProcess(
            arguments + ["--refresh-token-env", "LADE_REFRESH"],
            environment: ["LADE_REFRESH": "refresh-me"]
        ).outcome()
        let without = try await LadeProcess(arguments).outcome()

        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(without.status == 1, "\(outcome.talk)")
        #expect(
            server.requests.first.map { String(decoding: $0.body, as: UTF8.self) }?.contains("client_id=me") == true
        )
    }

    /// Gives each refresh token once, and accepts only the newest.
    private final class Rotation: Sendable {
        let newest: Locked<String>
        private let count = Locked(0)

        init(_ first: String) { newest = Locked(first) }

        func answer(_ request: ServerRequest) -> ServerResponse {
            let body = String(decoding: request.body, as: UTF8.self)
            let number = count.withLock { count in
                count += 1
                return count
            }
            return newest.withLock { newest in
                guard body.contains("refresh_token=\(newest)&") || body.hasSuffix("refresh_token=\(newest)") else {
                    return .json(#"{"error":"invalid_grant"}"#, status: 400)
                }
                newest = "rotated-\(number)"
                return .json(#"{"access_token":"t\#(number)","expires_in":3600,"refresh_token":"\#(newest)"}"#)
            }
        }
    }

    @Test("finding LX-5 a refresh token that the server replaces is kept in the session before it is used")
    func keepsRotatedTokens() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let rotation = Rotation("first")
        let path = folder.path + "s.json"
        let server = try LoopbackServer { request in
            guard request.path != "/token" else { return rotation.answer(request) }
            let file = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            return .text(file.contains(rotation.newest.withLock(\.self)) ? "kept " : "lost ")
        }
        let endpoint = server.address("/token").replacing("http://", with: "oauth2:http://me@")
        let arguments = [
            "get", server.address("/x"), "--auth", endpoint, "--client-auth", "none", "--refresh-token-env",
            "LADE_REFRESH",
        ]
        func run(_ token: String?, _ more: [String]) async throws -> LadeProcess.Outcome {
            try await LadeProcess(
                arguments + more,
                in: folder.path,
                environment: token.map { ["LADE_REFRESH": $0] } ?? [:]
            ).outcome()
        }

        // The user's token, then that of the session in its place, then without the user's, then both again.
        for token in ["first", "first", nil, "first"] {
            let outcome = try await run(token, ["--session", "./s.json"])
            #expect(outcome.output == "kept " && outcome.talk.isEmpty, "\(outcome.talk)")
        }

        // A new sign-in counts, not what is in the session.
        rotation.newest.withLock { $0 = "second" }
        let again = try await run("second", ["--session", "./s.json"])
        #expect(again.output == "kept " && again.talk.isEmpty, "\(again.talk)")
        // Without a session the loss is said.
        let lost = try await run(rotation.newest.withLock(\.self), [])
        #expect(lost.status == 0 && lost.talkLines.count == 2, "\(lost.talk)")
        #expect(lost.talk.contains("refresh token") && lost.talk.contains("--session"), "\(lost.talk)")
        #expect(!lost.talk.contains("rotated"))
        // The session's cookies and fields stay beside it.
        let fields = try await run("second", ["--session", "./s.json", "-H", "X-A: 1"])
        #expect(fields.status != 0)
    }

    @Test("finding LX-5 a list whose token is renewed on the way says once that the refresh token is kept nowhere")
    func saysOnce() async throws {
        let rotation = Rotation("first")
        let server = try LoopbackServer { request in
            guard request.path != "/token" else { return rotation.answer(request) }
            let page = Int(request.path.dropFirst(2)) ?? 1
            // Each token is refused after one page.
            guard request["Authorization"]?.hasSuffix("t\(page)") == true else { return .json("{}", status: 401) }
            let next = page < 4 ? [ServerField("Link", "</p\(page + 1)>; rel=next")] : []
            return .json("[\(page)]", next)
        }
        let endpoint = server.address("/token").replacing("http://", with: "oauth2:http://me@")

        let outcome = try await LadeProcess(
            [
                "pages", server.address("/p1"), "--auth", endpoint, "--client-auth", "none", "--refresh-token-env",
                "LADE_REFRESH",
            ],
            environment: ["LADE_REFRESH": "first"]
        ).outcome()

        #expect(outcome.output == "1\n2\n3\n4\n", "\(outcome.talk)")
        #expect(outcome.talk.components(separatedBy: "refresh token").count == 2, "\(outcome.talk)")
    }

    @Test(
        "finding RF-10 options of OAuth without it are refused",
        arguments: [
            ["--client-auth", "post"], ["--refresh-token-env", "A"], ["--audience", "a"], ["--token-param", "a=b"],
            ["--auth", "oauth2:https://me@h/t", "--client-auth", "x"], ["--token-param", "a"],
        ]
    )
    func refused(options: [String]) async throws {
        let outcome = try await LadeProcess(["get", "http://127.0.0.1:1/"] + options).outcome()

        #expect(outcome.status == 1)
        #expect(outcome.talkLines.count == 2)
    }
}
