import Lade
import LadeHarvest

// The code of the articles about harvests. It is compiled and never run; a test compares it with the articles.

private func harvest(loader: Loader) async throws {
    var harvest = Harvest(try Request("https://api.example.com/medias?pageSize=100"))
    harvest.items = ["mediaList"]
    harvest.prefetch = 2
    let summary = try await harvest.run(with: loader, to: .file("medias.ndjson"))
    print(summary.items)
}

private func harvestInOneRun() async throws {
    var harvest = Harvest(try Request("https://api.example.com/items"))
    harvest.items = ["items"]
    let summary = try await harvest.run(with: Loader(), to: .file("items.ndjson"))
    print(summary.items)
}
