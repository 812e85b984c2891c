// Sends a typed value to an API whose members are in snake case, and decodes its response.
import Lade

struct Draft: Encodable {
    var showTitle: String
}

struct Show: Decodable, Sendable {
    var showId: Int
    var showTitle: String
}

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
var decoder = FastJSONDecoder()
decoder.keyDecodingStrategy = .convertFromSnakeCase
var encoder = FastJSONEncoder()
encoder.keyEncodingStrategy = .convertToSnakeCase
var api = try API(address)
api.decoder = decoder
api.encoder = encoder

let show: Show = try await Loader().load(api.post("shows", json: Draft(showTitle: "Sea")))
print(show.showId, show.showTitle)
