import LadeCallbacks
import LadeContent
import LadeCore
import LadeTesting
import Testing

/// The result for input n is n + 1; a negative input fails.
@concurrent
@Sendable
private func successor(_ input: Int?) async throws -> Int? {
    let number = input ?? 0
    guard number >= 0 else { throw LoadingTestError() }
    return number + 1
}

@MainActor
@Suite("Content models", .timeLimit(.minutes(5)))
struct ContentModelTests {
    private typealias Model = ContentModel<Int, Int>
    private typealias Script = LoadScript<Int, Int>

    /// All reports of a model between its creation and its release.
    private struct Story {
        var states: [ContentState<Int>] = []
        var content: [Int] = []
        var errors: [LoadingTestError] = []

        var isLoading: [Bool] { states.map(\.isLoading) }
    }

    /// Uses a model and releases it: its sequences end, so that there are no further reports.
    private func story(of make: () -> Model, _ use: (Model) async throws -> Void) async rethrows -> Story {
        var model: Model? = make()
        guard let states = model?.states(buffering: .all), let content = model?.contentChanges,
            let errors = model?.errors
        else { return Story() }
        if let model { try await use(model) }
        model = nil
        return Story(
            states: await all(states),
            content: await all(content),
            errors: await all(errors).compactMap { $0 as? LoadingTestError }
        )
    }

    @Test("content CT-01 loads when the view is about to appear")
    func lifetimeTrigger() async {
        let story = await story(of: { Model(triggers: [.willAppear], load: successor) }) { model in
            model.lifetime = .didLoad
            model.lifetime = .willAppear
            _ = await settled(model)
            model.lifetime = .didAppear
        }

        #expect(story.content == [1])
        #expect(story.errors.isEmpty)
        #expect(story.states == [.unloaded, .loading, .success(1)])
    }

    @Test("content CT-02 gives the input to the load")
    func input() async {
        let story = await story(of: { Model(load: successor) }) { _ = await $0.load(15) }
        #expect(story.content == [16])
        #expect(story.errors.isEmpty)
    }

    @Test("content CT-03 reports a failure, and no content")
    func failure() async {
        let story = await story(of: { Model(load: successor) }) { _ = await $0.load(-1) }
        #expect(story.content.isEmpty)
        #expect(story.errors == [LoadingTestError()])
    }

    @Test("content CT-04 is loading once in a load that succeeds")
    func loadingOfSuccess() async {
        let story = await story(of: { Model(load: successor) }) { _ = await $0.load(0) }
        #expect(story.isLoading == [false, true, false])
        #expect(story.content == [1])
    }

    @Test("content CT-04 CT-05 is loading once in a load that fails")
    func loadingOfFailure() async {
        let story = await story(of: { Model(load: successor) }) { _ = await $0.load(-1) }
        #expect(story.isLoading == [false, true, false])
        #expect(story.content.isEmpty)
        #expect(story.errors == [LoadingTestError()])
    }

    @Test("content CT-06 goes from unloaded over loading to success")
    func statesOfSuccess() async {
        let story = await story(of: { Model(load: successor) }) { _ = await $0.load(0) }
        #expect(story.states == [.unloaded, .loading, .success(1)])
    }

    @Test("content CT-07 goes from unloaded over loading to the error")
    func statesOfFailure() async {
        let story = await story(of: { Model(load: successor) }) { _ = await $0.load(-1) }
        #expect(story.states == [.unloaded, .loading, .error(LoadingTestError())])
    }

    @Test("content XL-01 an empty list ends as empty, and nothing follows")
    func emptyList() async {
        var model: ListContentModel<Int, [Int]>? = EmptyListModel()
        guard let states = model?.states(buffering: .all), let content = model?.contentChanges else { return }

        let last = await model?.load()
        model = nil

        #expect(last == .empty)
        #expect(await all(states) == [.unloaded, .loading, .empty])
        #expect(await all(content) == [[]])
    }

    @Test("content XL-02 a load without a value leaves the state as it was")
    func withoutValue() async {
        let story = await story(of: { Model(load: { $0 }) }) { model in
            #expect(await model.load(nil) == .unloaded)
            #expect(await model.load(7) == .success(7))
            #expect(await model.load(nil) == .success(7))
        }
        #expect(story.states == [.unloaded, .loading, .unloaded, .loading, .success(7), .loading, .success(7)])
        #expect(story.content == [7])
        #expect(story.errors.isEmpty)
    }

    @Test("content XL-03 cancelling returns to the state before, and reports no error")
    func cancelling() async throws {
        let script = Script()
        let story = try await story(of: { Model { try await script.load($0) } }) { model in
            model.refresh(1)
            try await script.begun(1)
            script.end(0, .success(1))
            _ = await settled(model)
            model.refresh(2)
            try await script.begun(2)

            model.cancel()

            #expect(model.state == .success(1))
            #expect(!model.isLoading)
            try await script.cancelled(load: 1)
        }
        #expect(story.states == [.unloaded, .loading, .success(1), .loading, .success(1)])
        #expect(story.content == [1])
        #expect(story.errors.isEmpty)
    }

    @Test(
        "content XL-04 the latest of two refreshes wins, even when the first delivers later",
        arguments: [true, false]
    )
    func latest(endsWhenCancelled: Bool) async throws {
        let script = Script(endsWhenCancelled: endsWhenCancelled)
        let story = try await story(of: { Model { try await script.load($0) } }) { model in
            model.refresh(1)
            try await script.begun(1)
            model.refresh(2)
            try await script.begun(2)
            try await script.cancelled(load: 0)
            script.end(1, .success(2))
            _ = await settled(model)
            script.end(0, .success(1))
        }
        #expect(story.content == [2])
        #expect(story.states == [.unloaded, .loading, .loading, .success(2)])
        #expect(story.errors.isEmpty)
    }

    @Test("content XL-05 merged loads are loading until both have ended, and both deliver")
    func merged() async throws {
        let script = Script()
        let story = try await story(of: { Model(strategy: .merge) { try await script.load($0) } }) { model in
            var contents = model.contentChanges.makeAsyncIterator()
            model.refresh(1)
            model.refresh(2)
            try await script.begun(2)
            script.end(0, .success(10))
            _ = await contents.next()
            #expect(model.isLoading)
            #expect(model.content == 10)
            script.end(1, .success(20))
            _ = await settled(model)
        }
        #expect(story.content == [10, 20])
        #expect(story.isLoading == [false, true, true, true, false])
        #expect(story.states.last == .success(20))
    }

    @Test("content XL-06 concatenated loads run one after the other, in order")
    func concatenated() async throws {
        let script = Script()
        let story = try await story(of: { Model(strategy: .concat) { try await script.load($0) } }) { model in
            for input in 1...3 { model.refresh(input) }
            for number in 0..<3 {
                try await script.begun(number + 1)
                #expect(script.inputs.count == number + 1)
                script.end(number, number == 1 ? .failure(LoadingTestError()) : .success(number))
            }
            _ = await settled(model)
        }
        #expect(script.inputs == [1, 2, 3])
        #expect(story.content == [0, 2])
        #expect(story.errors == [LoadingTestError()])
        #expect(story.states.last == .success(2))
        #expect(story.isLoading == [false, true, true, true, true, true, false])
    }

    @Test("content XL-07 a failure in the background arrives on the main actor, properties first")
    func backgroundFailure() async {
        let model = Model { _ in throw LoadingTestError(code: 3) }
        var errors = model.errors.makeAsyncIterator()
        var states = model.snapshots(buffering: .all).makeAsyncIterator()
        model.refresh()

        let error = await errors.next()

        // When the event arrives, the state has changed and its subscribers have been notified.
        #expect(error as? LoadingTestError == LoadingTestError(code: 3))
        #expect(model.state == .error(LoadingTestError(code: 3)))
        #expect(await states.next()?.state == .unloaded)
        #expect(await states.next()?.state == .loading)
        #expect(await states.next()?.state == .error(LoadingTestError(code: 3)))
    }

    @Test("content XL-08 a model that is released during its load cancels it and ends its sequences")
    func release() async throws {
        let script = Script()
        var model: Model? = Model { try await script.load($0) }
        weak let released = model
        guard let states = model?.states(buffering: .all), let content = model?.contentChanges,
            let errors = model?.errors
        else { return }
        model?.refresh(1)
        try await script.begun(1)

        model = nil

        #expect(released == nil)
        try await script.cancelled(load: 0)
        #expect(await all(states) == [.unloaded, .loading])
        #expect(await all(content) == [])
        #expect(await all(errors).isEmpty)
    }

    @Test("content XL-09 two equal errors are two events")
    func equalErrors() async {
        let story = await story(of: { Model(load: successor) }) { model in
            _ = await model.load(-1)
            _ = await model.load(-1)
        }
        #expect(story.errors == [LoadingTestError(), LoadingTestError()])
    }

    @Test("content XL-10 each of two subscribers gets every event")
    func subscribers() async {
        var model: Model? = Model(load: successor)
        guard let first = model?.errors, let second = model?.errors, let changes = model?.contentChanges,
            let refreshes = model?.refreshes
        else { return }
        for input in [-1, 1, -2] { _ = await model?.load(input) }
        model = nil

        #expect(await all(first).count == 2)
        #expect(await all(second).count == 2)
        #expect(await all(changes) == [2])
        #expect(await all(refreshes) == [-1, 1, -2])
    }

    @Test("content XL-11 a late subscriber gets the present state first")
    func lateSubscriber() async {
        let model = Model(load: successor)
        _ = await model.load(1)
        var states = model.snapshots().makeAsyncIterator()
        #expect(await states.next()?.state == .success(2))
    }

    @Test("content XL-12 a refresh after a success keeps the content, and says that it is a refresh")
    func refreshKeepsContent() async throws {
        let script = Script()
        let model = Model { try await script.load($0) }
        model.refresh(1)
        #expect(model.snapshot.reason == .first)
        try await script.begun(1)
        script.end(0, .success(1))
        _ = await settled(model)

        model.refresh(2)

        #expect(model.state == .loading)
        #expect(model.content == 1)
        #expect(model.snapshot.reason == .refresh)
        model.cancel()
    }

    @Test("content XL-13 an error after a success keeps the content")
    func errorKeepsContent() async {
        let model = Model(load: successor)
        _ = await model.load(1)
        _ = await model.load(-1)
        #expect(model.lastError as? LoadingTestError == LoadingTestError())
        #expect(model.content == 2)
        #expect(model.snapshot.reason == nil)

        // A refresh clears the error, and cancelling it brings the error back.
        model.refresh(1)
        #expect(model.lastError == nil)
        model.cancel()
        #expect(model.lastError as? LoadingTestError == LoadingTestError())
    }

    @Test("content XL-20 a view that has disappeared cancels the load")
    func cancelsOnDisappearing() async throws {
        let script = Script()
        let make = { Model(triggers: [.willAppear], cancelsOn: [.didDisappear]) { try await script.load($0) } }
        let story = try await story(of: make) { model in
            model.lifetime = .willAppear
            try await script.begun(1)
            model.lifetime = .willDisappear
            #expect(model.isLoading)
            model.lifetime = .didDisappear
            #expect(model.state == .unloaded)
            try await script.cancelled(load: 0)
        }
        #expect(story.states == [.unloaded, .loading, .unloaded])
        #expect(story.errors.isEmpty)
    }

    @Test(
        "content XL-21 a view that appears three times loads three times, or once where content is enough",
        arguments: [(Model.TriggerPolicy.always, 3), (.withoutContent, 1), (.olderThan(.seconds(60)), 1)]
    )
    func appearsThrice(policy: ContentModel<Int, Int>.TriggerPolicy, loads: Int) async {
        let story = await story(of: {
            Model(triggers: [.willAppear], policy: policy, time: VirtualTime(), load: successor)
        }) {
            model in
            for _ in 0..<3 {
                model.lifetime = .willAppear
                _ = await settled(model)
            }
        }
        #expect(story.content == Array(repeating: 1, count: loads))
    }

    @Test("a trigger loads again when the content is older than the policy allows, and after a failure")
    func policies() async {
        let time = VirtualTime()
        let model = Model(triggers: [.willAppear], policy: .olderThan(.seconds(60)), time: time, load: successor)
        model.lifetime = .willAppear
        _ = await settled(model)
        time.advance(by: .seconds(60))
        model.lifetime = .willAppear
        #expect(!model.isLoading)
        time.advance(by: .seconds(1))
        model.lifetime = .willAppear
        #expect(model.isLoading)

        let failing = Model(triggers: [.willAppear], policy: .withoutContent, load: successor)
        _ = await failing.load(1)
        _ = await failing.load(-1)
        failing.lifetime = .willAppear
        #expect(failing.isLoading)
    }

    @Test("a view that appears again starts no other load while old content is being replaced")
    func appearsDuringReplacement() async throws {
        let time = VirtualTime()
        let script = Script()
        var model: Model? = Model(triggers: [.willAppear], policy: .olderThan(.seconds(60)), time: time) {
            try await script.load($0)
        }
        guard let refreshes = model?.refreshes else { return }
        model?.refresh(1)
        model?.lifetime = .willAppear
        try await script.begun(1)
        script.end(0, .success(1))
        if let model { _ = await settled(model) }
        time.advance(by: .seconds(61))

        model?.lifetime = .willAppear
        model?.lifetime = .willAppear
        model = nil

        #expect(await all(refreshes) == [1, nil])
    }

    @Test(
        "a view that appears again during its first load starts no other, where content is enough",
        arguments: [Model.TriggerPolicy.withoutContent, .olderThan(.seconds(60))]
    )
    func appearsDuringFirstLoad(policy: ContentModel<Int, Int>.TriggerPolicy) async throws {
        let script = Script()
        var model: Model? = Model(triggers: [.willAppear], policy: policy, time: VirtualTime()) {
            try await script.load($0)
        }
        guard let refreshes = model?.refreshes else { return }

        for _ in 0..<2 { model?.lifetime = .willAppear }
        model = nil

        #expect(await all(refreshes) == [nil])
    }

    @Test("a value that arrives after its load was cancelled is no content for a trigger")
    func lateValue() async throws {
        let (ended, output) = AsyncStream.makeStream(of: Int.self)
        let script = Script(endsWhenCancelled: false)
        let model = Model(
            triggers: [.willAppear],
            policy: .olderThan(.seconds(60)),
            time: VirtualTime(),
            isEmpty: { value in
                output.yield(value)
                return false
            }
        ) { try await script.load($0) }
        model.refresh(1)
        try await script.begun(1)
        model.cancel()
        script.end(0, .success(7))
        // Its end is handled on the main actor in one go.
        var values = ended.makeAsyncIterator()
        #expect(await values.next() == 7)
        #expect(model.state == .unloaded)

        model.lifetime = .willAppear

        #expect(model.isLoading)
        try await script.begun(2)
        script.end(1, .success(nil))
    }

    @Test("content XL-23 a switch over the five cases is exhaustive")
    func fiveCases() {
        func word(_ state: ContentState<Int>) -> String {
            switch state {
            case .unloaded: "unloaded"
            case .loading: "loading"
            case .success(let value): "\(value)"
            case .empty: "empty"
            case .error(let error): "\(error)"
            }
        }
        #expect(word(.success(3)) == "3")
        #expect(ContentState<Int>.error(LoadingTestError()) != .error(LoadingTestError(code: 1)))
        #expect(ContentState<Int>.error(LoadingTestError()) != .error(CancellationError()))
        #expect(ContentState<Int>.error(CancellationError()) == .error(CancellationError()))
    }

    @Test("errors of different types are different, even if they are described alike")
    func errorsOfTwoTypes() {
        struct One: Error, CustomDebugStringConvertible { var debugDescription: String { "error" } }
        struct Other: Error, CustomDebugStringConvertible { var debugDescription: String { "error" } }

        #expect(ContentState<Int>.error(One()) == .error(One()))
        #expect(ContentState<Int>.error(One()) != .error(Other()))
    }

    @Test("a trigger of the initial lifetime loads at creation")
    func initialTrigger() async {
        let model = Model(triggers: [.initialised], load: successor)
        #expect(model.isLoading)
        #expect(await settled(model) == .success(1))
    }

    @Test("a model that overrides its load combines loads by the strategy that it is made with")
    func strategyOfSubclass() async throws {
        let script = Script()
        let model = MergedModel(script)
        var contents = model.contentChanges.makeAsyncIterator()
        model.refresh(1)
        model.refresh(2)
        try await script.begun(2)
        for number in 0..<2 {
            script.end(number, .success(number))
            #expect(await contents.next() == number)
        }
        #expect(await settled(model) == .success(1))
    }

    @Test("a bound sequence sets the lifetime, and does not keep the model")
    func boundLifetime() async {
        let (lifetimes, continuation) = AsyncStream.makeStream(of: ViewLifetime.self)
        var model: Model? = Model(triggers: [.willAppear], load: successor)
        weak let released = model
        guard let snapshots = model?.snapshots(buffering: .all) else { return }
        model?.bind(lifetime: lifetimes)
        var iterator = snapshots.makeAsyncIterator()
        continuation.yield(.willAppear)
        while let snapshot = await iterator.next(), snapshot.state != .success(1) {}
        model = nil
        #expect(released == nil)
        guard case .terminated = continuation.yield(.willAppear) else {
            Issue.record("the sequence is still read")
            return
        }
        #expect(await iterator.next() == nil)
    }

    @Test("a sequence of values keeps the model loading until it ends; each value is content")
    func severalValues() async {
        let (values, continuation) = AsyncStream.makeStream(of: Int.self)
        let model = SequenceModel(values)
        var content = model.contentChanges.makeAsyncIterator()
        model.refresh()
        for value in 1...3 {
            continuation.yield(value)
            #expect(await content.next() == value)
            #expect(model.isLoading)
            #expect(model.content == value)
        }
        continuation.finish()
        #expect(await settled(model) == .success(3))
    }

    @Test("an input that does not change starts no load; one that does waits for its delay")
    func searchAsYouType() async throws {
        let time = VirtualTime()
        let script = LoadScript<String, Int>()
        let model = ContentModel<String, Int>(time: time) { try await script.load($0) }
        model.refresh(whenChanged: "a", after: .milliseconds(300))
        _ = try await time.nextSleeper()
        time.advance(by: .milliseconds(299))
        model.refresh(whenChanged: "ab", after: .milliseconds(300))
        // The first wait has ended when only the second is left.
        var sleepers = try await time.sleepers(atLeast: 1)
        while sleepers.first?.deadline != time.now.advanced(by: .milliseconds(300)) || sleepers.count > 1 {
            sleepers = try await time.sleepers(atLeast: 1)
            await Task.yield()
        }
        #expect(!model.isLoading)

        time.advance(by: .milliseconds(300))
        try await script.begun(1)
        model.refresh(whenChanged: "ab", after: .milliseconds(300))

        #expect(script.inputs == ["ab"])
        #expect(time.sleepers.isEmpty)
        // After a cancellation the same input is a new one.
        model.cancel()
        model.refresh(whenChanged: "ab")
        try await script.begun(2)
        #expect(script.inputs == ["ab", "ab"])
    }

    @Test("a refresh that waits for its delay is cancelled by another input, by a cancellation and with the model")
    func delayedRefresh() async throws {
        let time = VirtualTime()
        var model: ContentModel<String, Int>? = ContentModel(time: time) { _ in 1 }
        let ends: [@MainActor (ContentModel<String, Int>?) -> Void] = [
            { $0?.refresh(whenChanged: "b") }, { $0?.cancel() },
        ]
        for end in ends {
            model?.refresh(whenChanged: "a", after: .milliseconds(300))
            _ = try await time.nextSleeper()
            end(model)
            #expect(time.sleepers.isEmpty)
        }
        model?.refresh(whenChanged: "a", after: .milliseconds(300))
        _ = try await time.nextSleeper()

        model = nil

        #expect(time.sleepers.isEmpty)
    }

    @Test("a subscriber that is slower than the changes receives the newest state, or all when it asks for them")
    func slowSubscriber() async {
        var model: Model? = Model(load: successor)
        guard let newest = model?.states(), let every = model?.states(buffering: .all) else { return }
        for input in 1...2 { _ = await model?.load(input) }
        model = nil

        #expect(await all(newest) == [.success(3)])
        #expect(await all(every) == [.unloaded, .loading, .success(2), .loading, .success(3)])
    }

    @Test("no input at all is an input, too, the first time")
    func firstNothing() {
        let model = Model(load: successor)
        model.refresh(whenChanged: nil)
        #expect(model.isLoading)
    }

    @Test("content of a store is shown as stale until the load delivers, and after it failed")
    func storedContent() async throws {
        let script = Script()
        let model = Model(stored: { _ in 99 }) { try await script.load($0) }
        var content = model.contentChanges.makeAsyncIterator()
        model.refresh(1)
        #expect(await content.next() == 99)
        #expect(model.snapshot.isStale)
        #expect(model.isLoading)
        try await script.begun(1)
        script.end(0, .failure(LoadingTestError()))
        #expect(await settled(model) == .error(LoadingTestError()))
        #expect(model.content == 99)
        #expect(model.snapshot.isStale)

        model.retry()
        try await script.begun(2)
        script.end(1, .success(5))
        #expect(await settled(model) == .success(5))
        #expect(!model.snapshot.isStale)
        #expect(script.inputs == [1, 1])
    }

    /// How a load ends that has not delivered while stored content is shown.
    enum Interruption: CaseIterable {
        case noValue
        case cancelled
        case cancelledByItself
        case superseded
        case supersededAndCancelled
        case failedAndCancelled
    }

    @Test("finding LF-8 stored content stays, marked as stale, however the load ends", arguments: Interruption.allCases)
    func storedContentStays(interruption: Interruption) async throws {
        let script = Script()
        let model = Model(triggers: [.willAppear], policy: .withoutContent, stored: { _ in 99 }) {
            try await script.load($0)
        }
        var content = model.contentChanges.makeAsyncIterator()
        model.refresh(1)
        #expect(await content.next() == 99)
        try await script.begun(1)

        switch interruption {
        case .noValue: script.end(0, .success(nil))
        case .cancelled: model.cancel()
        case .cancelledByItself: script.end(0, .failure(CancellationError()))
        case .superseded, .supersededAndCancelled:
            model.refresh(2)
            try await script.begun(2)
            #expect(model.content == 99 && model.snapshot.isStale)
            if interruption == .superseded { script.end(1, .success(nil)) } else { model.cancel() }
        case .failedAndCancelled:
            script.end(0, .failure(LoadingTestError()))
            _ = await settled(model)
            model.refresh(2)
            try await script.begun(2)
            model.cancel()
        }
        let state = await settled(model)

        #expect(state == (interruption == .failedAndCancelled ? .error(LoadingTestError()) : .unloaded))
        #expect(model.content == 99 && model.snapshot.isStale)

        // Stale content does not keep a trigger from loading, and the next value replaces it.
        let begun = script.inputs.count
        model.lifetime = .willAppear
        try await script.begun(begun + 1)
        script.end(begun, .success(5))
        #expect(await settled(model) == .success(5))
        #expect(model.content == 5 && !model.snapshot.isStale)
    }

    /// A store that answers only when its task is cancelled, and says when it is asked and when it ends.
    private struct SlowStore: Sendable {
        let events: AsyncStream<String>
        private let output: AsyncStream<String>.Continuation

        init() { (events, output) = AsyncStream.makeStream(of: String.self) }

        @concurrent
        func read(_ input: Int?) async -> Int? {
            output.yield("asked")
            // Nothing is ever sent, so it ends when the task is cancelled.
            let (silence, holder) = AsyncStream.makeStream(of: Int.self)
            for await _ in silence {}
            holder.finish()
            output.yield("cancelled")
            return 99
        }
    }

    @Test("a store is not waited for once the load has delivered, and is cancelled with the model")
    func slowStore() async throws {
        let script = Script()
        let store = SlowStore()
        var events = store.events.makeAsyncIterator()
        var model: Model? = Model(stored: { await store.read($0) }) { try await script.load($0) }
        model?.refresh(1)
        #expect(await events.next() == "asked")
        try await script.begun(1)
        script.end(0, .success(nil))
        #expect(await events.next() == "cancelled")
        #expect(model?.content == nil)

        model?.refresh(2)
        #expect(await events.next() == "asked")
        model = nil
        #expect(await events.next() == "cancelled")
    }

    /// A model whose first load has failed while its store had not answered.
    private func failedBeforeItsStore() async throws -> (Model, load: Script, store: Script) {
        let (script, store) = (Script(), Script())
        let model = Model(stored: { try? await store.load($0) }, load: { try await script.load($0) })
        model.refresh(1)
        try await store.begun(1)
        try await script.begun(1)
        script.end(0, .failure(LoadingTestError()))
        _ = await settled(model)
        return (model, script, store)
    }

    @Test("content of a store that answers after the load failed is shown as stale beside the error")
    func storeAfterFailure() async throws {
        let (model, _, store) = try await failedBeforeItsStore()
        #expect(model.state == .error(LoadingTestError()))
        #expect(model.content == nil)

        var content = model.contentChanges.makeAsyncIterator()
        store.end(0, .success(99))

        #expect(await content.next() == 99)
        #expect(model.state == .error(LoadingTestError()))
        #expect(model.content == 99 && model.snapshot.isStale)
    }

    @Test("a store that has not answered is cancelled by the load after the failed one, and by a cancellation")
    func storeOfFailedLoad() async throws {
        let (model, script, store) = try await failedBeforeItsStore()

        model.retry()
        try await store.cancelled(load: 0)
        try await store.begun(2)
        try await script.begun(2)
        script.end(1, .failure(LoadingTestError()))
        _ = await settled(model)
        model.cancel()

        try await store.cancelled(load: 1)
        #expect(model.state == .error(LoadingTestError()) && model.content == nil)
    }

    @Test("a store is asked only while there is no content")
    func storeWithContent() async {
        let asked = Locked<[Int?]>([])
        let model = Model(
            stored: { input in
                asked.withLock { $0.append(input) }
                return nil
            },
            load: successor
        )
        // A failure leaves the model without content, so the store is asked again.
        for input in [-1, 1, 2, -2, 3] { _ = await model.load(input) }

        #expect(model.state == .success(4))
        #expect(asked.withLock { $0.compactMap { $0 } }.allSatisfy { [-1, 1].contains($0) })
    }

    @Test("a lifetime that both cancels and triggers starts a new load")
    func cancelsAndTriggers() async throws {
        let script = Script()
        let model = Model(triggers: [.willAppear], cancelsOn: [.willAppear]) { try await script.load($0) }
        model.refresh(1)
        try await script.begun(1)
        model.lifetime = .willAppear
        try await script.cancelled(load: 0)
        try await script.begun(2)

        #expect(model.isLoading && script.inputs == [1, nil])
        model.cancel()
    }

    @Test("retrying without a failure does nothing")
    func retryWithoutFailure() async {
        let model = Model(load: successor)
        model.retry()
        #expect(model.state == .unloaded)
        _ = await model.load(1)
        model.retry()
        #expect(model.state == .success(2))
    }

    @Test("retrying repeats the load that failed, when a later load was cancelled since")
    func retryAfterCancellation() async throws {
        let script = Script()
        let model = Model { try await script.load($0) }
        model.refresh(1)
        try await script.begun(1)
        script.end(0, .failure(LoadingTestError()))
        _ = await settled(model)
        model.refresh(2)
        try await script.begun(2)
        model.cancel()
        #expect(model.state == .error(LoadingTestError()))

        model.retry()

        try await script.begun(3)
        #expect(script.inputs == [1, 2, 1])
        model.cancel()
    }

    @Test("retrying repeats the load that failed, when a later load delivered before")
    func retryOfMerged() async throws {
        let script = Script()
        let model = Model(strategy: .merge) { try await script.load($0) }
        var contents = model.contentChanges.makeAsyncIterator()
        model.refresh(1)
        try await script.begun(1)
        model.refresh(2)
        try await script.begun(2)
        script.end(1, .success(20))
        _ = await contents.next()
        script.end(0, .failure(LoadingTestError()))
        #expect(await settled(model) == .error(LoadingTestError()))

        model.retry()

        try await script.begun(3)
        #expect(script.inputs == [1, 2, 1])
        model.cancel()
    }

    @Test("a load that is cancelled elsewhere is not a failure")
    func foreignCancellation() async {
        let errors: [any Error] = [
            CancellationError(), LoadingError(.cancelled),
            NetworkError.transport(LoadingError(.cancelled), looksLikePublicWiFi: false),
        ]
        for error in errors {
            let model = Model { _ in throw error }
            #expect(await model.load(1) == .unloaded)
        }
    }
}

private final class EmptyListModel: ListContentModel<Int, [Int]> {
    override func makeLoad(_ input: Int?) -> ContentLoad<[Int]> { ContentLoad { [] } }
}

private final class MergedModel: ContentModel<Int, Int> {
    private let script: LoadScript<Int, Int>

    init(_ script: LoadScript<Int, Int>) {
        self.script = script
        super.init(strategy: .merge)
    }

    override func makeLoad(_ input: Int?) -> ContentLoad<Int> {
        ContentLoad { [script] in try await script.load(input) }
    }
}

private final class SequenceModel: ContentModel<Int, Int> {
    private let values: AsyncStream<Int>

    init(_ values: AsyncStream<Int>) {
        self.values = values
        super.init()
    }

    override func makeLoad(_ input: Int?) -> ContentLoad<Int> {
        .values { [values] in values }
    }
}
