import LadeCatalogue
import LadeContent
import LadeJSON
import Observation

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// What the catalogue and content models cost: Benchmarks/catalogue [ROUNDS], or CatalogueSpeed lean|models COUNT.

/// The CPU time of all threads in microseconds.
private func cpuTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

/// The time in microseconds.
private func wallTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

/// What keeps results from being optimised away.
@MainActor private var sink = 0

@main
@MainActor
enum CatalogueSpeed {
    private struct Item: Identifiable, Equatable {
        var id: String
        var title: String
    }

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let first = arguments.first, let number = arguments.dropFirst().first.flatMap({ Int($0) }) {
            return try decode(first, number)
        }
        let rounds = max(arguments.first.flatMap { Int($0) } ?? 9, 1)
        print("| what | measured | bound |\n| --- | --: | --: |")
        try decoding(rounds)
        try await delivery(rounds)
        changes(rounds)
    }

    private static func row(_ name: String, _ value: Double, _ unit: String, _ bound: String) {
        let rounded = value < 10 ? (value * 100).rounded() / 100 : value.rounded()
        print("| \(name) | \(rounded) \(unit) | \(bound) |")
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    // MARK: - Decoding

    private static func page() -> Data {
        let medias = (0..<100).map { index in
            """
            {"id":"\(index)","urn":"urn:rts:video:\(index)","vendor":"RTS","mediaType":"VIDEO",\
            "title":"Reportage : Vevey au matin","lead":"Reportage par Morges",\
            "description":"42 minutes \\u2014 Vevey.","imageUrl":"https://img.example.org/\(index).image/16x9",\
            "imageTitle":"Vevey","imageFocalPoint":{"percentageX":25,"percentageY":10},"type":"EPISODE",\
            "date":"2023-04-02T19:30:00+02:00","duration":3600000,"validFrom":"2023-04-02T20:30:00+02:00",\
            "playableAbroad":true,"presentation":"DEFAULT","youthProtectionColor":"YELLOW",\
            "podcastHdUrl":"https://media.example.org/\(index)-hd.mp4",\
            "socialCountList":[{"key":"srgView","value":1200},{"key":"srgLike","value":31}],\
            "show":{"id":"sh1","urn":"urn:rts:show:tv:sh1","vendor":"RTS","transmission":"TV",\
            "title":"Promenades 12","imageUrl":"https://img.example.org/sh1.jpg"}}
            """
        }
        return Data("{\"mediaList\":[\(medias.joined(separator: ","))],\"next\":\"https://x.example.org/y\"}".utf8)
    }

    /// Decodes a number of times by the leanest types or by the models, for counting instructions.
    private static func decode(_ types: String, _ number: Int) throws {
        let data = page()
        var plain = FastJSONDecoder()
        plain.dateDecodingStrategy = .iso8601
        let catalogue = CatalogueDecoder()
        for _ in 0..<number {
            if types == "lean" {
                sink &+= try plain.decode(LeanPage.self, from: data).mediaList.count
            } else {
                sink &+= try catalogue.decode(Catalogue.Listing<Catalogue.Media>.self, from: data).items.count
            }
        }
    }

    private static func decoding(_ rounds: Int) throws {
        let data = page()
        var plain = FastJSONDecoder()
        plain.dateDecodingStrategy = .iso8601
        let catalogue = CatalogueDecoder()
        var (lean, ours): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            lean.append(
                try cost(40) { sink &+= try plain.decode(LeanPage.self, from: data).mediaList.count }
            )
            ours.append(
                try cost(40) {
                    sink &+= try catalogue.decode(Catalogue.Listing<Catalogue.Media>.self, from: data).items.count
                }
            )
        }
        row("decode 100 medias, \(data.count) bytes, leanest types", median(lean), "µs", "")
        row("decode them as `Listing<Media>`", median(ours), "µs", "")
        row("ratio of the two", median(zip(ours, lean).map { $0 / $1 }), "", "1.2")
    }

    private static func cost(_ repeats: Int, _ body: () throws -> Void) rethrows -> Double {
        let start = cpuTime()
        for _ in 0..<repeats { try body() }
        return (cpuTime() - start) / Double(repeats)
    }

    // MARK: - Delivering

    /// Delivers pages that were decoded before, with a view that follows the model.
    ///
    /// The time on the main actor is that from the change until the main actor does something else.
    private static func delivery(_ rounds: Int) async throws {
        let medias = try CatalogueDecoder().decode(Catalogue.Listing<Catalogue.Media>.self, from: page()).items
        let model = try PagedContentModel<String, Catalogue.Media>(pageSize: 100) { _ in
            ContentPage(medias, hasMore: true)
        }
        let snapshots = model.snapshots()
        // Ends with the model.
        let view = Task {
            for await snapshot in snapshots { sink &+= snapshot.content?.items.count ?? 0 }
        }
        var first: [Double] = []
        var next: [Double] = []
        for _ in 0..<rounds {
            for _ in 0..<100 { first.append(await delivered(by: model) { model.startOver(with: "a") }) }
            for _ in 0..<100 { next.append(await delivered(by: model) { model.loadNextPage() }) }
        }
        view.cancel()
        row("main actor, per delivered first page of 100 medias", median(first), "µs", "200 µs")
        row("main actor, per delivered next page, after 100 to 10,000 medias", median(next), "µs", "200 µs")
    }

    private static func delivered(
        by model: PagedContentModel<String, Catalogue.Media>,
        _ start: () -> Void
    ) async -> Double {
        start()
        let (times, output) = AsyncStream.makeStream(of: Double.self)
        withObservationTracking {
            sink &+= model.isLoading ? 1 : 0
        } onChange: {
            let began = wallTime()
            Task { @MainActor in output.yield(wallTime() - began) }
        }
        for await time in times { return time }
        return 0
    }

    // MARK: - Change sets

    private static func changes(_ rounds: Int) {
        let old = (0..<1_000).map { Item(id: "urn:rts:video:\($0)", title: "Title \($0)") }
        // The same order in every run.
        var shuffled = old
        var state: UInt64 = 1
        for index in stride(from: shuffled.count - 1, to: 0, by: -1) {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            shuffled.swapAt(index, Int(state >> 33) % (index + 1))
        }
        var mixed = old
        mixed.removeSubrange(100..<200)
        for index in stride(from: 0, to: mixed.count, by: 10) { mixed[index].title += " new" }
        mixed.insert(contentsOf: (0..<100).map { Item(id: "new\($0)", title: "New") }, at: 500)
        let cases = [("equal", old), ("a tenth each removed, added, changed", mixed), ("shuffled", shuffled)]
        for (name, new) in cases {
            let costs = (0..<rounds).map { _ in
                cost(20) { sink &+= ChangeSet(from: old, to: new).moves.count }
            }
            row("change set of 1,000 items, \(name)", median(costs), "µs", "1,000 µs")
        }
    }
}
