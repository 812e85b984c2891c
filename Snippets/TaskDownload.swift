// The fourth of five common tasks: a download with progress, resumed when it is cut off.
import Foundation
import Lade

let file = URL.temporaryDirectory.appending(path: "large.zip")
// snippet.task
let request = try Request("https://example.com/large.zip")
let download = try await Loader().download(request, to: file) { print($0.fraction ?? 0) }
// snippet.end
print(download.length, "bytes at", download.path)
