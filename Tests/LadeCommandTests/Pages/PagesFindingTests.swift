import Foundation
import Lade
import LadeCatalogueServer
import LadeTesting
import SharedDoubles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import LadeCommand

/// What the built program does with lists that are cut short, strange, or elsewhere.
@Suite("lade pages and other servers", .timeLimit(.minutes(5)))
struct PagesFindingTests {
    @Test(
        "finding RF-1 a list that is certainly not whole says so, names place and option, and exits with 15",
        arguments: [
            (#"{"a": [1], "next_token": "x"}"#, "/next_token", "--next cursor:/next_token=QUERY"),
            (#"{"a": [1], "next": 2}"#, "/next", "--next cursor:/next=QUERY"),
            (#"{"a": [1], "links": {"following": 1}, "has_more": true}"#, "/has_more", "--next page:page"),
            (#"{"a": [1], "count": 3037}"#, "3036 of the 3037", "--next page:page"),
        ] as [(String, String, String)]
    )
    func cutList(body: String, place: String, option: String) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { _ in .json(body) }
        let arguments = ["pages", server.address(), "--items", "/a"]

        let piped = try await LadeProcess(arguments).outcome()
        var files: [LadeProcess.Outcome] = []
        for _ in 0..<2 { files.append(try await LadeProcess(arguments + ["-o", "all"], in: folder.path).outcome()) }

        #expect(piped.status == 15)
        #expect(piped.output == "1\n")
        #expect(files.map(\.status) == [15, 15])
        #expect(folder.text("all") == "1\n")
        for outcome in [piped] + files {
            #expect(outcome.talkLines.first?.hasPrefix("lade: The list is not whole: ") == true)
            #expect(outcome.talkLines.first?.contains(place) == true)
            #expect(outcome.talkLines.count == 2)
            #expect(outcome.talkLines.last?.contains(option) == true)
        }
        #expect(files[1].talkLines.last?.contains("--restart") == true)
        #expect(server.requestCount == 2)
    }

    @Test("finding RF-1 a likely sign is a warning, and the exit code stays 0")
    func likelySign() async throws {
        let server = try LoopbackServer { _ in .json("[1,2]") }

        let outcome = try await LadeProcess.run("pages", server.address(), "--size", "2")
        let quiet = try await LadeProcess.run("pages", server.address(), "--size", "2", "-s")

        #expect(outcome.status == 0)
        #expect(outcome.talkLines.count == 2)
        #expect(outcome.talk.contains("exactly as long as was asked for"))
        #expect(outcome.talk.contains("--next page:page"))
        #expect(quiet.status == 0)
        #expect(quiet.talk == "")
    }

    @Test("finding RF-2 a name that is missing shows the members there are, and 15 when a sign is certain")
    func missingName() async throws {
        let server = try LoopbackServer { request in
            .json(request.path == "/cut" ? #"{"a": [1], "next": "/b"}"# : #"{"a": [1], "b": 2}"#)
        }

        let whole = try await LadeProcess.run("pages", server.address("/"), "--items", "/a", "--next", "body:/nxt")
        let cut = try await LadeProcess.run("pages", server.address("/cut"), "--items", "/a", "--next", "body:/nxt")

        #expect(whole.status == 0)
        #expect(whole.talk.contains("nothing at /nxt; its members are a, b."))
        #expect(cut.status == 15)
        #expect(cut.talk.contains("nothing at /nxt; its members are a, next."))
        #expect(cut.talk.contains("--next body:/next"))
    }

    @Test(
        "finding CF-5 what cannot be followed is shown, with exit code 13, to a file too",
        arguments: [
            ("body:/next", #"{"a":1}"#), ("body:/next", "7"), ("body:/next", "true"), ("body:/next", "[1]"),
            ("cursor:/next=c", #"{"a":1}"#), ("cursor:/next=c", "true"), ("cursor:/next=c", "[1]"),
        ]
    )
    func unusable(rule: String, value: String) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { _ in .json("{\"items\":[1],\"next\":\(value)}") }

        let outcome = try await LadeProcess.run(
            "pages",
            server.address(),
            "--items",
            "/items",
            "--next",
            rule,
            "-o",
            "all",
            in: folder.path
        )

        #expect(outcome.status == 13)
        #expect(outcome.talk.contains(value))
        #expect(outcome.talkLines.count == 2)
        #expect(!outcome.talk.contains("The same command continues"))
    }

    @Test("finding CF-14 a number in the address is where pages are counted from")
    func beginning() async throws {
        let server = try LoopbackServer { request in
            let number = request.queryItem("page") ?? request.queryItem("o") ?? "-"
            return .json(["0", "1", "5", "6"].contains(number) ? "[\(number)]" : "[]")
        }

        let zero = try await LadeProcess.run("pages", server.address("/?page=0"), "--next", "page:page")
        let item = try await LadeProcess.run("pages", server.address("/"), "--next", "page:page", "page==5")
        let offset = try await LadeProcess.run("pages", server.address("/?o=5"), "--next", "offset:o")
        let wrong = try await LadeProcess.run("pages", server.address("/?page=x"), "--next", "page:page")

        #expect(zero.output == "0\n1\n")
        #expect(item.output == "5\n6\n")
        #expect(offset.output == "5\n6\n")
        #expect(wrong.status == 1)
        #expect(wrong.talkLines.count == 2)
    }

    @Test("finding LF-21 --end-status ends a list, and the error at such a status proposes it")
    func endStatus() async throws {
        let server = try LoopbackServer { request in
            let page = request.queryItem("page").flatMap { Int($0) } ?? 0
            return page > 2 ? .json(#"{"detail":"Invalid page."}"#, status: 404) : .json("[\(page)]")
        }
        let arguments = ["pages", server.address(), "--next", "page:page"]

        let refused = try await LadeProcess(arguments).outcome()
        let ended = try await LadeProcess(arguments + ["--end-status", "400,404"]).outcome()

        #expect(refused.status == 4)
        #expect(refused.talk.contains("Invalid page."))
        #expect(refused.talkLines.last == "      --end-status 404 ends the list there.")
        #expect(ended.status == 0)
        #expect(ended.output == "1\n2\n")
        #expect(ended.talk == "")
    }

    @Test(
        "cursors of common APIs, with their conditions: finding RF-3 finding RF-4",
        arguments: [
            (["--next", "cursor:/after=body:/variables/after", "--more", "/more", "query=q"], true),
            (["--next", "cursor:/key=body:/start", "q=x"], true),
            (["--next", "cursor:/items/-/id=starting_after", "--more", "/more"], false),
            (["--next", "header:X-Next=header:X-After", "--more", "/more"], false),
            (["--next", "header:X-Page/next=page", "--more", "/more"], false),
        ] as [([String], Bool)]
    )
    func cursors(arguments: [String], isPosted: Bool) async throws {
        let server = try LoopbackServer { request in
            let body = String(decoding: request.body, as: UTF8.self)
            let asked =
                request.queryItem("starting_after") ?? request.queryItem("page") ?? request["X-After"]
                ?? (0..<4).last { body.contains("\"\($0)\"") }.map(String.init)
            let page = asked.flatMap { Int($0) } ?? 0
            let items = [page * 1, page + 1].map { "{\"id\":\($0)}" }.joined(separator: ",")
            let key = page < 2 ? ",\"key\":{\"id\":\"\(page + 1)\"},\"after\":\"\(page + 1)\"" : ""
            return .json(
                "{\"items\":[\(items)],\"more\":\(page < 2)\(key)}",
                // On every page, so that only a condition ends these lists.
                isPosted ? [] : [ServerField("X-Next", "\(page + 1)"), ServerField("X-Page", "{\"next\":\(page + 1)}")]
            )
        }

        let outcome = try await LadeProcess(
            ["pages", server.address(), "--items", "/items", "--repeated", "keep"] + arguments
        ).outcome()

        #expect(outcome.status == 0)
        #expect(outcome.talk == "")
        #expect(outcome.output.split(separator: "\n").map(String.init).last == "{\"id\":3}")
        #expect(server.requestCount == 3)
        #expect(server.requests.allSatisfy { $0.method == (isPosted ? "POST" : "GET") })
    }

    @Test(
        "finding CF-13 what can change what the server returns refuses the journal, and shows no value",
        arguments: [
            (["X-Tenant:a"], ["X-Tenant:b"]), (["-u", "ann:secret-1"], ["-u", "bob:secret-1"]),
            (["-b", "sid=zaza"], ["-b", "sid=ybyb"]), (["Authorization:Bearer zaza"], ["Authorization:Bearer ybyb"]),
            ([], ["X-Tenant:b"]), (["-u", "ann:secret-1"], []), (["Cookie:a=zaza"], ["Cookie:a=ybyb"]),
            (["--auth", "bearer", "--secret-env", "TOKEN_A"], ["--auth", "bearer", "--secret-env", "TOKEN_B"]),
        ] as [([String], [String])]
    )
    func identity(first: [String], second: [String]) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { request in
            .json("[1]", request.path == "/" ? [ServerField("Link", "</2>; rel=next")] : [])
        }
        let arguments = ["pages", server.address(), "-o", "all", "--max-pages", "1"]
        let environment = ["TOKEN_A": "zaza-token", "TOKEN_B": "ybyb-token"]
        func run(_ more: [String]) async throws -> LadeProcess.Outcome {
            try await LadeProcess(arguments + more, in: folder.path, environment: environment).outcome()
        }

        let begun = try await run(first)
        let same = try await run(first + ["User-Agent:x", "--retry", "1", "-v"])
        let other = try await run(second)
        let anew = try await run(second + ["--restart"])

        #expect(begun.status == 0)
        #expect(same.status == 0)
        #expect(anew.status == 0)
        #expect(other.status == 1)
        #expect(other.talk.contains("--restart"))
        for secret in ["zaza", "ybyb", "secret-1"] {
            #expect(!other.talk.contains(secret))
            #expect(folder.text("all.journal")?.contains(secret) == false)
        }
    }

    @Test(
        "finding PG-3 a token that ended is replaced with one flag, which messages name and the journal remembers",
        arguments: [
            (["--auth", "bearer", "--secret-env", "T"], true), (["X-API-Key:@key"], true),
            (["-b", "sid=SECRET"], true),
            (["Authorization:Bearer SECRET"], true), (["-u", "ann:SECRET"], false),
        ] as [([String], Bool)]
    )
    func renewedToken(options: [String], needsFlag: Bool) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let valid = Locked("first-secret")
        let server = try LoopbackServer { request in
            let page = request.queryItem("page").flatMap { Int($0) } ?? 0
            let secret = valid.withLock(\.self)
            let fields = ["Authorization", "X-API-Key", "Cookie"].compactMap { request[$0] }.joined()
            let basic = Data("ann:\(secret)".utf8).base64EncodedString()
            guard fields.contains(secret) || fields.contains(basic) else { return .json("{}", status: 401) }
            if page == 1 { valid.withLock { $0 = "second-secret" } }
            return .json("[\(page)]", page < 3 ? [ServerField("Link", "</?page=\(page + 1)>; rel=next")] : [])
        }
        func run(_ secret: String, _ more: [String]) async throws -> LadeProcess.Outcome {
            try "\(secret)\n".write(toFile: folder.file("key"), atomically: false, encoding: .utf8)
            return try await LadeProcess(
                ["pages", server.address(), "-o", "all"] + options.map { $0.replacing("SECRET", with: secret) } + more,
                in: folder.path,
                environment: ["T": secret]
            ).outcome()
        }

        let ended = try await run("first-secret", [])
        let refused = try await run("second-secret", ["--max-pages", "3"])
        let continued = try await run("second-secret", ["--same-sign-in", "--max-pages", "3"])
        let later = try await run("second-secret", [])

        #expect(ended.status == 12)
        #expect(ended.talk.contains("--same-sign-in") == needsFlag, "\(ended.talk)")
        #expect(refused.status == (needsFlag ? 1 : 0))
        #expect(refused.talk.contains("--same-sign-in") == needsFlag, "\(refused.talk)")
        #expect(continued.status == 0, "\(continued.talk)")
        #expect(later.status == 0, "\(later.talk)")
        #expect(folder.text("all") == "0\n1\n2\n3\n")
    }

    @Test("finding CF-13 a renewed password of the same user and a cookie that the server set may change")
    func mayChange() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let count = Locked(0)
        let server = try LoopbackServer { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .json(
                "[\(number)]",
                [ServerField("Link", "</\(number)>; rel=next"), ServerField("Set-Cookie", "s=\(number); Path=/")]
            )
        }
        let arguments = ["pages", server.address("/list"), "-o", "all", "--session", "./s"]

        let first = try await LadeProcess(arguments + ["-u", "ann:old", "--max-pages", "1"], in: folder.path).outcome()
        let second = try await LadeProcess(arguments + ["-u", "ann:new", "--max-pages", "2"], in: folder.path).outcome()

        #expect(first.status == 0)
        #expect(second.status == 0)
        #expect(folder.text("all") == "1\n2\n")
    }

    @Test("finding RF-7 messages about other origins name both, what was not sent, and the option")
    func otherOrigins() async throws {
        let other = try LoopbackServer { request in
            request["X-Key"] == "k" ? .json("[2]") : .json("{}", status: 401)
        }
        let server = try LoopbackServer { request in
            request.path == "/2"
                ? .json("[9]") : .json("[1]", [ServerField("Link", "<\(other.address("/2"))>; rel=next")])
        }
        let arguments = ["pages", server.address(), "-u", "ann:secret", "X-Key:k"]

        let plain = try await LadeProcess(arguments).outcome()
        let bound = try await LadeProcess(arguments + ["--same-origin"]).outcome()
        let posted = try await LadeProcess(arguments + ["-d", "x"]).outcome()
        let here = try await LadeProcess(arguments + ["--next-here"]).outcome()

        let origins = [server, other].map { String($0.address().dropLast()) }
        for outcome in [plain, bound, posted] {
            #expect(
                origins.allSatisfy(outcome.talk.contains) && outcome.talk.contains("--next-here"),
                "\(outcome.talk)"
            )
            #expect(outcome.talkLines.count == 2 || outcome.status == 4)
        }
        #expect(plain.talk.contains("credentials, cookies and fields of the request were not sent"))
        #expect(!plain.talk.contains("-u USER"))
        #expect(posted.talk.contains("--cross-origin-body"))
        #expect(here.status == 0)
        #expect(here.output == "1\n9\n")
    }

    @Test(
        "finding RF-8 says that the same command continues only where it can",
        arguments: [(500, true), (404, false), (429, true), (400, false)]
    )
    func continues(status: Int, isTrue: Bool) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { request in
            request.path == "/2"
                ? .json("{}", status: status) : .json("[1]", [ServerField("Link", "</2>; rel=next")])
        }

        let outcome = try await LadeProcess.run(
            "pages",
            server.address(),
            "-o",
            "all",
            "--retry",
            "0",
            in: folder.path
        )

        #expect(outcome.talk.contains("The same command continues from there.") == isTrue)
        #expect((outcome.status == 12) == isTrue)
    }

    @Test("finding RF-8 a page that the server repeats because it ignores the cursor is not written")
    func ignoredCursor() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { _ in .json(#"{"a":[1,2],"c":"x"}"#) }

        let outcome = try await LadeProcess.run(
            "pages",
            server.address(),
            "--items",
            "/a",
            "--next",
            "cursor:/c=after",
            "-o",
            "all",
            in: folder.path
        )

        #expect(outcome.status == 12)
        #expect(folder.text("all") == "1\n2\n")
    }

    @Test(
        "finding RF-9 an error says what the server sent and what to write",
        arguments: [
            (#"{"results":[1,2,3]}"#, 200, "application/json", [], "--items /results has 3 items"),
            (#"{"error":"expired key"}"#, 200, "application/json", [], "expired key"),
            (#"{"error":"no such tenant"}"#, 403, "application/json", [], "no such tenant"),
            (#"{"error":"bad"}"#, 401, "application/json", ["-u", "a:b"], "refused the credentials"),
            ("a,b\n", 200, "text/csv", [], "CSV are not read"),
            ("{}\n{}\n", 200, "application/x-ndjson", [], "--items lines"),
        ] as [(String, Int, String, [String], String)]
    )
    func words(body: String, status: Int, type: String, more: [String], expected: String) async throws {
        let server = try LoopbackServer { _ in
            .bytes(Data(body.utf8), status: status, [ServerField("Content-Type", type)])
        }

        let outcome = try await LadeProcess(["pages", server.address(), "--retry", "0"] + more).outcome()

        #expect(outcome.status != 0, "\(outcome.talk)")
        #expect(outcome.talk.contains(expected), "\(outcome.talk)")
    }

    @Test("finding RF-9 a total in the JSON of a field counts")
    func totalInJSON() async throws {
        let server = try LoopbackServer { request in
            let page = request.queryItem("page").flatMap { Int($0) } ?? 0
            return .json("[\(page)]", [ServerField("X-Pagination", "{\"total\": 2}")])
        }

        let outcome = try await LadeProcess.run(
            "pages",
            server.address(),
            "--next",
            "page:page",
            "--total",
            "header:X-Pagination"
        )

        #expect(outcome.status == 0)
        #expect(outcome.output == "1\n2\n")
        #expect(server.requestCount == 2)
    }

    @Test("finding CF-31 an interrupt ends a run whose server is silent after a second, with what is saved")
    func silentServer() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let gate = Signal()
        let server = try LoopbackServer { request in
            if request.path == "/2" { gate.waitOnThread() }
            return .json("[1]", [ServerField("Link", "</2>; rel=next")])
        }
        let process = try LadeProcess(["pages", server.address(), "-o", "all"], in: folder.path)
        _ = try await server.head(at: 1)
        process.send(SIGINT)

        let outcome = try await process.outcome()
        gate.raise()

        #expect(outcome.status == 12)
        #expect(folder.text("all") == "1\n")
        #expect(outcome.talk.contains("lade: Stopped after 1 page, 1 item."))
    }

    @Test("finding RF-3 reads the connection of lade serve whole by its cursor, and calls it cut without one")
    func servedConnection() async throws {
        var options = LocalCatalogue.Options()
        options.medias = 35
        let catalogue = try LocalCatalogue(options)
        let arguments = [
            "pages", catalogue.address("/graphql"), "query={medias{nodes}}", #"variables:={"after":null}"#, "--items",
            "/data/medias/nodes",
        ]

        let whole = try await LadeProcess(
            arguments + [
                "--next", "cursor:/data/medias/pageInfo/endCursor=body:/variables/after", "--more",
                "/data/medias/pageInfo/hasNextPage",
            ]
        ).outcome()
        let cut = try await LadeProcess(arguments).outcome()

        #expect(whole.status == 0, "\(whole.talk)")
        #expect(whole.output.split(separator: "\n").count == 35, "\(whole.talk)")
        #expect(cut.status == 15)
        #expect(cut.output.split(separator: "\n").count == 10)
    }

    @Test("finding RF-11 the help has every kind of rule with an example, which is read")
    func help() async throws {
        let outcome = try await LadeProcess.run("help", "pages")

        for (term, meaning) in PagingSettings.chapter.rows.map({ ($0.term, $0.meaning) }) {
            #expect(outcome.output.contains(term))
            let words = meaning.split(separator: " ").filter { $0.contains(":") }.map(String.init)
            for word in words.map({ $0.trimmingCharacters(in: [",", ";"]) })
            where ["link:", "body:/", "cursor:", "page:", "offset:"].contains(where: word.hasPrefix)
                && !["body:/POINTER"].contains(word) && word.last != ":"
            {
                #expect(throws: Never.self) { try PagingSettings.rule(word) }
            }
        }
    }

    @Test(
        "finding CF-6 rules are split by bytes, so that a combining character does not hide a delimiter",
        arguments: ["body:/a\u{301}", "cursor:/a=\u{301}b", "header:X=\u{301}b", "page:p=\u{301}1"]
    )
    func combiningCharacters(rule: String) throws {
        switch rule.prefix(4) {
        case "body": #expect(try PagingSettings.rule(rule) == .body(["a\u{301}"]))
        case "curs": #expect(try PagingSettings.rule(rule) == .bodyCursor(["a"], query: "\u{301}b"))
        case "head": #expect(try PagingSettings.rule(rule) == .headerCursor("X", query: "\u{301}b"))
        default: #expect(throws: CommandError.self) { try PagingSettings.rule(rule) }
        }
    }

    /// A list whose first page does not say enough for the rules, and the name that QUERY stands for.
    struct AdvisedList: Sendable, CustomTestStringConvertible {
        var name: String
        var query = "QUERY"
        var arguments: [String] = []
        /// The rest of a page and its fields, by the number of the page from 0 to 2.
        var page: @Sendable (Int) -> (members: String, fields: [ServerField])
        /// The number of the page that a request asks for.
        var number: @Sendable (ServerRequest) -> Int

        var testDescription: String { name }

        static func item(_ name: String, from first: Int = 0, by step: Int = 1) -> @Sendable (ServerRequest) -> Int {
            { request in
                guard let value = request.queryItem(name).flatMap({ Int($0) }) else { return 0 }
                return (value - first) % step == 0 ? (value - first) / step : 3
            }
        }

        static func body(_ member: String) -> @Sendable (ServerRequest) -> Int {
            { request in
                let text = String(decoding: request.body, as: UTF8.self)
                return (0...3).last { text.contains("\"\(member)\":\"c\($0)\"") || text.contains("{\"id\":\($0)}") }
                    ?? 0
            }
        }

        static let all: [AdvisedList] = [
            AdvisedList(
                name: "token",
                query: "t",
                page: { ($0 < 2 ? "\"next_token\":\"\($0 + 1)\"" : "", []) },
                number: item("t")
            ),
            AdvisedList(
                name: "number",
                query: "p",
                page: { ($0 < 2 ? "\"next\":\($0 + 1)" : "", []) },
                number: item("p")
            ),
            AdvisedList(
                name: "relative path",
                page: { ($0 < 2 ? "\"next\":\"list/\($0 + 1)\"" : "", []) },
                number: { Int($0.path.suffix(1)) ?? 0 }
            ),
            AdvisedList(
                name: "MediaWiki",
                page: { ($0 < 2 ? "\"continue\":{\"p\":\($0 + 1),\"continue\":\"-||\"}" : "", []) },
                number: item("p")
            ),
            AdvisedList(
                name: "PocketBase",
                page: { ("\"page\":\($0 + 1),\"perPage\":2,\"totalItems\":-1", []) },
                number: item("page", from: 1)
            ),
            AdvisedList(
                name: "Spring",
                page: { ("\"number\":\($0),\"size\":2,\"last\":\($0 == 2)", []) },
                number: item("page")
            ),
            AdvisedList(
                name: "SCIM",
                page: { ("\"startIndex\":\($0 * 2 + 1),\"itemsPerPage\":2", []) },
                number: item("startIndex", from: 1, by: 2)
            ),
            AdvisedList(
                name: "offset and limit",
                page: { ("\"offset\":\($0 * 2),\"limit\":2", []) },
                number: item("offset", by: 2)
            ),
            AdvisedList(
                name: "array of links",
                arguments: ["--next", "body:/nxt"],
                page: { ($0 < 2 ? "\"links\":[{\"rel\":\"next\",\"href\":\"/\($0 + 1)\"}]" : "\"links\":[]", []) },
                number: { Int($0.path.suffix(1)) ?? 0 }
            ),
            AdvisedList(
                name: "Link field",
                arguments: ["--next", "body:/nxt"],
                page: { ("", $0 < 2 ? [ServerField("Link", "</\($0 + 1)>; rel=next")] : []) },
                number: { Int($0.path.suffix(1)) ?? 0 }
            ),
            AdvisedList(
                name: "cursor in a field",
                query: "after",
                page: { ("", $0 < 2 ? [ServerField("X-Next-Cursor", "\($0 + 1)")] : []) },
                number: item("after")
            ),
            AdvisedList(
                name: "GraphQL",
                arguments: ["query=query($after: String) { items }"],
                page: { ("\"pageInfo\":{\"endCursor\":\"c\($0 + 1)\",\"hasNextPage\":\($0 < 2)}", []) },
                number: body("after")
            ),
            AdvisedList(
                name: "DynamoDB",
                arguments: ["TableName=t"],
                page: { ($0 < 2 ? "\"LastEvaluatedKey\":{\"id\":\($0 + 1)}" : "", []) },
                number: body("none")
            ),
            AdvisedList(
                name: "AWS",
                arguments: ["x=y"],
                page: { ($0 < 2 ? "\"NextToken\":\"c\($0 + 1)\"" : "", []) },
                number: body("NextToken")
            ),
            AdvisedList(
                name: "Notion",
                query: "start_cursor",
                arguments: ["x=y"],
                page: { ("\"next_cursor\":\($0 < 2 ? "\"c\($0 + 1)\"" : "null"),\"has_more\":\($0 < 2)", []) },
                number: body("start_cursor")
            ),
            AdvisedList(
                name: "a name for a shell",
                query: "q",
                page: { ($0 < 2 ? "\"$(x) '\":{\"next_id\":\"\($0 + 1)\"}" : "", []) },
                number: item("q")
            ),
        ]
    }

    @Test(
        "finding PG-4 each advice about a list that is not whole, run as it is printed, gives all of it",
        arguments: AdvisedList.all
    )
    func advice(list: AdvisedList) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { request in
            let page = list.number(request)
            guard (0...2).contains(page) else { return .json("{\"items\":[]}") }
            let items = page < 2 ? "\(page * 2),\(page * 2 + 1)" : "4"
            let (members, fields) = list.page(page)
            return .json("{\"items\":[\(items)]\(members.isEmpty ? "" : ",")\(members)}", fields)
        }
        let arguments = ["pages", server.address("/list"), "--items", "/items", "-o", "all"]

        let cut = try await LadeProcess(arguments + list.arguments, in: folder.path).outcome()
        let line = cut.talkLines.last ?? ""
        let options = try #require(
            line.firstMatch(of: /Write (--next .*?)(; QUERY is the [^.,]*)?(, with (--restart))?\./)
        )
        let written = String(options.1).replacing("QUERY", with: list.query) + " " + (options.4 ?? "")
        let words = try ShellWords.words(written).map { String(decoding: $0, as: UTF8.self) }
        let kept = list.arguments.first == "--next" ? [] : list.arguments
        let whole = try await LadeProcess(arguments + kept + words, in: folder.path).outcome()

        #expect(cut.status == 15, "\(cut.talk)")
        // A rule that the page has no place for is a warning of its own.
        #expect(cut.talkLines.count == (list.arguments.first == "--next" ? 4 : 2), "\(cut.talk)")
        #expect(whole.status == 0, "\(words): \(whole.talk)")
        #expect(folder.text("all") == "0\n1\n2\n3\n4\n", "\(words)")
    }

    @Test("finding PG-2 an item that came twice is said, with the rule that helps, which is run")
    func surplus() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { request in
            let start = request.queryItem("startIndex").flatMap { Int($0) } ?? 1
            let items = start <= 5 ? (start...min(start + 1, 5)).map(String.init).joined(separator: ",") : ""
            return .json("{\"totalResults\":5,\"items\":[\(items)]}")
        }
        let arguments = ["pages", server.address("/"), "--items", "/items", "-o", "all"]

        let twice = try await LadeProcess(arguments + ["--next", "offset:startIndex"], in: folder.path).outcome()
        let right = try await LadeProcess(
            arguments + ["--next", "offset:startIndex=1", "--restart"],
            in: folder.path
        ).outcome()

        #expect(twice.status == 0)
        #expect(twice.talk.contains("6 items came, more than the 5 that are announced"), "\(twice.talk)")
        #expect(twice.talk.contains("Write --next offset:startIndex=1, with --restart."), "\(twice.talk)")
        #expect(right.status == 0)
        #expect(right.talk == "")
        #expect(folder.text("all") == "1\n2\n3\n4\n5\n")
    }

    @Test("finding PG-4 a rule is spelled as it is read, whatever its names are")
    func spelledRules() throws {
        let places: [Pages.Rule.Place] = [.body(["a", "b/c~"]), .header("X-A"), .header("X-A", ["n"])]
        let targets: [Pages.Rule.CursorTarget] = [.query("q"), .header("X-B"), .body(["v", "after"])]
        let cursors = places.flatMap { place in targets.map { Pages.Rule.cursor(place, to: $0) } }
        let others: [Pages.Rule] = [
            .link(relation: "next"), .link(relation: "older"), .body(["n", "x"]), .header("Next-Page"),
            .pageNumber(query: "p"), .pageNumber(query: "p", first: 0), .offset(query: "o"),
            .offset(query: "o", first: 1),
        ]
        for rule in cursors + others + places.map(Pages.Rule.queryItems) {
            #expect(try PagingSettings.rule(PagingSettings.spelling(of: rule)) == rule)
        }
    }
}
