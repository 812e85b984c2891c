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

private func harvestByLastItem(loader: Loader) async throws {
    var harvest = Harvest(try Request("https://api.example.com/charges"))
    harvest.items = ["data"]
    harvest.rules = [.cursor(.body(["data", "-", "id"]), to: .query("starting_after"))]
    harvest.more = .body(["has_more"])
    let summary = try await harvest.run(with: loader, to: .file("charges.ndjson"))
    if summary.isCut { print(summary.doubts) }
}

private func errorsOfHarvests() async throws {
    let loader = try Loader()
    let harvest = Harvest(try Request("https://api.example.com/items"))
    do throws(HarvestError) {
        let summary = try await harvest.run(with: loader, to: .file("items.ndjson"))
        print(summary.items)
    } catch {
        print(error)
    }
}

private func harvestInOneRun() async throws {
    var harvest = Harvest(try Request("https://api.example.com/items"))
    harvest.items = ["items"]
    let summary = try await harvest.run(with: Loader(), to: .file("items.ndjson"))
    print(summary.items)
}
