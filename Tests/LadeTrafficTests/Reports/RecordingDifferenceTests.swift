import Foundation
import LadeTraffic
import Testing

@Suite("comparing recordings", .timeLimit(.minutes(5)))
struct RecordingDifferenceTests {
    private func entry(_ target: String, _ text: String = "", status: Int = 200, milliseconds: Int = 10) -> HAREntry {
        var response = HAREntry.Response(status: status)
        response.content = .init(Data(text.utf8), type: "application/json")
        var entry = HAREntry(
            started: Date(timeIntervalSince1970: 0),
            request: .init(method: "GET", url: "https://svc.example.com" + target),
            response: response
        )
        entry.time = .milliseconds(milliseconds)
        return entry
    }

    private func lines(_ earlier: [HAREntry], _ later: [HAREntry]) -> [String] {
        RecordingDifference(earlier, later).lines.map {
            "\($0.kind.rawValue) \($0.request.dropFirst("GET https://svc.example.com".count)) \($0.detail)"
        }
    }

    @Test("traffic HT-65 says which exchanges are new, gone, slower, or have another status")
    func kinds() {
        let found = lines(
            [entry("/a"), entry("/a"), entry("/b"), entry("/c")],
            [entry("/a"), entry("/b", status: 404), entry("/c", milliseconds: 70), entry("/d"), entry("/d")]
        )
        #expect(found == ["status /b 200 → 404", "slower /c 10 ms → 70 ms", "new /d ", "new /d ", "gone /a "])
        #expect(lines([entry("/a")], [entry("/a", milliseconds: 55)]) == [])
    }

    @Test("traffic HT-66 says where the shape of JSON differs, and nothing where only values do")
    func shapes() {
        #expect(lines([entry("/a", #"{"n":1,"l":[1,2]}"#)], [entry("/a", #"{"l":[7],"n":2}"#)]) == [])
        let found = lines([entry("/a", #"{"n":1,"l":[{"x":1}]}"#)], [entry("/a", #"{"n":"1","l":[{"y":{"z":1}}]}"#)])
        #expect(
            found == [
                "shape /a /l/-/x: a number → missing", "shape /a /l/-/y: missing → an object",
                "shape /a /n: a number → a text",
            ]
        )
        #expect(lines([entry("/a", "{")], [entry("/a", "{}")]) == [])
    }
}
