import FoundationEssentials
import LadeJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// CPU time of decoding and encoding, as ratios to Foundation's in the same run: Benchmarks/json.
//
// usage: JSONSpeed [--originals FOLDER] [ROUNDS] [NAME], JSONSpeed --hostile, or JSONSpeed --memory fast|foundation NAME
// With --originals, twitter.json, citm_catalog.json and canada.json of a folder take the place of the invented documents.

/// The CPU time of this thread in nanoseconds.
func cpuTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

/// What keeps results from being optimised away.
nonisolated(unsafe) var sink = 0

struct Row {
    var name: String
    var bytes: Int
    var goal: String
    var foundation: () throws -> Void
    var fast: () throws -> Void
}

func nanoseconds(_ repeats: Int, _ body: () throws -> Void) rethrows -> Double {
    let start = cpuTime()
    for _ in 0..<repeats { try body() }
    return (cpuTime() - start) / Double(repeats)
}

func measure(_ row: Row, rounds: Int) throws {
    // A round takes about 20 ms of the slower one.
    let once = try nanoseconds(3, row.foundation)
    try row.fast()
    let repeats = max(1, Int(20e6 / once))
    var foundation: [Double] = []
    var fast: [Double] = []
    for _ in 0..<rounds {
        foundation.append(try nanoseconds(repeats, row.foundation))
        fast.append(try nanoseconds(repeats, row.fast))
    }
    let ratio = zip(foundation, fast).map { $0 / $1 }.sorted()[rounds / 2]
    let (slow, quick) = (foundation.sorted()[rounds / 2], fast.sorted()[rounds / 2])
    func text(_ value: Double, _ places: Int) -> String {
        let scale = places == 1 ? 10.0 : 1.0
        let rounded = (value * scale).rounded() / scale
        return places == 0 ? String(Int(rounded)) : String(rounded)
    }
    print(
        "| \(row.name) | \(row.bytes) | \(text(slow / 1000, 1)) | \(text(quick / 1000, 1)) | "
            + "\(text(Double(row.bytes) / quick * 1000, 0)) | **\(text(ratio, 1)) ×** | \(row.goal) |"
    )
}

func decoding<T: Decodable>(
    _ name: String,
    _ type: T.Type,
    _ data: Data,
    _ goal: String,
    snakeCase: Bool = false
) -> Row {
    let foundation = JSONDecoder()
    foundation.dateDecodingStrategy = .iso8601
    var fast = FastJSONDecoder()
    fast.dateDecodingStrategy = .iso8601
    if snakeCase {
        foundation.keyDecodingStrategy = .convertFromSnakeCase
        fast.keyDecodingStrategy = .convertFromSnakeCase
    }
    let decoder = fast
    return Row(name: name, bytes: data.count, goal: goal) {
        withExtendedLifetime(try foundation.decode(type, from: data)) { sink += 1 }
    } fast: {
        withExtendedLifetime(try decoder.decode(type, from: data)) { sink += 1 }
    }
}

/// Encoding of what a document holds.
func encoding<T: Codable>(_ name: String, _ type: T.Type, _ data: Data, _ goal: String) throws -> Row {
    var decoder = FastJSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let value = try decoder.decode(type, from: data)
    let foundation = JSONEncoder()
    foundation.dateEncodingStrategy = .iso8601
    var fast = FastJSONEncoder()
    fast.dateEncodingStrategy = .iso8601
    let encoder = fast
    return Row(name: name, bytes: try encoder.encode(value).count, goal: goal) {
        sink += try foundation.encode(value).count
    } fast: {
        sink += try encoder.encode(value).count
    }
}

var words = Array(CommandLine.arguments.dropFirst())
var originals: String?
if let place = words.firstIndex(of: "--originals"), place + 1 < words.count {
    originals = words[place + 1]
    words.removeSubrange(place...(place + 1))
}
if words.first == "--hostile" {
    Hostile.run()
    exit(0)
}
if words.first == "--memory", words.count == 3 {
    try Memory.run(words[2], isFast: words[1] == "fast")
    exit(0)
}
let rounds = words.first.flatMap { Int($0) } ?? 9
let wanted = words.dropFirst().first

let folder = originals

@MainActor func document(_ name: String, _ invented: () -> Data) throws -> Data {
    guard let folder else { return invented() }
    return try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name).json"))
}

let medias = Documents.medias()
let mediaRows = [
    decoding("medias", Plain.MediaPage.self, medias, "5 ×, 6 ×"),
    decoding("medias that read themselves", Read.MediaPage.self, medias, "–, 14 ×"),
    try encoding("medias, encoded", Plain.MediaPage.self, medias, "3 ×, 5 ×"),
]

// For Benchmarks/gate: JSONSpeed --repeat NAME fast|foundation TIMES.
if words.first == "--repeat", words.count == 4, let times = Int(words[3]) {
    guard let row = mediaRows.first(where: { $0.name == words[1] }) else { exit(64) }
    for _ in 0..<times { try words[2] == "fast" ? row.fast() : row.foundation() }
    exit(0)
}

let timeline = try document("twitter") { Documents.timeline() }
let events = try document("citm_catalog") { Documents.events() }
let polygons = try document("canada") { Documents.polygons() }
let small = Data(#"{"id":123456,"name":"Lausanne"}"#.utf8)
let union = Data("[\((0..<1000).map { [#"1234"#, "true", #""text""#][$0 % 3] }.joined(separator: ","))]".utf8)

let rows: [Row] =
    mediaRows + [
        decoding("medias with URL members", Linked.MediaPage.self, medias, "4 ×, 5 ×"),
        decoding("Twitter", Timeline.self, timeline, "4 ×, 5 ×"),
        decoding("Twitter, snake case", ConvertedTimeline.self, timeline, "10 ×, 14 ×", snakeCase: true),
        decoding("citm", EventCatalogue.self, events, "6 ×, 8 ×"),
        decoding("canada", FeatureCollection.self, polygons, "6 ×, 8 ×"),
        decoding("31 bytes", Small.self, small, "2.5 ×, 3 ×"),
        decoding("unions by try?", [Scalar].self, union, "1 ×, 2 ×"),
        try encoding("Twitter, encoded", Timeline.self, timeline, "3 ×, 5 ×"),
        try encoding("citm, encoded", EventCatalogue.self, events, "3 ×, 5 ×"),
        try encoding("canada, encoded", FeatureCollection.self, polygons, "3 ×, 5 ×"),
        try encoding("31 bytes, encoded", Small.self, small, "3 ×"),
    ]

// For a profiler: one row's decoding alone, so many times.
if words.first == "--profile", let row = rows.first(where: { $0.name == wanted }) {
    for _ in 0..<max(1, 400_000_000 / (row.bytes + 1000)) { try row.fast() }
    exit(0)
}

print("| document | bytes | Foundation µs | LadeJSON µs | MB/s | ratio | floor, aim |")
print("|---|--:|--:|--:|--:|--:|--:|")
for row in rows where wanted.map({ row.name.contains($0) }) ?? true { try measure(row, rounds: rounds) }
