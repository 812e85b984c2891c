import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade
@testable import LadeCommand

/// How a response of the server breaks.
enum BodyBreak: Sendable, CaseIterable {
    case close, reset, silence

    func end(_ connection: ServerConnection) throws {
        switch self {
        case .close: try connection.close()
        case .reset: try connection.reset()
        case .silence: try connection.stall()
        }
    }
}

/// What a run in this process left behind.
struct ResumeOutcome {
    var code: ExitCode
    var lines: String
    var output: Data
    var file: Data?
    var story: String
    var events: [String]
    var names: [String]
}

/// What the tests of broken bodies have in common.
protocol GetResumeSuite: Sendable {}

/// More than what a connection keeps in its buffers, so that what has arrived differs from what was sent.
private let fileContent = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 7) })

extension GetResumeSuite {
    /// What the server has.
    static var content: Data { fileContent }
    static var tag: ServerField { ServerField("ETag", "\"1\"") }

    /// Whether these are the same bytes; a plain comparison that fails would spend minutes on describing the difference.
    static func same(_ bytes: Data?, _ expected: Data) -> Bool { bytes == expected }

    /// Runs a command in this process, on the real transport, without pauses between attempts.
    ///
    /// - Parameters:
    ///   - arguments: The arguments; a `FILE` among them is a file of its own.
    ///   - command: The command.
    /// - Returns: What the run left behind.
    /// - Throws: What the test cannot do without.
    func run(_ arguments: String..., command: String = "get") async throws -> ResumeOutcome {
        let folder = try TemporaryFolder()
        let aside = try TemporaryFolder()
        defer {
            folder.remove()
            aside.remove()
        }
        var console = Console()
        console.output = try Descriptor.open(aside.file("out", ""), O_WRONLY)
        console.isOutputTerminal = false
        console.isTalkTerminal = false
        console.talk = LineLog(try Descriptor.open(aside.file("talk", ""), O_WRONLY))
        var context = CommandContext(table: .standard, console: console, interruption: Interruption())
        context.makeService = { settings throws(LoadingError) in
            var settings = settings
            settings.retries.backoff = .none
            return try Service(settings)
        }
        let events = aside.file("events")
        let arguments =
            [command, "--events", events] + (command == "get" ? ["-v"] : [])
            + arguments.map { $0 == "FILE" ? folder.path + "file" : $0 }
        var outcome = ResumeOutcome(code: .success, lines: "", output: Data(), story: "", events: [], names: [])
        do throws(CommandError) {
            outcome.code = try await context.table.run(arguments, in: context)
        } catch {
            outcome.code = error.code
            outcome.lines = error.lines
        }
        console.talk.flush()
        outcome.output = FileManager.default.contents(atPath: aside.file("out")) ?? Data()
        outcome.file = FileManager.default.contents(atPath: folder.path + "file")
        outcome.names = folder.names
        outcome.story = aside.text("talk") ?? ""
        outcome.events = try (aside.text("events") ?? "").split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["event"] as? String ?? ""
        }
        return outcome
    }

    // MARK: - The server

    /// A server whose answer to each request depends on the number of the request, from 0 on.
    func server(
        _ answer: @escaping @Sendable (ServerRequest, Int) -> ServerResponse
    ) throws -> LoopbackServer {
        let count = Locked(0)
        return try LoopbackServer { request in
            let number = count.withLock { count in
                defer { count += 1 }
                return count
            }
            return answer(request, number)
        }
    }

    /// A response with all of `bytes`, or with their beginning alone.
    static func whole(
        _ bytes: Data = fileContent,
        _ fields: [ServerField] = [ServerField("ETag", "\"1\"")],
        status: Int = 200,
        upTo count: Int? = nil,
        _ end: BodyBreak = .close
    ) -> ServerResponse {
        guard let count else { return .bytes(bytes, status: status, fields) }
        let length = ServerField("Content-Length", String(bytes.count))
        return ServerResponse(
            status: status,
            fields: fields + [length],
            body: .raw { connection in
                try connection.send(bytes.prefix(count))
                try end.end(connection)
            }
        )
    }

    /// A response with what the request's `Range` asks for, or with the beginning of that alone.
    static func rest(
        of request: ServerRequest,
        upTo count: Int? = nil,
        _ end: BodyBreak = .close
    ) -> ServerResponse {
        guard let range = request["Range"], let first = Int(range.dropFirst("bytes=".count).dropLast()),
            request["If-Range"] == tag.value, first < content.count
        else { return whole(upTo: count, end) }
        let field = ServerField("Content-Range", "bytes \(first)-\(content.count - 1)/\(content.count)")
        return whole(content[first...], [tag, field], status: 206, upTo: count, end)
    }

    static func ranges(_ server: LoopbackServer) -> [String?] { server.requests.map { $0["Range"] } }

    /// Answers to “bytes=70000-” that are not what was asked for.
    static var misfits: [(status: Int, fields: [ServerField])] {
        [
            (416, []),
            (416, [ServerField("Content-Range", "bytes */300000")]),
            (206, []),
            (206, [tag, ServerField("Content-Range", "bytes 69999-299999/300000")]),
            (206, [tag, ServerField("Content-Range", "bytes 70001-299999/300000")]),
            (206, [tag, ServerField("Content-Range", "bytes 0-299999/300000")]),
            (206, [tag, ServerField("Content-Range", "bytes 70000-299999/299999")]),
            (206, [tag, ServerField("Content-Range", "bytes 70000-299998/299999")]),
            (206, [tag, ServerField("Content-Range", "bytes 70000-299999/*")]),
            (206, [tag, ServerField("Content-Range", "bytes 70000-299998/300000")]),
            (206, [ServerField("ETag", "\"2\""), ServerField("Content-Range", "bytes 70000-299999/300000")]),
            (206, [tag, ServerField("Content-Type", "multipart/byteranges; boundary=x")]),
        ]
    }
}
