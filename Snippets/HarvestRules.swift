// Harvests a paged list into a file, with the rules that find its pages; it continues after an interruption.
import Foundation
import LadeHarvest

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let file = URL.temporaryDirectory.appending(path: "lade-\(ProcessInfo.processInfo.processIdentifier).ndjson")
var harvest = Harvest(try Request(address + "/by-cursor"))
harvest.items = ["items"]
harvest.rules = [.bodyCursor(["next_cursor"], query: "cursor")]
let summary = try await harvest.run(with: Loader(), to: try .file(file), restart: true)
print(summary.items, "items in", summary.pages, "pages")
print(try String(contentsOf: file, encoding: .utf8).split(separator: "\n").count, "lines")
