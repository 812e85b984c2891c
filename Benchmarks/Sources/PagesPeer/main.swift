// Foundation's URLSession reading pages one by one into a file: PagesPeer ADDRESS PAGES FILE
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

let words = CommandLine.arguments
guard words.count == 4, let pages = Int(words[2]), FileManager.default.createFile(atPath: words[3], contents: nil),
    let file = FileHandle(forWritingAtPath: words[3])
else {
    print("usage: \(words[0]) ADDRESS PAGES FILE")
    exit(2)
}
let configuration = URLSessionConfiguration.ephemeral
configuration.urlCache = nil
configuration.httpCookieStorage = nil
let session = URLSession(configuration: configuration)
for number in 1...pages {
    guard let url = URL(string: "\(words[1])&page=\(number)") else { exit(2) }
    let (data, response) = try await session.data(from: url)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { exit(1) }
    try file.write(contentsOf: data)
}
