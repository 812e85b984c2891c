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

    @Test("finding UF-1 a reader that is cancelled receives none of the elements that are ready")
    func cancelledReader() async throws {
        let trigger = Trigger()
        let triggered = trigger.signal(1)
        for _ in 0..<3 { trigger.activate(1) }
        let (numbers, numbersOutput) = AsyncStream.makeStream(of: Int.self)
        for number in 0..<9 { numbersOutput.yield(number) }
        let latest = accumulateLatest([numbers])
        let found = try await Task {
            var (arrays, signals) = (latest.makeAsyncIterator(), triggered.makeAsyncIterator())
            let first = (try await arrays.next(), await signals.next() != nil)
            withUnsafeCurrentTask { $0?.cancel() }
            return (first.0, first.1, try await arrays.next(), await signals.next() != nil)
        }.value

        #expect(found == ([0], true, nil, false))
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
        secondOutput.finish(throwing: LoadingError(.cancelled))
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

    @Test("pages end after the last one without another signal")
    func lastPage() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let signals = Locked(0)
        let signal = AsyncStream<Void> { signals.withLock { $0 += 1 } }
        let urns = (1...9).map { "urn:srf:show:tv:\($0)" }
        let pages = try rig.provider.pages(size: 3, on: signal) { try $0.shows(urns: urns) }

        #expect(try await pages.collected().count == 3)
        #expect(signals.withLock { $0 } == 2)
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

    @Test("finding UF-1 pages by signal throw in a cancelled task, also when a signal is there", arguments: [1, 2])
    func cancelledBetweenPages(count: Int) async throws {
        let rig = try CatalogueRig()
        rig.transport.onAnyRequest()
            .then(.json(#"{"mediaList": [{"id": "1"}], "next": "https://catalogue.example.com/list?next=2"}"#))
            .then(.json(#"{"mediaList": [{"id": "2"}], "next": "https://catalogue.example.com/list?next=3"}"#))
        let pages = try rig.provider.pages(on: sequence([(), (), ()])) { try $0.tvLatestEpisodes(.srf) }
        let failure = await Task {
            await #expect(throws: PageFailure.self) {
                var iterator = pages.makeAsyncIterator()
                for _ in 0..<count { _ = try await iterator.next() }
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await iterator.next()
            }
        }.value

        #expect(failure?.isCancellation == true && rig.transport.requests.count == count)
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
        // An address of another type is another address.
        trigger?.activate(1.0)
        trigger?.activate(UInt8(1))
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
        #expect(try await Repeatable().waiting(for: sequence([(), ()])).collected() == [1, 2])
    }

    /// Delivers 1 and 2 to each iterator.
    private struct Repeatable: AsyncSequence, Sendable {
        struct AsyncIterator: AsyncIteratorProtocol {
            var rest = [1, 2][...]
            mutating func next() async -> Int? { rest.popFirst() }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
    }

    @Test("a sequence that is no longer read is released")
    func releasing() async throws {
        let released = Signal()
        var elements: AsyncThrowingStream<Int, any Error>?
        do {
            let token = Token(released)
            let base = AsyncStream<Int> { [token] in
                try? await Signal().wait()
                return withExtendedLifetime(token) { nil }
            }
            elements = base.waiting(for: sequence([()]))
        }
        #expect(elements != nil)
        elements = nil
        try await released.wait()
    }

    @Test("a new element ends the timer of the one before")
    func debouncedTimers() async throws {
        let time = WatchedTime()
        let (base, output) = AsyncStream.makeStream(of: Int.self)
        var elements = base.debouncedAfterFirst(.seconds(1), time: time).makeAsyncIterator()
        output.yield(1)
        #expect(try await elements.next() == 1)
        output.yield(2)
        _ = try await time.base.nextSleeper()
        output.yield(3)
        try await time.cancelled.wait()
        output.finish()
        #expect(try await elements.next() == 3)
    }

    /// Virtual time that raises a signal when a sleep is cancelled.
    private struct WatchedTime: TimeSource {
        let base = VirtualTime()
        let cancelled = Signal()
        var now: Instant { base.now }
        var date: Date { base.date }

        func sleep(until deadline: Instant) async throws(LoadingError) {
            do throws(LoadingError) {
                try await base.sleep(until: deadline)
            } catch {
                cancelled.raise()
                throw error
            }
        }
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

    @Test("without a time to wait each element is delivered before the next arrives")
    func debouncedByNothing() async throws {
        let (base, output) = AsyncStream.makeStream(of: Int.self)
        var elements = base.debouncedAfterFirst(.zero, time: VirtualTime()).makeAsyncIterator()
        for number in 1...5_000 {
            output.yield(number)
            #expect(try await elements.next() == number)
        }
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

    /// Raises a signal when it is released.
    private final class Token: Sendable {
        let released: Signal

        init(_ released: Signal) { self.released = released }
        deinit { released.raise() }
    }

    /// The second run delivers 2 once nothing of the first remains; the first ends when it is cancelled.
    private func replaced(
        _ last: @escaping @Sendable () throws -> Int?
    ) -> AsyncThrowingStream<Int, any Error> {
        let released = Signal()
        let (runs, begun) = (Locked(0), Signal())
        let signal = AsyncStream<Void> { [values = Locked(0)] in
            let number = values.withLock { values in
                values += 1
                return values
            }
            // The second run begins after the first.
            if number == 2 { try? await begun.wait() }
            return number > 2 ? nil : ()
        }
        return publish(on: signal) { () -> AsyncThrowingStream<Int, any Error> in
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            guard run > 1 else {
                let token = Token(released)
                return AsyncThrowingStream<Int, any Error> { [token, calls = Locked(0)] in
                    begun.raise()
                    let isFirst = calls.withLock { calls in
                        calls += 1
                        return calls == 1
                    }
                    guard isFirst else { return nil }
                    try? await Signal().wait()
                    return try withExtendedLifetime(token) { try last() }
                }
            }
            return AsyncThrowingStream<Int, any Error> { [calls = Locked(0)] in
                let isFirst = calls.withLock { calls in
                    calls += 1
                    return calls == 1
                }
                guard isFirst else { return nil }
                try await released.wait()
                return 2
            }
        }
    }

    @Test("a run that is replaced delivers nothing any more, and its failure is none of the output")
    func replacedRuns() async throws {
        #expect(try await replaced { 1 }.collected() == [2])
        #expect(try await replaced { throw LoadingError(.cancelled) }.collected() == [2])
    }

    @Test("the last run continues after the signal has ended")
    func lastRun() async throws {
        let ended = Signal()
        let signal = AsyncStream<Void> { [values = Locked(0)] in
            let isFirst = values.withLock { values in
                values += 1
                return values == 1
            }
            if isFirst { return () }
            ended.raise()
            return nil
        }
        let numbers = publish(on: signal) {
            AsyncStream<Int> { [last = Locked(0)] in
                try? await ended.wait()
                let number = last.withLock { last in
                    last += 1
                    return last
                }
                return number > 1_000 ? nil : number
            }
        }
        #expect(try await numbers.collected().count == 1_000)
    }

    @Test("no run starts after the output is cancelled")
    func publishingAfterTheEnd() async throws {
        let (begun, released) = (Signal(), Signal())
        let task: Task<Void, any Error>
        do {
            let token = Token(released)
            let values = Locked(0)
            let signal = AsyncStream<Void> {
                let number = values.withLock { values in
                    values += 1
                    return values
                }
                // The second value arrives with the cancellation, which ends this wait.
                if number == 2 { try? await Signal().wait() }
                return number > 2 ? nil : ()
            }
            task = Task {
                let elements = publish(on: signal) { [token] in
                    AsyncStream<Token> { $0.yield(token) }
                }
                for try await _ in elements { begun.raise() }
            }
        }
        try await begun.wait()
        task.cancel()
        _ = try? await task.value
        // A run that is still active would hold it.
        try await released.wait()
    }

    @Test("a run that fails ends the output")
    func publishingFailure() async throws {
        let elements = publish(on: sequence([()])) {
            AsyncThrowingStream<Int, any Error> { throw LoadingError(.cancelled) }
        }

        await #expect(throws: LoadingError.self) { _ = try await elements.collected() }
    }
}
