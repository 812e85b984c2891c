import Foundation
import LadeCore
import LadeTesting
import SharedDoubles

@testable import LadeCatalogue

/// A provider on a scripted transport, in a time that stands still, without retries.
struct CatalogueRig: Sendable {
    let transport = ScriptedTransport()
    let provider: CatalogueProvider

    var catalogue: Catalogue { provider.catalogue }
    var loader: Loader { provider.loader }

    init(_ url: String = "https://catalogue.example.com", _ change: (inout Catalogue) -> Void = { _ in }) throws {
        var catalogue = try Catalogue(url)
        change(&catalogue)
        provider = CatalogueProvider(catalogue, loader: transport.makeLoader())
    }

    /// Answers every request with one text.
    func answer(_ json: String, status: Response.Status = 200) {
        transport.onAnyRequest().respond(.json(json, status: status))
    }

    /// The query items of the requests so far.
    var queries: [[String: String]] { transport.requests.map(\.queryItems) }

    /// The paths of the requests so far, below the address of the service.
    var paths: [String] {
        transport.requests.map { String($0.url.path(percentEncoded: true).dropFirst("/integrationlayer/".count)) }
    }

    /// Serves lists: of `count` medias in pages, and of medias and shows by URN where the URN begins with `urn:srf`.
    func serveLists(count: Int = 45) {
        transport.onAnyRequest().respond(
            .computed { (request, _) async throws(LoadingError) in
                let items = request.queryItems
                if let urns = items["urns"] {
                    let known = urns.split(separator: ",").filter { $0.hasPrefix("urn:") && !$0.contains("unknown") }
                    let key = request.url.path().contains("showList") ? "showList" : "mediaList"
                    return .json("{\"\(key)\": [\(known.map { "{\"urn\": \"\($0)\"}" }.joined(separator: ","))]}")
                }
                guard let size = items["pageSize"].flatMap({ $0 == "unlimited" ? count : Int($0) }) else {
                    return .status(400)
                }
                let start = items["next"].flatMap { Int($0) } ?? 0
                let end = min(count, start + size)
                let objects = (start..<end).map { "{\"urn\": \"urn:srf:video:\($0)\", \"id\": \"\($0)\"}" }
                var address = request.url
                if items["next"] == nil { address.append(queryItems: [URLQueryItem(name: "next", value: "\(end)")]) }
                let next = address.absoluteString.replacing("next=\(start)", with: "next=\(end)")
                let key = request.url.path().contains("episodeComposition") ? "episodeList" : "mediaList"
                let tail = end < count ? ", \"next\": \"\(next)\"" : ""
                return .json("{\"\(key)\": [\(objects.joined(separator: ","))]\(tail)}")
            }
        )
    }
}

extension Request {
    /// The query items by name.
    var queryItems: [String: String] {
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }
}

extension AsyncSequence {
    /// All of the elements.
    func collected() async throws -> [Element] {
        var elements: [Element] = []
        for try await element in self { elements.append(element) }
        return elements
    }
}
