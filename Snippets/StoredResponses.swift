// Keeps responses in a folder, and says what a call would get from it.
import Lade
import LadeCacheSQLite

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let folder = CommandLine.arguments.dropFirst(2).first ?? "/tmp/example-cache"
let store = try SQLiteStore(directory: folder)
var settings = Service.Settings()
settings.cache = ResponseCache.Settings(store: store)
let service = try Service(settings)
let request = try Request(address + "/shows/1")

for _ in 1...2 {
    let response = try await service.anonymous.makeLoader().load(request)
    print(response.source, response.metrics.cacheUse?.rule.sentence ?? "The server was asked.")
}
if let explanation = try await service.anonymous.explainCaching(of: request) {
    print(explanation.action, explanation.rule.rawValue)
}
await store.close()
