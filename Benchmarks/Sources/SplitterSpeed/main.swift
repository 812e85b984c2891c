import LadeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// How fast the JSON splitter is, in MB/s of input on one core: `swift run -c release SplitterSpeed`, in Benchmarks/.
//
// 16 MB of a media list like that of `lade serve`, in pieces of 64 kB; the best of nine rounds.

/// A list of about so many bytes, on one line or laid out.
func makeList(bytes: Int, isPretty: Bool) -> Data {
    let line = isPretty ? "\n      " : ""
    let gap = isPretty ? " " : ""
    var list = Data("{\"mediaList\":\(gap)[".utf8)
    var index = 0
    while list.count < bytes {
        let members = [
            ("id", "\"\(100_000 + index)\""), ("urn", "\"urn:rts:video:\(100_000 + index)\""), ("vendor", "\"RTS\""),
            ("mediaType", "\"VIDEO\""), ("title", "\"Le lac au matin \(index)\""),
            ("lead", "\"Promenade sur les quais été\""), ("description", "\"Une heure au bord de l'eau.\""),
            ("imageUrl", "\"https://img.example.org/100001.image/16x9\""),
            ("imageFocalPoint", "{\(gap)\"percentageX\":\(gap)25,\(gap)\"percentageY\":\(gap)10\(gap)}"),
            ("date", "\"2023-04-02T19:30:00+02:00\""), ("duration", "3600000"), ("playableAbroad", "false"),
            ("socialCountList", "[{\"key\":\(gap)\"srgView\",\(gap)\"value\":\(gap)1200}]"),
        ]
        let text = members.map { "\(line)  \"\($0.0)\":\(gap)\($0.1)" }.joined(separator: ",")
        list.append(contentsOf: "\(index == 0 ? "" : ",")\(line){\(text)\(line)}".utf8)
        index += 1
    }
    list.append(contentsOf: "],\"next\":\"https://api.example.org/2\"}".utf8)
    return list
}

/// Megabytes per second of the best of nine rounds.
func measure(_ list: Data, identity: JSONPointer?) throws -> Double {
    let settings = JSONSplitter.Settings(list: ["mediaList"], values: [["next"]], identity: identity)
    var best = Duration.seconds(3_600)
    for _ in 0..<9 {
        let elapsed = try ContinuousClock().measure {
            var splitter = JSONSplitter(settings)
            var offset = 0
            while offset < list.count {
                let end = min(offset + 65_536, list.count)
                try splitter.consume(list[offset..<end])
                splitter.discardLines()
                offset = end
            }
            try splitter.finish()
            // Reading a result keeps the work from being optimised away.
            precondition(splitter.itemCount > 0 && splitter.value(at: 0)?.text != nil, "The list was not split")
        }
        best = min(best, elapsed)
    }
    let (seconds, attoseconds) = best.components
    return Double(list.count) / (Double(seconds) + Double(attoseconds) * 1e-18) / 1e6
}

let rows: [(name: String, isPretty: Bool, identity: JSONPointer?)] = [
    ("compact", false, nil), ("laid out", true, nil), ("compact, an identity in each item", false, ["id"]),
]
for row in rows {
    let speed = try measure(makeList(bytes: 16 << 20, isPretty: row.isPretty), identity: row.identity)
    print("\(row.name): \(Int(speed)) MB/s")
}
