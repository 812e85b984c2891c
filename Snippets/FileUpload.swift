// Uploads a file as it is, with the progress of sending it.
import Foundation
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let file = URL.temporaryDirectory.appending(path: "lade-\(ProcessInfo.processInfo.processIdentifier).mp4")
try Data(count: 200_000).write(to: file)
let body = try Request.Body.file(file, contentType: "video/mp4").reportingProgress { progress in
    if progress.fraction == 1 { print("sent") }
}
var request = try Request(.put, address + "/films/1", body: body)
request.deadline = .seconds(600)
let response = try await Loader().load(request)
print(try response.text)
try FileManager.default.removeItem(at: file)
