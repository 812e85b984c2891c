import Foundation
import LadeConformance
import LadeTesting
import SharedDoubles
import Testing

/// The whole programs of the articles, built as snippets and run with a loopback server.
@Suite("Programs of the articles", .timeLimit(.minutes(5)))
struct ProgramTests {
    private static let folder: String = {
        #if os(Linux)
            let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        #else
            let bundle = Bundle.main.bundlePath
        #endif
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path
    }()

    /// A build of a part of the package may leave the snippets out.
    private static let arePrograms = FileManager.default.isExecutableFile(atPath: folder + "/ControlC")

    /// Runs a program to its end; returns its status and its lines, with those of its errors.
    private func run(_ name: String, _ arguments: [String]) async throws -> (status: Int32, lines: [String]) {
        let output = Pipe()
        let process = try ChildProcess(
            Self.folder + "/" + name,
            arguments,
            output: output.fileHandleForWriting.fileDescriptor,
            error: output.fileHandleForWriting.fileDescriptor
        )
        try output.fileHandleForWriting.close()
        // The program ends by itself, and closes the pipe with it.
        let text = await Task.detached { output.fileHandleForReading.readDataToEndOfFile() }.value
        let status = try await process.ended()
        return (status, String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    /// A server with what the programs ask for.
    private static func server(_ options: LoopbackServer.Options = .init()) throws -> LoopbackServer {
        let sessions = Counter()
        let orders = Counter()
        let feeds = Counter()
        let downloads = Counter()
        let large = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        return try LoopbackServer(options) { request in
            switch request.path {
            case "/shows": return .json(#"{"show_id": 7, "show_title": "Sea"}"#, status: 201)
            case "/session": return .json(#"{"token": "t\#(sessions.next())", "lifetime": 3600}"#)
            case "/private":
                // The first token is refused once it was used.
                return request["Authorization"] == "Bearer t2" ? .text("private") : .status(401)
            case "/large.bin":
                let etag = ServerField("ETag", "\"1\"")
                if let range = request["Range"], let start = Int(range.dropFirst(6).dropLast()) {
                    let part = large.dropFirst(start)
                    let field = ServerField("Content-Range", "bytes \(start)-\(large.count - 1)/\(large.count)")
                    return .bytes(Data(part), status: 206, [etag, field])
                }
                guard downloads.next() == 1 else { return .bytes(large, [etag]) }
                // The first response is cut off.
                let length = ServerField("Content-Length", "\(large.count)")
                return ServerResponse(fields: [etag, length], body: .raw { try $0.send(large.prefix(40_000)) })
            case "/covers":
                let isForm = request["Content-Type"]?.hasPrefix("multipart/form-data") == true
                return .text(isForm && request.text.contains("a cover") ? "received" : "no form")
            case "/by-link":
                let page = Int(request.queryItem("page") ?? "1") ?? 1
                let link = page < 3 ? [ServerField("Link", "</by-link?page=\(page + 1)>; rel=\"next\"")] : []
                return .json(#"{"items": [\#(page * 2 - 1), \#(page * 2)]}"#, link)
            case "/by-number":
                let page = Int(request.queryItem("page") ?? "1") ?? 1
                return .json(page <= 3 ? #"{"items": [\#(page * 2 - 1), \#(page * 2)]}"# : #"{"items": []}"#)
            case "/by-cursor":
                let page = Int(request.queryItem("cursor") ?? "1") ?? 1
                let next = page < 3 ? "\"\(page + 1)\"" : "null"
                return .json(#"{"items": [\#(page * 2 - 1), \#(page * 2)], "next_cursor": \#(next)}"#)
            case "/orders":
                guard orders.next() > 2 else { return .status(503) }
                return .text(request["Idempotency-Key"] == nil ? "no key" : "ordered once")
            case "/feed":
                let number = feeds.next()
                return .bytes(
                    Data("retry: 100\ndata: \(number)a\n\ndata: \(number)b\n\n".utf8),
                    [ServerField("Content-Type", "text/event-stream")]
                )
            case "/missing": return .status(404)
            case "/films/1":
                let isFilm = request.method == "PUT" && request["Content-Type"] == "video/mp4"
                return .text(isFilm ? "received \(request.bodyLength) bytes" : "no film")
            case "/list": return .json(#"{"items": [{"title": "Sea", "year": 2026, "rating": 4.5, "isNew": true}]}"#)
            case "/echo": return .json(request.text, status: 201)
            case "/signed": return .text(request["X-Signature"] == nil ? "unsigned" : "signed")
            case "/endless": return .stream { try $0.stall() }
            default:
                // As a proxy receives it, too.
                if request.target.hasPrefix("http://"), request["Proxy-Authorization"] != "Basic YW5uOnNlY3JldA==" {
                    return .status(407, [ServerField("Proxy-Authenticate", "Basic realm=\"p\"")])
                }
                return .json(#"{"title": "Sea"}"#)
            }
        }
    }

    /// A program, the words that find its article, and the lines that it prints.
    private static let programs: [(name: String, lines: [String])] = [
        ("SnakeCase", ["7 Sea"]),
        ("ResponseText", ["200 application/json", #"{"title": "Sea"}"#, "Sea"]),
        ("RefreshedToken", ["private", "private"]),
        ("ResumedDownload", ["complete", "100000 bytes"]),
        ("MultipartUpload", ["sent", "received"]),
        (
            "KindsOfPages",
            [
                "/by-link [1, 2, 3, 4, 5, 6]", "/by-number?page=1 [1, 2, 3, 4, 5, 6]", "/by-cursor [1, 2, 3, 4, 5, 6]",
            ]
        ),
        ("HarvestRules", ["6 items in 3 pages", "6 lines"]),
        (
            "TypedErrors",
            ["function: none", "task: none", "group: 404 This could not be found", "program: Sea", "beside: none"]
        ),
        ("FileUpload", ["sent", "received 200000 bytes"]),
        ("JSONValues", ["Sea", "2026", #"["isNew", "rating", "title", "year"] 4.5 true"#, "true"]),
        ("TwoLimits", ["4 searches took at least 150 ms: true", "5 other calls took at least 80 ms: true"]),
        ("LimitPerHost", ["6 requests took at least 100 ms: true"]),
        ("SafeRetries", ["ordered once"]),
        ("FailOver", ["200"]),
        ("EventFeed", ["message 1a", "message 1b", "message 2a"]),
        ("SignedRequests", ["signed"]),
        ("ProxyCredentials", [#"{"title": "Sea"}"#]),
        ("ListModel", ["[1, 2]", "[1, 2, 3, 4]", "[1, 2, 3, 4, 5, 6]"]),
        (
            "ModelInATest",
            ["loading: true", #"loaded: ["Sea"]"#, "failed: This could not be found", #"still there: ["Sea"]"#]
        ),
        ("ScriptedResponses", ["503 200 2"]),
        (
            "VirtualFlow",
            [
                #"["Sea"] after the 30 s: true"#, #"["POST /session", "GET /shows", "GET /shows"]"#, "3 exchanges",
            ]
        ),
    ]

    @Test(
        "finding UF-5 the program of each task prints what its article says",
        .enabled(if: arePrograms),
        arguments: programs.indices
    )
    func output(index: Int) async throws {
        let (name, lines) = Self.programs[index]
        let server = try Self.server()

        let (status, printed) = try await run(name, [server.address("")])

        #expect(printed == lines, "\(name)")
        #expect(status == 0, "\(name)")
    }

    /// Words that a reader looks for, and the article that has them.
    private static let searches: [(words: String, article: String)] = [
        ("api decoder", "TypedPost"), ("snake case", "TypedPost"), ("typed post", "TypedPost"),
        ("harvest.rules", "HarvestRules"), ("client identity", "ClientCertificates"),
        ("client certificate", "ClientCertificates"), ("proxy credentials", "ProxiesWithCredentials"),
        ("unix sockets", "UnixSockets"), ("reading a request's body", "SigningRequests"), ("keyrule", "LimitingRates"),
        ("record(_:of:)", "LoggingCalls"), ("story", "VirtualTimeInTests"), ("virtual time", "VirtualTimeInTests"),
        ("test waits model", "WaitingForModels"), ("ctrl-c", "EndingOnControlC"),
        ("server-sent events", "ServerSentEvents"), ("refresh token", "RefreshingTokens"),
        ("resume download", "ResumingDownloads"), ("multipart", "UploadingForms"),
        ("cursor pages", "ThreeKindsOfPages"),
        ("retry idempotency-key", "RetryingSafely"), ("second address dead", "FailingOver"),
        ("do throws", "CatchingErrors"), ("catch error kind", "CatchingErrors"), ("any error", "CatchingErrors"),
        ("upload file", "UploadingFiles"), ("file body progress", "UploadingFiles"), ("priority", "SettingPriorities"),
        ("certificate pinning", "PinningKeys"), ("pins", "PinningKeys"), ("jsonvalue", "ReadingJSONValues"),
        ("json pointer", "ReadingJSONValues"), ("times of a call", "MeasuringCalls"), ("metrics", "MeasuringCalls"),
        ("two limits", "LimitingTwice"), ("furtherkeys", "LimitingTwice"), ("list model view", "ListsForViews"),
        ("response text json", "ReadingResponses"),
        ("openapi generator client", "../Ecosystem"), ("swift-log logger", "../Ecosystem"),
        ("opentelemetry metrics", "../Ecosystem"), ("spans distributed tracing", "../Ecosystem"),
        ("http types httprequest", "../Ecosystem"), ("traceparent service", "../Ecosystem"),
    ]

    @Test("finding UF-5 the words of a task find its article", arguments: searches.indices)
    func search(index: Int) throws {
        let (words, article) = Self.searches[index]
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Documentation/Tasks")
        let text = try String(contentsOf: root.appending(path: article + ".md"), encoding: .utf8).lowercased()

        // As the search of the site does it: all words occur, each as a part of the text.
        for word in words.split(separator: " ") { #expect(text.contains(word), "\(word)") }
    }

    @Test("finding UF-5 a log has a line for the call, and a sink of its own its events", .enabled(if: arePrograms))
    func logging() async throws {
        let server = try Self.server()
        let (status, lines) = try await run("LogLines", ["http://\(server.authority)"])

        #expect(lines.count == 2 && lines.first?.contains("GET http://") == true && lines.last == "1 exchange")
        #expect(status == 0)
    }

    @Test("the calls of a program arrive in the order of their priority", .enabled(if: arePrograms))
    func priorities() async throws {
        let server = try Self.server()
        let (status, lines) = try await run("Priorities", [server.address("")])

        #expect(server.requests.map(\.target) == ["/shows/high", "/shows/normal", "/shows/low"])
        #expect(lines == ["all loaded"] && status == 0)
    }

    @Test("a program prints the times of a call in a line", .enabled(if: arePrograms))
    func times() async throws {
        let server = try Self.server()
        let (status, lines) = try await run("CallTimes", [server.address("")])

        #expect(lines.first?.wholeMatch(of: /connected \d+ ms, first byte \d+ ms, end \d+ ms/) != nil)
        #expect(lines.count == 2 && lines.last?.contains("the program itself") == true && status == 0)
    }

    @Test("finding UF-5 a program asks a server on a Unix socket", .enabled(if: arePrograms))
    func unixSocket() async throws {
        let path = NSTemporaryDirectory() + "lade-\(UUID().uuidString.prefix(8)).sock"
        var options = LoopbackServer.Options()
        options.address = .unixSocket(path: path)
        let server = try Self.server(options)

        let (status, lines) = try await run("UnixSocket", [path])

        #expect(lines == [#"{"title": "Sea"}"#] && status == 0)
        server.stop()
    }

    /// The arguments that peers give; without peers the test is cancelled.
    private static func fromPeers(_ arguments: (ConformancePeers) throws -> [String]) throws -> [String] {
        do {
            return try arguments(ConformancePeers.fromEnvironment())
        } catch {
            if ProcessInfo.processInfo.environment["CI"] == "true" { Issue.record("\(error)") }
            try Test.cancel("\(error)")
        }
    }

    @Test("finding UF-5 a program shows its certificate to a server that requires one", .enabled(if: arePrograms))
    func clientIdentity() async throws {
        let arguments = try Self.fromPeers { peers in
            [
                "https://127.0.0.1:\(try peers.port("tlsClientCertificate"))/", try peers.text("ca"),
                try peers.text("clientCertificate"), try peers.text("clientKey"),
            ]
        }

        let (status, lines) = try await run("ClientIdentity", arguments)

        #expect(lines == ["200"] && status == 0)
    }

    @Test(
        "a program accepts a server with the pinned key alone",
        .enabled(if: arePrograms),
        arguments: [("serverPin", "200"), ("backupPin", "another key: localhost")]
    )
    func pinnedKeys(pin: String, line: String) async throws {
        let arguments = try Self.fromPeers { peers in
            ["https://localhost:\(try peers.port("nginxTLS"))/small.json", try peers.text("ca"), try peers.text(pin)]
        }

        let (status, lines) = try await run("PinnedKeys", arguments)

        #expect(lines == [line] && status == 0)
    }

    @Test("finding UF-5 a program ends on Ctrl-C with 130, and keeps what it has", .enabled(if: arePrograms))
    func controlC() async throws {
        let server = try Self.server()
        let output = Pipe()
        let process = try ChildProcess(
            Self.folder + "/ControlC",
            ["http://\(server.authority)"],
            output: output.fileHandleForWriting.fileDescriptor
        )
        try output.fileHandleForWriting.close()
        _ = try await server.request(at: 0)

        process.send(SIGINT)

        #expect(try await process.ended() == 130)
        let text = await Task.detached { output.fileHandleForReading.readDataToEndOfFile() }.value
        #expect(String(decoding: text, as: UTF8.self) == "press Ctrl-C\ncancelled; the next run continues\n")
    }
}

/// Counts from 1.
private final class Counter: Sendable {
    private let number = Watched(0)

    func next() -> Int {
        number.change { number in
            number += 1
            return number
        }
    }
}
