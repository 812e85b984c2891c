import Foundation
import LadeTesting
import Testing

@testable import LadeCommand

/// Arguments that are numbers out of reach, or secrets in the wrong place.
@Suite("Arguments that must do no harm", .timeLimit(.minutes(5)))
struct ArgumentSafetyTests {
    private static let numbers = ["9223372036854775807", "9223372036854775806", "4611686018427387904"]

    private static let pageFlags = [
        "--prefetch", "--size", "--max-pages", "--max-items", "--retry", "--max-redirects", "--deadline", "--max-wait",
        "--connect-timeout", "--idle-timeout", "--max-time",
    ]

    @Test("finding FL-1 does not trap on a number of a flag", arguments: pageFlags)
    func flags(flag: String) async throws {
        let server = try LoopbackServer { request in
            let page = request.queryItem("p").flatMap { Int($0) } ?? 1
            return .json(page < 4 ? "[\(page)]" : "[]")
        }
        for number in Self.numbers {
            let outcome = try await LadeProcess(
                ["pages", server.address(), "--next", "page:p", flag, number]
            ).outcome()
            #expect(outcome.status == 0, "\(flag) \(number): \(outcome.talk)")
            #expect(outcome.output == "1\n2\n3\n", "\(flag) \(number)")
        }
    }

    @Test("finding FL-1 refuses a rate out of reach", arguments: ["", "/s", "/m"])
    func rates(unit: String) async throws {
        for number in Self.numbers {
            let outcome = try await LadeProcess(["pages", "http://127.0.0.1:1/", "--rate", number + unit]).outcome()
            #expect(outcome.status == 1, "\(number)\(unit): \(outcome.talk)")
            #expect(outcome.talk.contains("“\(number)\(unit)” is no rate"))
        }
    }

    @Test("finding FL-1 does not trap on a number of a rule, a rate or a total")
    func values() async throws {
        let server = try LoopbackServer { request in
            .json(
                "{\"items\":[1],\"total\":9223372036854775807}",
                [ServerField("X-Total-Count", "-9223372036854775808")]
            )
        }
        let arguments: [[String]] = [
            ["--next", "page:p=9223372036854775807"], ["--next", "page:p=9223372036854775806", "--prefetch", "3"],
            ["--next", "offset:o", "--prefetch", "3", "--total", "/total"],
            ["--next", "page:p", "--prefetch", "3", "--total", "header:X-Total-Count"],
            ["--next", "page:p", "--rate", "10/s,9223372036854775807"],
            ["--next", "page:p", "--rate", "0.00000000000000000001/h"],
            ["--next", "page:p", "--rate", String(repeating: "9", count: 400)],
        ]
        for extra in arguments {
            let outcome = try await LadeProcess(
                ["pages", server.address(), "--items", "/items", "--max-pages", "3"] + extra
            ).outcome()
            #expect([0, 1, 10, 13].contains(outcome.status), "\(extra): \(outcome.status) \(outcome.talk)")
        }
    }

    @Test(
        "finding FL-1 does not trap on a number of the catalogue",
        arguments: ["--medias", "--shows", "--seed", "--max-size", "--rate", "--latency", "--token-lifetime"]
    )
    func catalogue(flag: String) async throws {
        for number in Self.numbers {
            let outcome = try await LadeProcess(["serve", "--for", "1ms", flag, number]).outcome()
            #expect([0, 1].contains(outcome.status), "\(flag) \(number): \(outcome.status) \(outcome.talk)")
        }
    }

    @Test(
        "finding FL-10 shows no secret of an argument that it refuses",
        arguments: [
            ["get", "http://127.0.0.1:1/", "Authorization Bearer s3cr3t"],
            ["get", "http://127.0.0.1:1/", "password:=s3cr3t"],
            ["get", "http://127.0.0.1:1/", "a=b", "https://user:s3cr3t@host/"],
            ["get", "http://127.0.0.1:1/", "s3cr3ts3cr3t"],
            ["get", "http://127.0.0.1:1/", "=s3cr3t"],
            ["get", "https://user:s3cr3t@[host/"],
            ["get", "https://user:s3cr3t@ho st/?token=s3cr3t"],
            ["user=s3cr3t@host"],
            ["--version", "https://user:s3cr3t@host/"],
            ["serve", "https://user:s3cr3t@host/"],
            ["help", "https://user:s3cr3t@host/"],
            ["help", "get", "https://user:s3cr3t@host/"],
            ["get", "--auth=s3cr3t:x", "http://127.0.0.1:1/"],
            ["get", "--connect-to=user:s3cr3t@host:x", "http://127.0.0.1:1/"],
            ["get", "--proxy=http://user:s3cr3t@host:x", "http://127.0.0.1:1/"],
            ["get", "-H", "Bearer s3cr3t", "http://127.0.0.1:1/"],
            ["get", "--header=Authorization Bearer s3cr3t", "http://127.0.0.1:1/"],
            ["get", "--tokn=s3cr3t", "http://127.0.0.1:1/"],
        ]
    )
    func secrets(arguments: [String]) async throws {
        let outcome = try await LadeProcess(arguments).outcome()

        #expect(outcome.status == 1, "\(outcome.talk)")
        #expect(outcome.talkLines.count == 2)
        #expect(!(outcome.talk + outcome.output).contains("s3cr3t"), "\(outcome.talk)")
    }
}
