// Foundation's URLSession reading pages one by one into a file: PagesPeer ADDRESS PAGES FILE [decode]
import Foundation
import PageModels

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

let words = CommandLine.arguments
guard words.count >= 4, let pages = Int(words[2]), let file = LineFile(words[3]) else {
    print("usage: \(words[0]) ADDRESS PAGES FILE [decode]")
    exit(2)
}
let isDecoding = words.dropFirst(4).first == "decode"
let configuration = URLSessionConfiguration.ephemeral
configuration.urlCache = nil
configuration.httpCookieStorage = nil
let session = URLSession(configuration: configuration)
let decoder = JSONDecoder()
decoder.dateDecodingStrategy = .iso8601
for number in 1...pages {
    guard let url = URL(string: "\(words[1])&page=\(number)") else { exit(2) }
    let (data, response) = try await session.data(from: url)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { exit(1) }
    if isDecoding {
        try file.write(try decoder.decode([Media].self, from: data))
    } else {
        try file.write(data)
    }
}
