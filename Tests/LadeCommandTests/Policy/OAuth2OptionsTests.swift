import Foundation
import LadeTesting
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
