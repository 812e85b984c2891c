import Foundation
import LadeTesting
import SharedDoubles

@testable import LadeHarvest

/// A list to harvest, the harvest, and its expected output.
enum HarvestSample {
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

    /// A source that copies a folder's harvest into another when a page is requested.
    ///
    /// The harvest waits for that page, so nothing is written meanwhile.
    static func source(copying folder: TemporaryFolder, to copy: TemporaryFolder, atPage page: Int) -> PagedSource {
        source { number in
            if number == page { folder.copyHarvest(to: copy) }
            return false
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

    /// A harvest that stopped after the first page of a run into the file `out`.
    static func stoppedHarvest(in folder: TemporaryFolder) async throws -> Harvest {
        var harvest = try harvest()
        harvest.pageLimit = 1
        _ = try await harvest.run(with: source().loader, to: .file(folder.file("out")))
        return harvest
    }
}

extension TemporaryFolder {
    /// Copies the output and its journal into another folder, as a kill at this moment would leave them.
    func copyHarvest(to copy: TemporaryFolder) {
        for name in ["out", "out.journal"] {
            try? FileManager.default.copyItem(atPath: file(name), toPath: copy.file(name))
        }
    }
}
