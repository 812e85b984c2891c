import Foundation
import Lade
import PageModels

// Lade reading pages one by one, decoded into structs, as an app does: DecodedPages ADDRESS PAGES FILE

let words = CommandLine.arguments
guard words.count == 4, let pages = Int(words[2]), let file = LineFile(words[3]) else {
    print("usage: \(words[0]) ADDRESS PAGES FILE")
    exit(2)
}
var decoder = FastJSONDecoder()
decoder.dateDecodingStrategy = .iso8601
let loader = try Loader()
for number in 1...pages {
    let page = try Endpoint("\(words[1])&page=\(number)").decoding([Media].self, decoder: decoder)
    try file.write(try await loader.load(page))
}
