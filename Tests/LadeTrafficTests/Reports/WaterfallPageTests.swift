import Foundation
import Lade
import LadeTraffic
import Testing

@Suite("the page of a recording", .timeLimit(.minutes(5)))
struct WaterfallPageTests {
    private func entry(_ url: String, call: Int?, at second: Double = 0, status: Int = 200) -> HAREntry {
        var entry = HAREntry(
            started: Date(timeIntervalSince1970: 1_767_225_600 + second),
            request: .init(method: "GET", url: url),
            response: .init(status: status)
        )
        entry.facts.call = call
        entry.timings.wait = .milliseconds(500)
        entry.time = entry.timings.sum
        return entry
    }

    @Test("traffic HT-60 forbids every request by its policy, and names script and style by their digests")
    func policy() throws {
        let html = WaterfallPage([entry("https://a.example/", call: 1)], title: "t").html
        let policy = try #require(html.firstMatch(of: /Content-Security-Policy" content="([^"]*)"/)).1
        #expect(policy.hasPrefix("default-src 'none'; script-src 'sha256-"))
        #expect(!policy.contains("unsafe"))
        for (tag, source) in [("script", "script-src"), ("style", "style-src")] {
            let text = try #require(html.firstMatch(of: try Regex("<\(tag)>([\\s\\S]*?)</\(tag)>")))[1].substring ?? ""
            let digest = Data(SHA256.hash(text.utf8)).base64EncodedString()
            #expect(policy.contains("\(source) 'sha256-\(digest)'"))
        }
        for word in [" href=", " src=", "url(", "@import", " style=", " onclick"] {
            #expect(!html.contains(word), "\(word)")
        }
    }

    @Test("traffic HT-61 escapes everything that a server sent")
    func hostile() {
        var bad = entry("https://a.example/</script><script>alert(1)</script>\u{202E}\u{7}", call: 1)
        bad.request.method = "\"><img src=x onerror=alert(2)>"
        bad.facts.rule = "javascript:alert(3)'\"<b>"
        bad.facts.waits = [.init("</title></svg><script>alert(4)</script>", .milliseconds(5))]
        bad.timings.blocked = .milliseconds(5)
        bad.facts.fault = .init(kind: "transport", sentence: "<!--\u{2066}")
        let html = WaterfallPage([bad], title: "</title><script>alert(5)</script>").html
        #expect(html.components(separatedBy: "<script").count == 2)
        #expect(html.components(separatedBy: "</script").count == 2)
        #expect(!html.contains("<img") && !html.contains("<b>") && !html.contains("<!--"))
        #expect(!html.unicodeScalars.contains { $0.properties.isBidiControl || $0.value < 0x20 && $0 != "\n" })
    }

    @Test("traffic HT-62 joins the exchanges of a call, which follow each other, and shows each wait by its reason")
    func joins() throws {
        var second = entry("https://a.example/1", call: 1, at: 3)
        second.facts.waits = [.init("attempt 2", .seconds(2))]
        second.timings.blocked = .seconds(2)
        let html = WaterfallPage(
            [
                entry("https://a.example/1", call: 1, status: 503), entry("https://a.example/2", call: 2, at: 1),
                second,
                entry("https://a.example/3", call: nil, at: 0.5),
            ],
            title: "t"
        ).html
        let calls = html.matches(of: /<tr><td class="number">(\d)<\/td><td class="number">([^<]*)</).map {
            "\($0.1)\($0.2)"
        }
        #expect(calls == ["1┌1", "3└1", "4", "22"])
        #expect(html.contains("waiting for attempt 2 2000.0 ms"))
        #expect(html.contains("waiting for another attempt 2000.0 ms</li>"))
        #expect(html.contains(#"<td class="number bad">503</td>"#))
    }

    @Test("traffic HT-63 is readable without the script: a table with headings, and a title for each bar")
    func readable() {
        let html = WaterfallPage([entry("https://a.example/1", call: 1)], title: "t").html
        #expect(html.contains(#"<th scope="col" class="text"><button type="button">method</button></th>"#))
        #expect(html.contains("<title>wait 500.0 ms</title>"))
        #expect(html.contains(#"<rect class="wait" x="0.0" width="1000.0" height="10"/>"#))
        #expect(html.contains("prefers-color-scheme: dark"))
    }

    @Test("traffic HT-64 makes a page of 10,000 exchanges, and one of none")
    func sizes() {
        let many = (0..<10_000).map { entry("https://a.example/\($0)", call: $0, at: Double($0)) }
        #expect(WaterfallPage(many, title: "t").html.components(separatedBy: "<tr>").count == 10_002)
        #expect(WaterfallPage([], title: "t").html.contains("0 exchanges"))
    }
}
