// Loads one page and prints its title line.
import Lade

let service = try Service()
let loader = service.anonymous.makeLoader()

let response = try await loader.load(Request("http://127.0.0.1:8080/"))
print(response.status, response.headers["Content-Type"] ?? "no type")
print(response.body.bytes?.count ?? 0, "bytes over", response.metrics.version?.rawValue ?? "nothing")
await service.shutDown()
