// Reads JSON of any shape by name, position and pointer, and sends a value that the program makes.
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let loader = try Loader()
let list: JSONValue = try await loader.load(Endpoint(address + "/list"))
print(list["items"]?[0]?["title"]?.string ?? "no title")
print(list[try JSONPointer("/items/0/year")]?.integer ?? 0)
for item in list["items"]?.array ?? [] {
    print(item.object?.names.sorted() ?? [], item["rating"]?.number ?? 0, item["isNew"]?.bool ?? false)
}

var draft: JSONValue.Object = ["title": .string("Sea"), "year": .integer(2026)]
draft["tags"] = .array([.string("water"), .null])
let created: JSONValue = try await loader.load(Endpoint(address + "/echo").jsonBody(JSONValue.object(draft)))
print(created == .object(draft))
