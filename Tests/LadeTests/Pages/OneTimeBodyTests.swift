import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Pages whose body can be sent once", .timeLimit(.minutes(5)))
struct OneTimeBodyTests {
    @Test(
        "finding LF-2 a list with a body that can be sent once has one page, and its next page is an error",
        arguments: [true, false]
    )
    func oneTime(isReplayable: Bool) async throws {
        let source = PagedSource { asked in
            .json(PagedSource.body([1], next: asked["p"] == nil ? "https://api.example.com/list?p=2" : nil))
        }
        var settings = Service.Settings()
        settings.time = source.time
        let loader = Service(settings, transport: source.transport).anonymous.makeLoader()
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.endpoint = endpoint.endpoint.request {
            $0.method = .post
            $0.body = .writer(length: 1, isReplayable: isReplayable) { write in try await write(Data([1])) }
        }
        let pages = loader.pages(of: endpoint)

        if isReplayable {
            #expect(try await pages.collected() == [1, 1])
        } else {
            let error = await #expect(throws: PageError.self) { _ = try await pages.collected() }
            guard case .invalidRequest(.bodyNotReplayable) = error?.cause.loadingError?.kind else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(source.transport.requests.count == 1)
        }
    }
}
