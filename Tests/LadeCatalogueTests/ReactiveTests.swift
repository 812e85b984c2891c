import Foundation
import LadeTesting
import Testing

@testable import LadeCatalogue

@Suite("Reactive outputs", .timeLimit(.minutes(5)))
struct ReactiveTests {
    private func sequence<Element: Sendable>(_ elements: [Element]) -> AsyncStream<Element> {
        AsyncStream { output in
            for element in elements { output.yield(element) }
            output.finish()
        }
    }

    @Test("catalogue IL-RX1 the latest of three sequences are one array")
    func accumulate() async throws {
        let arrays = try await accumulateLatest([1, 2, 3].map { sequence([$0]) }).collected()
        let none = try await accumulateLatest([AsyncStream<Int>]()).collected()

        #expect(arrays == [[1, 2, 3]] && none == [[]])
    }

    @Test("the latest of sequences follow each other, and a failure ends them")
    func accumulateSteps() async throws {
        let (first, firstOutput) = AsyncThrowingStream.makeStream(of: Int.self)
        let (second, secondOutput) = AsyncThrowingStream.makeStream(of: Int.self)
        var arrays = accumulateLatest([first, second]).makeAsyncIterator()
        firstOutput.yield(1)
        secondOutput.yield(2)
        #expect(try await arrays.next() == [1, 2])
        firstOutput.yield(3)
        #expect(try await arrays.next() == [3, 2])
        secondOutput.finish(throwing: LoadingError.cancelled(ErrorContext()))
        await #expect(throws: LoadingError.self) { _ = try await arrays.next() }
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
        let medias = try await rig.provider.load { try $0.topicLatestMedias(topicURN: urn).endpoint }
        #expect(medias.items.count == 2 && rig.paths.last?.hasSuffix("byTopicUrn/urn:rsi:topic:tv:7") == true)
    }

    @Test("catalogue IL-RX5 nine URNs in pages of three: one page immediately, one for each signal, and then the end")
    func signalledPages() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let urns = (1...9).map { "urn:srf:show:tv:\($0)" }
        let trigger = Trigger()
        let pages = try rig.provider.pages(size: 3, on: trigger.signal(1)) { try $0.shows(urns: urns) }
        var found: [[String]] = []
        for try await page in pages {
            found.append(page.items.map(\.urn))
            #expect(rig.transport.requests.count == found.count)
            trigger.activate(1)
        }

        #expect(found == [Array(urns[0..<3]), Array(urns[3..<6]), Array(urns[6..<9])])
        #expect(rig.transport.requests.count == 3)
    }

    @Test("nothing is sent before pages are walked, and each walk sends its own requests")
    func cold() async throws {
        let rig = try CatalogueRig()
        rig.serveLists(count: 5)
        let pages = try rig.provider.pages(on: sequence([])) { try $0.tvLatestEpisodes(.srf) }
        #expect(rig.transport.requests.isEmpty)
        #expect(try await pages.collected().count == 1)
        #expect(try await pages.collected().count == 1)

        #expect(rig.transport.requests.count == 2)
    }

    @Test("a failure of the first page is thrown")
    func firstFailure() async throws {
        let rig = try CatalogueRig()
        rig.answer("{}", status: 500)
        let pages = try rig.provider.pages(on: sequence([(), ()])) { try $0.tvLatestEpisodes(.srf) }

        await #expect(throws: PageFailure.self) { _ = try await pages.collected() }
        #expect(rig.transport.requests.count == 1)
    }

    @Test("a later page that fails is loaded again for the next signal")
    func laterFailure() async throws {
        let rig = try CatalogueRig()
        let first = #"{"mediaList": [{"id": "1"}], "next": "https://catalogue.example.com/list?next=2"}"#
        let rule = rig.transport.onAnyRequest()
        rule.then(.json(first)).then(.status(500), times: 2).then(.json(#"{"mediaList": [{"id": "2"}]}"#))
        let pages = try rig.provider.pages(on: sequence([(), (), (), ()])) { try $0.tvLatestEpisodes(.srf) }
        let found = try await pages.collected().map { $0.items.map(\.uid) }

        #expect(found == [["1"], ["2"]] && rig.transport.requests.count == 4)
        #expect(rig.transport.requests.dropFirst().allSatisfy { $0.queryItems["next"] == "2" })
    }

    @Test("cancelling during a later page is thrown, and does not wait for the next signal")
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
        let pages = try rig.provider.pages(on: sequence([(), (), ()])) { try $0.tvLatestEpisodes(.srf) }
        let task = Task { try await pages.collected().count }
        for await _ in begun { break }
        task.cancel()

        let failure = await #expect(throws: PageFailure.self) { try await task.value }
        #expect(failure?.isCancellation == true && failure?.page.number == 1)
        #expect(rig.transport.requests.count == 2)
    }

    @Test("a trigger activates the signals of an address alone, which end with it")
    func triggers() async throws {
        var trigger: Trigger? = Trigger()
        let one = try #require(trigger).signal(1)
        let other = try #require(trigger).signal("1")
        let same = try #require(trigger).signal(1)
        trigger?.activate(1)
        trigger?.activate(1)
        trigger?.activate("1")
        trigger?.activate("nothing")
        trigger = nil

        #expect(try await one.collected().count == 2)
        #expect(try await other.collected().count == 1)
        #expect(try await same.collected().count == 2)
    }

    @Test("a sequence waits for a signal, and is none without one")
    func waiting() async throws {
        #expect(try await sequence([1, 2]).waiting(for: sequence([()])).collected() == [1, 2])
        #expect(try await sequence([1, 2]).waiting(for: sequence([])).collected() == [])
        #expect(try await sequence([1, 2]).waiting(for: sequence([(), ()])).collected() == [1, 2])
    }

    @Test("of elements after the first only those count that no other follows in time")
    func debouncing() async throws {
        let time = VirtualTime()
        let (base, output) = AsyncStream.makeStream(of: Int.self)
        var elements = base.debouncedAfterFirst(.seconds(1), time: time).makeAsyncIterator()
        output.yield(1)
        #expect(try await elements.next() == 1)
        output.yield(2)
        output.yield(3)
        output.finish()
        // What waits is delivered with the end; 2 was followed by 3.
        #expect(try await elements.next() == 3)
        #expect(try await elements.next() == nil)
    }

    @Test("a debounced element is delivered once its time has passed")
    func debouncedInTime() async throws {
        let time = VirtualTime()
        let (base, output) = AsyncStream.makeStream(of: Int.self)
        var elements = base.debouncedAfterFirst(.seconds(1), time: time).makeAsyncIterator()
        output.yield(1)
        #expect(try await elements.next() == 1)
        output.yield(2)
        _ = try await time.nextSleeper()
        time.advance(by: .seconds(1))
        #expect(try await elements.next() == 2)
        output.finish()
        #expect(try await elements.next() == nil)
    }

    @Test("a run for each value of a signal, and one immediately when that is set")
    func publishing() async throws {
        let (signal, output) = AsyncStream.makeStream(of: Void.self)
        var elements = publish(on: signal) { self.sequence(["a"]) }.makeAsyncIterator()
        output.yield()
        #expect(try await elements.next() == "a")
        output.yield()
        #expect(try await elements.next() == "a")
        output.finish()
        #expect(try await elements.next() == nil)

        #expect(try await publish(on: nil) { self.sequence([1]) }.collected() == [])
        #expect(try await publish(on: nil, immediately: true) { self.sequence([1]) }.collected() == [1])
        #expect(try await publish(on: sequence([]), immediately: true) { self.sequence([1]) }.collected() == [1])
    }

    @Test("a new run ends the one before")
    func publishingLatest() async throws {
        let (signal, output) = AsyncStream.makeStream(of: Void.self)
        let ended = Signal()
        let runs = Locked(0)
        var elements = publish(on: signal) { () -> AsyncStream<Int> in
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            return AsyncStream { base in
                base.onTermination = { _ in if run == 1 { ended.raise() } }
                base.yield(run)
                if run == 2 { base.finish() }
            }
        }
        .makeAsyncIterator()
        output.yield()
        #expect(try await elements.next() == 1)
        output.yield()
        #expect(try await elements.next() == 2)
        try await ended.wait()
        output.finish()
        #expect(try await elements.next() == nil)
    }

    @Test("a run that fails ends the output")
    func publishingFailure() async throws {
        let elements = publish(on: sequence([()])) {
            AsyncThrowingStream<Int, any Error> { throw LoadingError.cancelled(ErrorContext()) }
        }

        await #expect(throws: LoadingError.self) { _ = try await elements.collected() }
    }
}
