// Loads a response, and reads its text and its JSON.
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let response = try await Loader().load(Request(address + "/shows/1"))
print(response.status, response.headers["Content-Type"] ?? "no type")
print(try response.text)
print(try response.json["title"]?.string ?? "no title")
