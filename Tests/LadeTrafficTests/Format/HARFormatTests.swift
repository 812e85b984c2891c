import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeTraffic

@Suite("the format of recordings", .timeLimit(.minutes(5)))
struct HARFormatTests {
    static func entry(_ url: String = "https://svc.example.com/a", status: Int = 200) -> HAREntry {
        var response = HAREntry.Response(status: status)
        response.content = HAREntry.Content(Data("[]".utf8), type: "application/json")
        response.version = "HTTP/2"
        var entry = HAREntry(
            started: Date(timeIntervalSince1970: 1_767_225_600.25),
            request: HAREntry.Request(method: "GET", url: url),
            response: response
        )
        entry.request.version = "HTTP/2"
        entry.timings.wait = .milliseconds(12)
        entry.timings.receive = .microseconds(345)
        entry.time = entry.timings.sum
        entry.facts.call = 1
        return entry
    }

    static func document(_ entries: [String], version: String = "1.2") -> Data {
        Data(
            (#"{"log":{"version":"\#(version)","creator":{"name":"x","version":"1"},"entries":["#
                + entries.joined(separator: ",") + "]}}").utf8
        )
    }

    static var json: String { String(decoding: entry().json, as: UTF8.self) }

    private func read(_ document: Data, isLenient: Bool = false) throws -> ([HAREntry], HARReader.Summary) {
        var entries: [HAREntry] = []
        let summary = try HARReader(isLenient: isLenient).read(document) { _, entry in entries.append(entry) }
        return (entries, summary)
    }

    private func fault(_ document: Data) -> HARFault? {
        do { _ = try read(document) } catch let fault as HARFault { return fault } catch {}
        return nil
    }

    @Test("traffic HT-20 reads what it writes")
    func roundTrip() throws {
        var entry = Self.entry("https://svc.example.com/a?b=%20c&d=e")
        entry.request.headers = [.init("Accept", "*/*"), .init("X", "\u{202E}\u{7F}\"\\\n\u{85}é😀")]
        entry.request.content = .init(Data("a=b".utf8), type: "text/plain")
        entry.response.headers = [.init("Content-Type", "application/json")]
        entry.timings.blocked = .milliseconds(3)
        entry.facts.waits = [.init("the rate limit of x", .milliseconds(3))]
        entry.facts.fault = .init(kind: "timedOut", detail: "idle", sentence: "It took long.")
        entry.time = entry.timings.sum
        let read = try HAREntry(try JSONValue(parsing: entry.json))
        #expect(read == entry)
        #expect(!String(decoding: entry.json, as: UTF8.self).contains("\u{202E}"))
    }

    @Test(
        "traffic HT-21 names the entry and the member of a fault",
        arguments: [
            (#""method":"GET""#, #""method":"G T""#, "request.method"),
            (#""method":"GET""#, #""verb":"GET""#, "request.method"),
            ("https://svc.example.com/a", "http:///a", "request.url"),
            ("https://svc.example.com/a", "/a", "request.url"),
            (#""status":200"#, #""status":42"#, "response.status"),
            (#""status":200"#, #""status":"200""#, "response.status"),
            (#""startedDateTime":"2026"#, #""startedDateTime":"x026"#, "startedDateTime"),
            (#""wait":12"#, #""wait":-12"#, "timings.wait"),
            (#""wait":12"#, #""wait":1e300"#, "timings.wait"),
            (#""wait":12,"#, "", "timings.wait"),
            (#""text":"[]""#, #""text":"*","encoding":"base64""#, "response.content.text"),
            (#""timings":{"#, #""timings":[],"x":{"#, "timings"),
            (#""headersSize":-1"#, #""headersSize":-7"#, "request.headersSize"),
        ]
    )
    func faults(_ old: String, _ new: String, _ member: String) throws {
        let wrong = Self.json.replacingOccurrences(of: old, with: new)
        #expect(wrong != Self.json)
        let fault = fault(Self.document([Self.json, wrong]))
        #expect(fault?.entry == 2)
        #expect(fault?.member == member)
    }

    @Test("traffic HT-22 uses the rest of a faulty recording where it is lenient, and lists the faults")
    func lenient() throws {
        let wrong = Self.json.replacingOccurrences(of: #""method":"GET""#, with: #""method":"G T""#)
        let odd = Self.json.replacingOccurrences(of: #""wait":12"#, with: #""wait":-12"#)
        let (entries, summary) = try read(Self.document([wrong, odd, Self.json]), isLenient: true)
        #expect(entries.count == 2)
        #expect(summary.faults.map(\.entry) == [1])
        #expect(entries.first?.timings.wait == .zero)
    }

    @Test("traffic HT-23 names the place at which a file is cut, and reads what is before it where it is lenient")
    func cut() throws {
        let whole = Self.document([Self.json, Self.json])
        for length in stride(from: 0, to: whole.count, by: 97) {
            let (entries, summary) = try read(whole.prefix(length), isLenient: true)
            #expect(entries.count <= 2)
            #expect(!summary.isComplete)
            #expect(fault(whole.prefix(length)) != nil)
        }
    }

    @Test("traffic HT-24 refuses a version that it does not know, and a document without entries")
    func versions() throws {
        #expect(fault(Self.document([], version: "2.0"))?.member == "log.version")
        #expect(fault(Data("{}".utf8))?.member == "log.entries")
        #expect(fault(Data(#"{"log":{"version":"1.2","entries":{}}}"#.utf8))?.member == "log.entries")
        #expect(fault(Self.document([])) == nil)
    }

    @Test("traffic HT-25 refuses an entry above the limit of size, and deep nesting")
    func limits() throws {
        var reader = HARReader()
        reader.entryLimit = 1_000
        let long = Self.json.replacingOccurrences(of: "[]", with: String(repeating: "x", count: 2_000))
        let refused = #expect(throws: HARFault.self) {
            try reader.read(Self.document([Self.json, long])) { _, _ in }
        }
        #expect(refused?.entry == 2)
        let deep = String(repeating: "[", count: 5_000)
        #expect(fault(Data(deep.utf8)) != nil)
    }

    @Test("traffic HT-26 reads random bytes and changed recordings without a crash")
    func hostile() {
        let whole = Array(Self.document([Self.json, Self.json]))
        let random = SeededRandom(seed: 43)
        for _ in 0..<400 {
            var bytes = whole
            for _ in 0..<4 {
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            _ = try? read(Data(bytes))
            _ = try? read(Data(bytes), isLenient: true)
        }
    }

    @Test("traffic HT-27 leaves a valid file after each entry, for its owner alone")
    func fileIsValid() throws {
        let folder = try TemporaryFolder()
        _ = try folder.file("a.har", "something else, and longer than the head of a recording; it is replaced")
        let file = try HARFile(folder.file("a.har"))
        for count in 0..<5 {
            #expect(try HARReader().entries(of: folder.file("a.har")).count == count)
            file.add(Self.entry())
        }
        try file.flush()
        #expect(try folder.mode("a.har") == 0o600)
    }

    @Test("traffic HT-28 completes a file that was left at any byte of an entry")
    func repairs() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.har")
        let file = try HARFile(path)
        for _ in 0..<3 { file.add(Self.entry()) }
        let whole = try Data(contentsOf: URL(filePath: path))
        let head = try #require(whole.firstRange(of: Data("[\n".utf8))).upperBound
        for length in stride(from: head, to: whole.count - 4, by: 61) {
            try whole.prefix(length).write(to: URL(filePath: path))
            let repair = try HARFile.repair(path)
            #expect(repair.wasDamaged)
            #expect(try HARReader().entries(of: path).count == repair.kept)
            #expect(try folder.mode("a.har") == 0o600)
        }
        try whole.write(to: URL(filePath: path))
        #expect(try HARFile.repair(path) == HARFile.Repair(kept: 3, wasDamaged: false))
        #expect(folder.names == ["a.har"])
    }

    @Test("traffic HT-29 writes entries of many threads, each once")
    func manyThreads() async throws {
        let folder = try TemporaryFolder()
        let file = try HARFile(folder.file("a.har"))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { file.add(Self.entry("https://svc.example.com/\(number)")) }
            }
        }
        let entries = try HARReader().entries(of: folder.file("a.har"))
        #expect(Set(entries.map(\.request.url)).count == 50)
    }

    @Test("traffic HT-30 reports a file that cannot be written, and says that a pipe is none")
    func failures() throws {
        #expect(throws: HARFault.self) { try HARFile("/nowhere/at/all.har") }
        let fault = #expect(throws: HARFault.self) { try HARFile("/dev/full") }
        #expect(fault?.isOfFile == true)
    }

    @Test("traffic HT-31 checks that times add up, that TLS is a part of connecting, and that status 0 has an error")
    func checks() {
        var entry = Self.entry()
        #expect(HARCheck.faults(of: entry, number: 1) == [])
        entry.time += .milliseconds(50)
        entry.timings.secureConnect = .milliseconds(20)
        entry.response.status = 0
        #expect(HARCheck.faults(of: entry, number: 1).map(\.member) == ["time", "timings.ssl", "response.status"])
    }

    @Test("traffic HT-32 reads the dates and the numbers of other programs")
    func others() throws {
        let texts = [
            "2026-01-01T01:00:00.25+01:00", "2026-01-01T00:00:00.250Z", "2025-12-31T19:30:00.25-0430",
            "2026-01-01T00:00:00.250000Z",
        ]
        for text in texts { #expect(HARDate.date(text)?.timeIntervalSince1970 == 1_767_225_600.25, "\(text)") }
        for text in ["", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z"] {
            #expect(HARDate.date(text) == nil, "\(text)")
        }
        #expect(HARDate.text(Date(timeIntervalSince1970: -0.5)) == "1969-12-31T23:59:59.500Z")
        #expect(HARDate.text(Date(timeIntervalSince1970: 951_782_400)) == "2000-02-29T00:00:00.000Z")
        let browser = Self.json.replacingOccurrences(
            of: #""time":12.345"#,
            with: #""time":12.345000000000001,"_x":[null]"#
        )
        #expect(try read(Self.document([browser])).0.first?.time == .microseconds(12_345))
    }

    /// An entry as another program writes it.
    private func other(_ content: String, headers: [(String, String)] = [], post: String? = nil) throws -> HAREntry {
        let fields = headers.map { #"{"name":"\#($0.0)","value":"\#($0.1)"}"# }.joined(separator: ",")
        let posted = post.map { #","postData":\#($0)"# } ?? ""
        let text = #"""
            {"startedDateTime":"2026-01-01T00:00:00Z","time":0,"cache":{},"timings":{"send":0,"wait":0,"receive":0},
            "request":{"method":"POST","url":"https://svc.example.com/a","httpVersion":"","headers":[],"cookies":[],
            "queryString":[],"headersSize":-1,"bodySize":4\#(posted)},
            "response":{"status":200,"statusText":"","httpVersion":"","headers":[\#(fields)],"cookies":[],
            "redirectURL":"","headersSize":-1,"bodySize":-1,"content":\#(content)}}
            """#
        return try HAREntry(try JSONValue(parsing: Data(text.utf8)))
    }

    @Test("traffic HT-33 knows what other programs write for lengths, charsets and contents that they did not keep")
    func contentsOfOthers() throws {
        let coded = try other(
            #"{"size":30,"mimeType":"","text":"short"}"#,
            headers: [("content-encoding", "gzip"), ("content-length", "30")]
        )
        #expect(!coded.response.content.isTruncated)
        let latin = try other(#"{"size":6,"mimeType":"text/plain; charset=iso-8859-1","text":"grüezi"}"#)
        #expect(latin.response.content.bytes == Data([0x67, 0x72, 0xFC, 0x65, 0x7A, 0x69]))
        let cyrillic = try other(#"{"size":3,"mimeType":"text/plain; charset=\"koi8-r\"","text":"Мир"}"#)
        #expect(cyrillic.response.content.bytes == Data([0xED, 0xC9, 0xD2]))
        let lost = try other(#"{"size":-1,"mimeType":"text/plain"}"#, headers: [("Content-Length", "100")])
        #expect(lost.response.content.isTruncated)
        #expect(lost.response.content.size == 100)
        let part = try other(#"{"size":9,"mimeType":"","text":"abc","comment":"the first 3 of 9 bytes"}"#)
        #expect(part.response.content.isTruncated)
        let unknown = try other(
            #"{"size":0,"mimeType":""}"#,
            post: #"{"mimeType":"application/octet-stream","text":""}"#
        )
        #expect(unknown.request.content == HAREntry.Content(nil, type: "application/octet-stream", size: 4))
        let octets = try other(#"{"size":0,"mimeType":""}"#, post: #"{"mimeType":"","text":"\u0000\u00ff\u0080\n"}"#)
        #expect(octets.request.content?.bytes == Data([0, 255, 128, 10]))
    }

    @Test(
        "traffic HT-34 knows the errors of browsers, and reads an entry without response and content",
        arguments: [
            ("net::ERR_NAME_NOT_RESOLVED", "nameNotResolved"), ("net::ERR_CONNECTION_REFUSED", "cannotConnect"),
            ("net::ERR_ABORTED", "cancelled"), ("net::ERR_CERT_DATE_INVALID", "untrustedServer"),
            ("net::ERR_FAILED", "transport"), ("Name or service not known", "transport"),
        ]
    )
    func errorsOfOthers(_ text: String, _ kind: String) throws {
        let content = #""content":{}"#
        let json = Self.json
            .replacingOccurrences(of: #""status":200"#, with: #""status":0,"_error":"\#(text)""#)
            .replacingOccurrences(of: #""content":{"size":2,"mimeType":"application/json","text":"[]"}"#, with: content)
            .replacingOccurrences(of: #","_lade":{"call":1}"#, with: "")
        let entry = try #require(try read(Self.document([json])).0.first)
        #expect(entry.facts.fault?.kind == kind)
        #expect(entry.facts.fault?.sentence == text)
    }
}
