import LadeTesting
import Testing

@testable import LadeContent

/// Compares the machine with an independently written table of transitions.
@Suite("The state machine of content", .timeLimit(.minutes(1)))
struct ContentMachineTests {
    private typealias Machine = ContentMachine<Int, Int>

    /// The possible events, each with the load that it concerns.
    private enum Step: CaseIterable {
        case refresh
        case value
        case emptyValue
        case finish
        case finishEmpty
        case complete
        case fail
        case staleFinish
        case staleFail
        case cancel
    }

    /// The result of a sequence of events with the strategy `latest`.
    private struct Expected {
        var settled = ContentState<Int>.unloaded
        var settledContent: Int?
        var content: Int?
        var load: Int?
        var loads = 0

        var state: ContentState<Int> { load == nil ? settled : .loading }

        mutating func apply(_ step: Step, _ number: Int) {
            switch step {
            case .refresh:
                loads += 1
                load = loads
            case .value, .emptyValue:
                guard load != nil else { return }
                content = number
                settledContent = number
                settled = step == .value ? .success(number) : .empty
            case .finish, .finishEmpty:
                guard load != nil else { return }
                content = number
                settledContent = number
                settled = step == .finish ? .success(number) : .empty
                load = nil
            case .complete, .cancel:
                guard load != nil else { return }
                content = settledContent
                load = nil
            case .fail:
                guard load != nil else { return }
                settled = .error(LoadingTestError(code: number))
                settledContent = content
                load = nil
            case .staleFinish, .staleFail: break
            }
        }
    }

    private func event(_ step: Step, _ number: Int, load: Int) -> Machine.Event {
        switch step {
        case .refresh: .refresh(number, nil)
        case .value: .value(load: load, number, isEmpty: false)
        case .emptyValue: .value(load: load, number, isEmpty: true)
        case .finish: .finished(load: load, number, isEmpty: false)
        case .finishEmpty: .finished(load: load, number, isEmpty: true)
        case .complete: .completed(load: load)
        case .fail: .failed(load: load, LoadingTestError(code: number))
        case .staleFinish: .finished(load: load - 1, number, isEmpty: false)
        case .staleFail: .failed(load: load - 1, LoadingTestError(code: number))
        case .cancel: .cancel
        }
    }

    private func check(_ steps: [Step]) -> String? {
        var machine = Machine(strategy: .latest)
        var expected = Expected()
        for (number, step) in steps.enumerated() {
            let loadBefore = expected.loads
            let hadLoad = expected.load != nil
            let effects = machine.handle(event(step, number, load: loadBefore))
            expected.apply(step, number)
            guard machine.snapshot.state == expected.state else {
                return "\(steps) at \(number): \(machine.snapshot.state), not \(expected.state)"
            }
            guard machine.snapshot.content == expected.content else {
                return "\(steps) at \(number): content \(String(describing: machine.snapshot.content))"
            }
            guard (machine.snapshot.reason != nil) == expected.state.isLoading else { return "\(steps): a reason" }
            let isStale = step == .staleFinish || step == .staleFail
            let isIgnored = isStale || step != .refresh && !hadLoad
            guard (effects == nil) == isIgnored else { return "\(steps) at \(number): \(String(describing: effects))" }
            let starts = effects?.count { if case .start = $0 { true } else { false } } ?? 0
            guard starts == (step == .refresh ? 1 : 0) else { return "\(steps) at \(number): \(starts) starts" }
            let cancels = effects?.count { if case .cancel = $0 { true } else { false } } ?? 0
            guard cancels == ((step == .refresh || step == .cancel) && hadLoad ? 1 : 0) else {
                return "\(steps) at \(number): \(cancels) cancellations"
            }
        }
        return nil
    }

    @Test("every story of up to five events goes as the table says")
    func everyStory() {
        var stories: [[Step]] = [[]]
        for _ in 0..<5 {
            stories = stories.flatMap { story in Step.allCases.map { story + [$0] } }
            if let fault = stories.lazy.compactMap({ check($0) }).first {
                Issue.record("\(fault)")
                return
            }
        }
        #expect(stories.count == 100_000)
    }

    @Test("long random stories go as the table says", arguments: 1...100 as ClosedRange<UInt64>)
    func longStories(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let steps = (0..<200).map { _ in Step.allCases[Int(random.next() % UInt64(Step.allCases.count))] }
        #expect(check(steps) == nil, "seed \(seed)")
    }

    @Test("merged loads end independently, and the last outcome is shown")
    func merging() {
        var machine = Machine(strategy: .merge)
        _ = machine.handle(.refresh(1, nil))
        _ = machine.handle(.refresh(2, nil))
        _ = machine.handle(.failed(load: 2, LoadingTestError()))
        #expect(machine.snapshot.state == .loading)
        _ = machine.handle(.finished(load: 1, 5, isEmpty: false))
        #expect(machine.snapshot.state == .success(5))

        _ = machine.handle(.refresh(1, nil))
        _ = machine.handle(.refresh(2, nil))
        let effects = machine.handle(.cancel)
        #expect(effects?.count == 2)
        #expect(machine.snapshot.state == .success(5))
    }

    @Test("concatenated loads wait, and a cancellation includes those that wait")
    func concatenating() {
        var machine = Machine(strategy: .concat)
        _ = machine.handle(.refresh(1, nil))
        let second = machine.handle(.refresh(2, nil))
        #expect(second?.contains { if case .start = $0 { true } else { false } } == false)
        let next = machine.handle(.completed(load: 1))
        #expect(next?.contains { if case .start(2, .some(2)) = $0 { true } else { false } } == true)
        _ = machine.handle(.refresh(3, nil))
        _ = machine.handle(.cancel)
        #expect(machine.snapshot.state == .unloaded)
        #expect(machine.handle(.finished(load: 2, 1, isEmpty: false)) == nil)
        #expect(machine.handle(.finished(load: 3, 1, isEmpty: false)) == nil)
    }

    @Test("content of a store counts only before anything newer")
    func storing() {
        var machine = Machine(strategy: .latest)
        _ = machine.handle(.refresh(1, nil))
        #expect(machine.handle(.stored(load: 1, 9)) != nil)
        #expect(machine.snapshot.content == 9)
        _ = machine.handle(.cancel)
        #expect(machine.snapshot.content == nil)
        _ = machine.handle(.refresh(1, nil))
        _ = machine.handle(.finished(load: 2, 5, isEmpty: false))
        #expect(machine.handle(.stored(load: 2, 9)) == nil)
        #expect(machine.snapshot.content == 5)
    }
}
