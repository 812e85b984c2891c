// From a URL to a list on the screen, step 1: the response of a URL. Needs “lade serve --port 8080”.
import Lade

let loader = try Loader()

// snippet.step
let response = try await loader.load(Request("http://127.0.0.1:8080/medias?per_page=3"))
print(response.status, response.body.bytes?.count ?? 0, "bytes")
// snippet.end
