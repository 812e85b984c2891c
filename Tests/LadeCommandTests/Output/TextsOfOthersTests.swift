import Foundation
import Lade
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

@testable import LadeCatalogue
@testable import LadeCommand

/// Hostile texts in every member name and value of what the command shows.
@Suite("Texts of others", .timeLimit(.minutes(5)))
struct TextsOfOthersTests {
    /// Every control character, every separator of lines, every bidirectional control, and marks without a base.
    static let hostile: String = {
        let controls = (0...0x1F).map { $0 } + (0x7F...0x9F).map { $0 }
        let directions = [0x061C, 0x200E, 0x200F] + (0x2028...0x202E).map { $0 } + (0x2066...0x2069).map { $0 }
        let scalars = (controls + directions).compactMap { Unicode.Scalar(UInt32($0)) }
        let text = scalars.reduce(into: "") { $0.unicodeScalars.append($1) }
        return "a" + text + "\u{1B}[2J\u{1B}]0;x\u{7}\r\nlade: forged\n\tcell\u{301}"
    }()

    /// The bytes below 0x20 and 0x7F, and C1 as UTF-8, that a text has; and its lines.
    private static func controls(_ text: String, allowing: [Unicode.Scalar]) -> [Unicode.Scalar] {
        text.unicodeScalars.filter { $0.rewritesDisplay && !allowing.contains($0) }
    }

    private func shown(laysOut: Bool, _ print: (inout CataloguePrinter) throws -> Void) throws -> String {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var console = Console()
        console.output = try Descriptor.open(folder.path + "out", O_WRONLY | O_CREAT)
        (console.laysOut, console.usesColour) = (laysOut, false)
        var printer = CataloguePrinter(console)
        try print(&printer)
        try console.output.close()
        return folder.text("out") ?? ""
    }

    @Test(
        "finding HF-3 no value of a table controls the terminal or adds a line or a column",
        arguments: [true, false]
    )
    func tables(laysOut: Bool) throws {
        let quoted = JSONQuoting.string(Self.hostile)
        let names = [
            "title", "urn", "date", "duration", "lead", "id", "transmission", "numberOfEpisodes", "startTime",
            "mediaUrn",
            "publishStartTimestamp", "publishedDate", "sectionType",
        ]
        let members = names.map { "\"\($0)\":\(quoted)" }
        let nested = ["show", "channel", "artist", "representation"].map {
            "\"\($0)\":{\"title\":\(quoted),\"name\":\(quoted),\"properties\":{\"title\":\(quoted)}}"
        }
        let item = "{" + (members + nested).joined(separator: ",") + "}"
        for key in CatalogueResponse.listKeys {
            let list =
                key == "programGuide"
                ? "[{\"channel\":\(item),\"programList\":[\(item),\(item)]}]" : "[\(item),\(item)]"
            let response = try CatalogueResponse(Data("{\"\(key)\":\(list)}".utf8))
            let text = try shown(laysOut: laysOut) { printer in
                for table in CatalogueTable.tables(of: response) { try printer.print(table) }
            }
            #expect(Self.controls(text, allowing: laysOut ? ["\n"] : ["\n", "\t"]) == [], "\(key)")
            #expect(text.utf8.count { $0 == 0x0A } == (laysOut ? 3 : 2), "\(key)")
            if !laysOut {
                let tabs = text.utf8.split(separator: 0x0A).map { $0.count { $0 == 0x09 } }
                #expect(Set(tabs).count == 1 && tabs[0] < 6, "\(key)")
            }
        }
    }

    @Test("finding HF-3 no name or value of an object controls the terminal", arguments: [true, false])
    func objects(laysOut: Bool) throws {
        let quoted = JSONQuoting.string(Self.hostile)
        let json = "{\"title\":\(quoted),\(quoted):\(quoted),\"x\":{\"title\":\(quoted),\"urn\":\(quoted)}}"
        let response = try CatalogueResponse(Data(json.utf8))
        let text = try shown(laysOut: laysOut) { printer in
            for table in CatalogueTable.tables(of: response) { try printer.print(table) }
        }
        #expect(Self.controls(text, allowing: laysOut ? ["\n"] : ["\n", "\t"]) == [])
        #expect(text.utf8.count { $0 == 0x0A } == (laysOut ? 4 : 3))
    }

    @Test(
        "finding HF-3 no name of an image and no address of a stream controls the terminal",
        arguments: [true, false]
    )
    func links(laysOut: Bool) throws {
        let name = JSONQuoting.string(Self.hostile + "ImageUrl")
        let quoted = JSONQuoting.string(Self.hostile)
        let item = "{\"title\":\(quoted),\"urn\":\(quoted),\(name):\"https://h.example/a.jpg\"}"
        let response = try CatalogueResponse(Data("{\"mediaList\":[\(item)]}".utf8))
        let images = CatalogueTable.images(of: response, try Catalogue(), .width480)
        #expect(images.count == 1)
        let link = CatalogueTable.Link(label: Self.hostile, address: Self.hostile)
        let item2 = CatalogueTable.LinkedItem(title: Self.hostile, name: Self.hostile, links: [link])

        let text = try shown(laysOut: laysOut) { try $0.print(images + [item2]) }

        #expect(Self.controls(text, allowing: laysOut ? ["\n"] : ["\n", "\t"]) == [])
        #expect(text.utf8.count { $0 == 0x0A } == (laysOut ? 4 : 2))
    }

    @Test("finding HF-3 lade catalogue --images shows no escape of a member's name")
    func program() async throws {
        let name = JSONQuoting.string(Self.hostile + "ImageUrl")
        let json = "{\"mediaList\":[{\"title\":\"t\",\"urn\":\"urn:rts:video:1\",\(name):\"https://h.example/a.jpg\"}]}"
        let server = try LoopbackServer { _ in .json(json) }
        for sink in [LadeProcess.Output.pipe, .terminal] {
            let arguments = [
                "catalogue", "--base", server.address(""), "tvLatestEpisodes", "--unit", "rts", "--images", "480",
            ]
            let outcome = try await LadeProcess(arguments + ["--color", "never"], to: sink).outcome()
            #expect(outcome.status == 0, "\(outcome.talk)")
            #expect(Self.controls(outcome.output, allowing: ["\n", "\t", "\r"]) == [])
            #expect(!outcome.output.contains("\nlade: forged"))
        }
    }

    @Test("finding HF-3 an event is one line of printable characters, whatever a server sent")
    func events() {
        let text = Self.hostile
        var metrics = Response.Metrics()
        (metrics.remoteAddress, metrics.contentEncoding) = (text, text)
        var context = LoadingError.Context()
        context.detail = text
        let error = LoadingError(.transport(code: 1, message: text), context)
        let events: [Call.Event] = [
            .callStarted(method: .get, url: text), .exchangeStarted(method: .get, url: text),
            .waitStarted(.connection(host: text)), .waitEnded(.gate(key: text), after: .seconds(1)),
            .exchangeFinished(metrics), .exchangeFailed(error, metrics), .certificateCheckSkipped(host: text),
            .redirectFollowed(status: 302, from: text, to: text, method: .get),
            .gateClosed(key: text, for: .seconds(1), status: 503), .rateAdjusted(key: text, perSecond: 1),
            .hostChosen(host: text, address: text),
            .hostMarked(host: text, address: text, reason: text, for: .seconds(1)),
            .hostRecovered(host: text, address: text), .refreshStarted(authoriser: text),
            .refreshTaken(authoriser: text), .refreshInDoubt(authoriser: text),
            .refreshFinished(authoriser: text, after: .seconds(1)), .refreshFailed(authoriser: text, error),
            .requestReplayed(authoriser: text), .callFailed(error),
        ]
        for event in events {
            let line = EventRecord(event).line(at: .zero, of: Call())
            #expect(Self.controls(line, allowing: ["\n"]) == [], "\(event)")
            #expect(line.utf8.count { $0 == 0x0A } == 1, "\(event)")
            #expect(JSONValue.isValid(line), "\(event)")
        }
    }

    @Test("finding HF-3 errors, messages and the progress are lines of printable characters")
    func messages() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let log = LineLog(try Descriptor.open(folder.path + "talk", O_WRONLY | O_CREAT))
        let error = CommandError(what: Self.hostile, advice: Self.hostile, code: .network)
        #expect(Self.controls(error.lines, allowing: ["\n"]) == [])
        #expect(error.lines.utf8.count { $0 == 0x0A } == 2)

        log.say(Self.hostile)
        log.show(Self.hostile, in: 400)
        log.show(Self.hostile, in: 20)
        log.flush()

        let text = folder.text("talk") ?? ""
        let plain = text.replacing("\u{1B}[K", with: "").unicodeScalars.filter { $0 != "\r" }
        #expect(plain.filter { $0.rewritesDisplay && $0 != "\n" }.isEmpty)
        #expect(plain.count { $0 == "\n" } == 1)
        let last = text.parts(at: "\r").last.map { String($0).replacing("\u{1B}[K", with: "") } ?? ""
        #expect(last.columnCount == 19)
    }

    @Test("finding CF-31 the progress fits a terminal of any width", arguments: [0, 1, 2, 10, 29, 30, 80])
    func progress(columns: Int) throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let log = LineLog(try Descriptor.open(folder.path + "talk", O_WRONLY | O_CREAT))
        let line = ProgressLine(log, total: 123_456_789, verb: "sent ").text(at: SystemTime().now)

        log.show(line, in: columns)
        log.flush()

        let text = (folder.text("talk") ?? "").replacing("\u{1B}[K", with: "").replacing("\r", with: "")
        #expect(text.columnCount <= max(0, columns - 1))
    }

    @Test("finding HF-6 a table is cut to what can be shown before it is padded")
    func longNumbers() throws {
        let long = "{\"title\":\"t\",\"numberOfEpisodes\":\(String(repeating: "9", count: 100_000))}"
        let items = [long] + Array(repeating: "{\"title\":\"t\",\"numberOfEpisodes\":1}", count: 2_999)
        let response = try CatalogueResponse(Data("{\"showList\":[\(items.joined(separator: ","))]}".utf8))

        let text = try shown(laysOut: true) { printer in
            for table in CatalogueTable.tables(of: response) {
                #expect(table.rows.count <= CatalogueTable.mostRows)
                #expect(table.rows.allSatisfy { $0.allSatisfy { $0.unicodeScalars.count <= TextTable.cellLimit + 1 } })
                try printer.print(table)
            }
        }

        #expect(text.utf8.count { $0 == 0x0A } == 3_001)
        #expect(text.utf8.count < 3_001 * (TextTable.mostWidth + 20))
    }
}
