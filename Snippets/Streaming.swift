// Reads a large body piece by piece; the server is held back while a piece is handled.
import Lade

func download(_ address: String, with loader: Loader, to write: (Int) -> Void) async throws(LoadingError) {
    var request = try Request(address)
    request.delivery = .streamed
    request.timeouts.idle = .seconds(10)

    let response = try await loader.load(request)
    for try await chunk in response.body {
        write(chunk.count)
    }
}

let service = try Service()
var total = 0
try await download("http://127.0.0.1:8080/large", with: service.anonymous.makeLoader()) { total += $0 }
print(total, "bytes")
await service.shutDown()
