// Uploads a form with a field and a file, with the progress of sending it.
import Foundation
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let file = URL.temporaryDirectory.appending(path: "lade-\(ProcessInfo.processInfo.processIdentifier).txt")
try Data("a cover".utf8).write(to: file)
var form = MultipartForm()
form.addField("title", "Sea")
try form.addFile("cover", file)
let body = form.body.reportingProgress { progress in
    if progress.fraction == 1 { print("sent") }
}
let response = try await Loader().load(Endpoint(.post, address + "/covers").body(body).text())
print(response)
try FileManager.default.removeItem(at: file)
