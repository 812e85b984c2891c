// A whole paged list to a file, one item a line, from the local catalogue that comes with the package.
import Foundation
import LadeCatalogueServer
import LadeHarvest
import LadeTesting

var options = LocalCatalogue.Options()
options.medias = 500
options.faults = [.unavailable: 4]
let catalogue = try LocalCatalogue(options)
let list = "/integrationlayer/2.0/rts/mediaList/video/latestEpisodes?pageSize=100"

var harvest = Harvest(try Request(catalogue.address(list)))
harvest.items = ["mediaList"]
harvest.identity = ["urn"]
harvest.prefetch = 1

let loader = try Service().anonymous.makeLoader()
let file = FileManager.default.temporaryDirectory.appending(path: "medias.ndjson").path()

// After an error the next run continues at the position that the journal beside the file records.
var isRestart = true
while true {
    do throws(HarvestError) {
        let summary = try await harvest.run(with: loader, to: .file(file), restart: isRestart)
        print("\(summary.items) items in \(summary.pages) pages, \(summary.duplicates) of them twice")
        break
    } catch {
        guard case .page(let failure) = error else { throw error }
        print("Interrupted at page \(failure.page.number); continuing")
        isRestart = false
    }
}
