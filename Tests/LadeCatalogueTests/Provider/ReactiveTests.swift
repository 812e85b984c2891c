import Foundation
import LadeTesting
import Testing

@testable import LadeCatalogue

// The outputs of services, combined with tasks and with the pages of Lade.
@Suite("Reactive outputs", .timeLimit(.minutes(5)))
struct ReactiveTests {
    @Test("catalogue IL-RX1 the latest of three sequences are one array")
    func latest() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let urns = (1...3).map { "urn:srf:video:\($0)" }
        let provider = rig.provider
        async let first = provider.load { try $0.medias(urns: [urns[0]]) }
        async let second = provider.load { try $0.medias(urns: [urns[1]]) }
        async let third = provider.load { try $0.medias(urns: [urns[2]]) }

        #expect(try await [first, second, third].flatMap(\.items).map(\.urn) == urns)
    }

    @Test("catalogue IL-RX2 an object is delivered")
    func object() async throws {
        let rig = try CatalogueRig()
        rig.answer(Samples.channel)

        #expect(try await rig.provider.load { try $0.tvChannel(.srf, uid: "c1") }.uid == "c1")
    }

    @Test("catalogue IL-RX3 a list is delivered")
    func list() async throws {
        let rig = try CatalogueRig()
        rig.answer(Samples.topicList)

        #expect(try await rig.provider.load { try $0.tvTopics(.rsi) }.map(\.uid) == ["7", "8"])
    }

    @Test("catalogue IL-RX4 the medias of the first element of a list are delivered")
    func mediasOfList() async throws {
        let rig = try CatalogueRig()
        rig.transport.on("topics") { $0.url.path().contains("topicList") }.respond(.json(Samples.topicList))
        rig.transport.onAnyRequest().respond(.json(Samples.mediaList))

        let topics = try await rig.provider.load { try $0.tvTopics(.rsi) }
        let urn = try #require(topics.first?.urn)
        let medias = try await rig.provider.load { try $0.topicLatestMedias(topicURN: urn) }
        #expect(medias.items.count == 2 && rig.paths.last?.hasSuffix("byTopicUrn/urn:rsi:topic:tv:7") == true)
    }

    @Test("catalogue IL-RX5 nine URNs in pages of three: one page immediately, one for each signal, and then the end")
    func signalledPages() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let urns = (1...9).map { "urn:srf:show:tv:\($0)" }
        let (signal, output) = AsyncStream.makeStream(of: Void.self)
        output.yield()
        var pages = try rig.provider.pages(size: 3) { try $0.shows(urns: urns) }.makeAsyncIterator()
        var found: [[String]] = []
        for await _ in signal {
            guard let page = try await pages.next() else { break }
            found.append(page.value.items.map(\.urn))
            #expect(rig.transport.requests.count == found.count)
            output.yield()
        }

        #expect(found == [Array(urns[0..<3]), Array(urns[3..<6]), Array(urns[6..<9])])
        #expect(rig.transport.requests.count == 3)
    }

    @Test("nothing is sent before pages are iterated, and each iteration sends its own requests")
    func cold() async throws {
        let rig = try CatalogueRig()
        rig.serveLists(count: 5)
        let pages = try rig.provider.pages { try $0.tvLatestEpisodes(.srf) }
        #expect(rig.transport.requests.isEmpty)
        #expect(try await pages.collected().count == 1)
        #expect(try await pages.collected().count == 1)

        #expect(rig.transport.requests.count == 2)
    }

    @Test("a failure of the first page is thrown")
    func firstFailure() async throws {
        let rig = try CatalogueRig()
        rig.answer("{}", status: 500)
        let pages = try rig.provider.pages { try $0.tvLatestEpisodes(.srf) }

        await #expect(throws: PageError.self) { _ = try await pages.collected() }
        #expect(rig.transport.requests.count == 1)
    }

    @Test("after a failure of a later page the list continues at that page")
    func laterFailure() async throws {
        let rig = try CatalogueRig()
        let first = #"{"mediaList": [{"id": "1"}], "next": "https://catalogue.example.com/list?next=2"}"#
        let rule = rig.transport.onAnyRequest()
        rule.then(.json(first)).then(.status(500), times: 2).then(.json(#"{"mediaList": [{"id": "2"}]}"#))
        var found: [[String]] = []
        var start: PageRequest?
        for _ in 0..<3 {
            do {
                for try await page in try rig.provider.pages(from: start, { try $0.tvLatestEpisodes(.srf) }) {
                    found.append(page.value.items.map(\.uid))
                }
            } catch let error as PageError {
                start = error.page
            }
        }

        #expect(found == [["1"], ["2"]])
        #expect(rig.transport.requests.count == 4)
        #expect(rig.transport.requests.dropFirst().allSatisfy { $0.queryItems["next"] == "2" })
    }

    @Test("cancelling during a later page is thrown")
    func cancelledPage() async throws {
        let rig = try CatalogueRig()
        let first = #"{"mediaList": [{"id": "1"}], "next": "https://catalogue.example.com/list?next=2"}"#
        let (begun, output) = AsyncStream.makeStream(of: Void.self)
        rig.transport.on("next") { request in
            guard request.queryItems["next"] != nil else { return false }
            output.yield()
            return true
        }
        .respond(.stalls)
        rig.transport.onAnyRequest().respond(.json(first))
        let pages = try rig.provider.pages { try $0.tvLatestEpisodes(.srf) }
        let task = Task { try await pages.collected().count }
        for await _ in begun { break }
        task.cancel()

        let failure = await #expect(throws: PageError.self) { try await task.value }
        #expect(failure?.isCancellation == true && failure?.page.number == 1)
        #expect(rig.transport.requests.count == 2)
    }

    @Test("finding UF-1 pages throw in a cancelled task", arguments: [1, 2])
    func cancelledBetweenPages(count: Int) async throws {
        let rig = try CatalogueRig()
        rig.transport.onAnyRequest()
            .then(.json(#"{"mediaList": [{"id": "1"}], "next": "https://catalogue.example.com/list?next=2"}"#))
            .then(.json(#"{"mediaList": [{"id": "2"}], "next": "https://catalogue.example.com/list?next=3"}"#))
        let pages = try rig.provider.pages { try $0.tvLatestEpisodes(.srf) }
        let failure = await Task {
            await #expect(throws: PageError.self) {
                var iterator = pages.makeAsyncIterator()
                for _ in 0..<count { _ = try await iterator.next() }
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await iterator.next()
            }
        }.value

        #expect(failure?.isCancellation == true && rig.transport.requests.count == count)
    }
}
