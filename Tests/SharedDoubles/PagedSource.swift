import Foundation
package import Lade
package import LadeTesting

/// A paged list of integers behind a scripted transport.
package struct PagedSource {
    package let transport = ScriptedTransport()
    package let time = VirtualTime()

    /// The parameters of a response to a page's request.
    package struct Asked {
        package let request: Request
        package let query: [String: String]

        package init(_ request: Request) {
            self.request = request
            let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
            query = Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
        }

        package subscript(name: String) -> Int? { query[name].flatMap { Int($0) } }
    }

    /// Answers every request with the result of a closure, after a wait if one is given.
    package init(after delay: Duration? = nil, _ answer: @escaping @Sendable (Asked) throws -> ScriptedResponse) {
        transport.onAnyRequest().respond(
            .computed { (request, _) async throws(LoadingError) in
                let made: ScriptedResponse
                do { made = try answer(Asked(request)) } catch {
                    throw LoadingError(.notStored, LoadingError.Context(request))
                }
                return delay.map { made.after($0) } ?? made
            }
        )
    }

    package var loader: Loader { transport.makeLoader(.still(in: time)) }

    /// `{"items": [first, …], "next": …}`.
    package static func body(_ items: some Sequence<Int>, next: String? = nil, total: Int? = nil) -> String {
        var members = ["\"items\": [\(items.map(String.init).joined(separator: ", "))]"]
        if let next { members.append("\"next\": \"\(next)\"") }
        if let total { members.append("\"total\": \(total)") }
        return "{\(members.joined(separator: ", "))}"
    }

    /// Pages of `size` numbers below `count` that are linked from body to body.
    package static func linked(count: Int, size: Int, after delay: Duration? = nil) -> PagedSource {
        PagedSource(after: delay) { asked in
            let first = asked["from"] ?? 0
            let end = min(first + size, count)
            return .json(body(first..<end, next: end < count ? "/list?from=\(end)" : nil))
        }
    }
}

package struct Numbers: Codable, Sendable, Equatable {
    package var items: [Int]
    package var next: String?
    package var total: Int?
}

extension PagedEndpoint<Numbers> {
    package static func numbers(
        _ paginator: Pages.Paginator<Numbers> = .rule(.body(["next"])),
        at address: String = "https://api.example.com/list",
        sizer: Pages.Sizer? = .query("size")
    ) throws -> PagedEndpoint<Numbers> {
        PagedEndpoint(
            try Endpoint(address).decoding(Numbers.self),
            sizer: sizer,
            paginator: paginator,
            itemCount: { $0.items.count }
        )
    }
}

extension Pages.Sequence where Value == Numbers {
    /// All items of all pages.
    package func collected() async throws(PageError) -> [Int] {
        var all: [Int] = []
        for try await page in self { all += page.value.items }
        return all
    }
}
