import Foundation
import LadeTesting
import SharedDoubles

@testable import LadeHarvest

/// A list to harvest, the harvest, and its expected output.
enum HarvestSample {
    /// A folder that is removed with the test.
    final class Folder: Sendable {
        let path: String

        init() throws {
            path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString)").path()
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String) -> String { path + "/" + name }

        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

        func text(_ name: String) -> String {
            (try? String(contentsOfFile: file(name), encoding: .utf8)) ?? "nothing"
        }
    }

    /// `{"id":N,…}` pages linked by `next`, pretty-printed.
    static func source(
        pages: Int = 5,
        size: Int = 3,
        total: Bool = false,
        fails: @escaping @Sendable (Int) -> Bool = { _ in false }
    ) -> PagedSource {
        PagedSource { asked in
            let page = asked["page"] ?? 0
            if fails(page) { return .status(500) }
            let items = (page * size..<(page + 1) * size).map { #"{ "id" : \#($0), "x": 1.50, "é": "\u00e9 b" }"# }
            let next = page + 1 < pages ? #","next":"/list?page=\#(page + 1)&token=secret""# : ""
            let count = total ? #","total":\#(pages * size)"# : ""
            return .json("{\"items\": [\n\(items.joined(separator: " ,\n"))\n]\(next)\(count)}")
        }
    }

    /// The output of a harvest of these items.
    static func lines(_ numbers: some Sequence<Int>) -> String {
        numbers.map { #"{"id":\#($0),"x":1.50,"é":"\u00e9 b"}"# + "\n" }.joined()
    }

    /// The harvest of such a list.
    static func harvest(saveInterval: Duration = .zero) throws -> Harvest {
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.items = ["items"]
        harvest.rules = [.body(["next"])]
        harvest.saveInterval = saveInterval
        return harvest
    }
}
