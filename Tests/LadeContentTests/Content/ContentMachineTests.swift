import LadeTesting
import Testing

@testable import LadeContent

/// What a sequence of events leads to, written from the rules of content models and not from the machine.
private struct StoryModel {
    /// The events of the stories, each with the load that it concerns.
    enum Step: CaseIterable {
        case refresh
        case nextPage
        case stored
        case value
        case emptyValue
        case finish
        case finishEmpty
        case complete
        case fail
        case oldestFinish
        case oldestFail
        case endedStored
        case failedStored
        case endedValue
        case endedFinish
        case endedFail
        case cancel
    }

    /// An effect, comparable.
    enum Report: Equatable {
        case cancel(Int)
        case start(Int, Int?)
        case refreshed(Int?)
        case changed(Int)
        case failed(Int)
    }

    let strategy: LoadStrategy
    private(set) var shown = ContentSnapshot<Int>(.unloaded)
    /// What to return to when the loads end without an outcome.
    private var before = ContentSnapshot<Int>(.unloaded)
    private var inputs: [Int] = []
    /// The input that a retry sends.
    private(set) var failedInput: Int??
    private var lastFailed: Int?
    private var running: [Int] = []
    private var waiting: [Int] = []

    init(_ strategy: LoadStrategy) {
        self.strategy = strategy
    }

    /// Whether a step concerns the same load as another step of the same kind.
    func isDouble(_ step: Step) -> Bool { (step == .oldestFinish || step == .oldestFail) && running.count < 2 }

    /// A load that is not in progress: one that ended or waits, or one that never was.
    private var ended: Int { (1...inputs.count + 1).last { !running.contains($0) && $0 <= inputs.count } ?? 0 }
    private var newest: Int { running.last ?? inputs.count }
    private var oldest: Int { running.first ?? inputs.count }

    func event(_ step: Step, _ number: Int) -> ContentMachine<Int, Int>.Event {
        switch step {
        case .refresh: .refresh(number, nil)
        case .nextPage: .refresh(number, .nextPage)
        case .stored: .stored(load: newest, number)
        case .value: .value(load: newest, number, isEmpty: false)
        case .emptyValue: .value(load: newest, number, isEmpty: true)
        case .finish: .finished(load: newest, number, isEmpty: false)
        case .finishEmpty: .finished(load: newest, number, isEmpty: true)
        case .complete: .completed(load: newest)
        case .fail: .failed(load: newest, LoadingTestError(code: number))
        case .oldestFinish: .finished(load: oldest, number, isEmpty: false)
        case .oldestFail: .failed(load: oldest, LoadingTestError(code: number))
        case .endedStored: .stored(load: ended, number)
        case .failedStored: .stored(load: lastFailed ?? 0, number)
        case .endedValue: .value(load: ended, number, isEmpty: false)
        case .endedFinish: .finished(load: ended, number, isEmpty: false)
        case .endedFail: .failed(load: ended, LoadingTestError(code: number))
        case .cancel: .cancel
        }
    }

    /// Applies a step; nil when nothing may change.
    mutating func apply(_ step: Step, _ number: Int) -> [Report]? {
        switch step {
        case .refresh: return refresh(number, before.content == nil ? .first : .refresh)
        case .nextPage: return refresh(number, .nextPage)
        case .failedStored: return lastFailed.flatMap { stored(of: $0, number) }
        case .endedStored: return ended == lastFailed ? stored(of: ended, number) : nil
        case .stored where running.isEmpty: return newest == lastFailed ? stored(of: newest, number) : nil
        case .endedValue, .endedFinish, .endedFail: return nil
        default: break
        }
        guard !running.isEmpty else { return nil }
        switch step {
        case .stored: return stored(of: newest, number)
        case .value, .emptyValue:
            take(number, isEmpty: step == .emptyValue)
            return [.changed(number)]
        case .finish, .finishEmpty:
            take(number, isEmpty: step == .finishEmpty)
            return end(newest) + [.changed(number)]
        case .oldestFinish:
            take(number, isEmpty: false)
            return end(oldest) + [.changed(number)]
        case .complete: return end(newest)
        case .fail: return fail(newest, number)
        case .oldestFail: return fail(oldest, number)
        default:
            let reports = running.map(Report.cancel)
            running = []
            waiting = []
            shown = before
            return reports
        }
    }

    private mutating func refresh(_ input: Int, _ reason: LoadReason) -> [Report] {
        inputs.append(input)
        let load = inputs.count
        shown.state = .loading
        shown.reason = reason
        switch strategy {
        case .latest:
            let cancelled = running.map(Report.cancel)
            running = [load]
            return cancelled + [.start(load, input), .refreshed(input)]
        case .merge:
            running.append(load)
            return [.start(load, input), .refreshed(input)]
        case .concat:
            guard running.isEmpty else {
                waiting.append(load)
                return [.refreshed(input)]
            }
            running = [load]
            return [.start(load, input), .refreshed(input)]
        }
    }

    /// Content of a store for a load in progress, or for the one that failed last, whose error it then accompanies.
    private mutating func stored(of load: Int, _ number: Int) -> [Report]? {
        guard shown.content == nil else { return nil }
        (shown.content, shown.isStale) = (number, true)
        (before.content, before.isStale) = (number, true)
        return [.changed(number)]
    }

    private mutating func take(_ number: Int, isEmpty: Bool) {
        shown.content = number
        shown.isStale = false
        before = ContentSnapshot(isEmpty ? .empty : .success(number), content: number)
    }

    private mutating func fail(_ load: Int, _ number: Int) -> [Report] {
        before = ContentSnapshot(.error(LoadingTestError(code: number)), content: shown.content)
        before.isStale = shown.isStale
        failedInput = inputs[load - 1]
        lastFailed = load
        return end(load) + [.failed(number)]
    }

    private mutating func end(_ load: Int) -> [Report] {
        running.removeAll { $0 == load }
        guard running.isEmpty else { return [] }
        guard let next = waiting.first else {
            shown = before
            return []
        }
        waiting.removeFirst()
        running = [next]
        return [.start(next, inputs[next - 1])]
    }
}

/// Compares the machine with an independently written model.
@Suite("The state machine of content", .timeLimit(.minutes(5)))
struct ContentMachineTests {
    private typealias Machine = ContentMachine<Int, Int>
    private typealias Step = StoryModel.Step

    private func reports(_ effects: [Machine.Effect]?) -> [StoryModel.Report]? {
        effects.map { effects in
            effects.map { effect in
                switch effect {
                case .cancel(let load): .cancel(load)
                case .start(let load, let input): .start(load, input)
                case .refreshed(let input): .refreshed(input)
                case .changed(let value): .changed(value)
                case .failed(let error): .failed((error as? LoadingTestError)?.code ?? -1)
                }
            }
        }
    }

    private func isSame(_ one: Machine, _ other: Machine) -> Bool {
        one.snapshot == other.snapshot && one.settled == other.settled && one.running == other.running
            && one.waiting.map(\.load) == other.waiting.map(\.load) && one.lastLoad == other.lastLoad
            && one.failedInput == other.failedInput
    }

    /// Gives both an event; says what differs afterwards, and whether anything happened.
    private func step(
        _ step: Step,
        _ number: Int,
        _ machine: inout Machine,
        _ model: inout StoryModel
    ) -> (fault: String?, isIgnored: Bool) {
        let before = machine
        let effects = reports(machine.handle(model.event(step, number)))
        let expected = model.apply(step, number)
        if effects != expected {
            return ("\(String(describing: effects)), not \(String(describing: expected))", false)
        }
        if machine.snapshot != model.shown { return ("\(machine.snapshot), not \(model.shown)", false) }
        if machine.failedInput != model.failedInput {
            return ("a retry of \(String(describing: machine.failedInput))", false)
        }
        if (machine.snapshot.reason != nil) != machine.snapshot.isLoading { return ("\(machine.snapshot)", false) }
        if expected == nil, !isSame(machine, before) { return ("an event without effects changed the machine", false) }
        return (nil, expected == nil)
    }

    /// How many sequences of at most this many steps there are.
    private func stories(_ length: Int) -> Int {
        length == 0 ? 0 : Step.allCases.count * (1 + stories(length - 1))
    }

    /// Walks the tree of all sequences that continue one; returns how many it covered.
    ///
    /// A step that is ignored leaves the machine as it was, so the sequences after it are those of its parent. A step
    /// that is the same event as another is walked once.
    private func walk(_ machine: Machine, _ model: StoryModel, _ delivered: [Step], _ rest: Int) throws -> Int {
        var covered = 0
        for next in Step.allCases {
            covered += 1
            if model.isDouble(next) {
                covered += stories(rest - 1)
                continue
            }
            var (after, expected) = (machine, model)
            let (fault, isIgnored) = step(next, delivered.count, &after, &expected)
            if let fault { throw Fault(description: "\(delivered + [next]): \(fault)") }
            guard rest > 1 else { continue }
            covered += isIgnored ? stories(rest - 1) : try walk(after, expected, delivered + [next], rest - 1)
        }
        return covered
    }

    private struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    static let strategies: [LoadStrategy] = [.latest, .merge, .concat]

    @Test("every story of up to six events goes as the rules say", arguments: strategies)
    func everyStory(strategy: LoadStrategy) throws {
        let covered = try walk(Machine(strategy: strategy), StoryModel(strategy), [], 6)

        #expect(covered == stories(6) && covered > 25_000_000)
    }

    @Test("long random stories go as the rules say", arguments: strategies, 1...40 as ClosedRange<UInt64>)
    func longStories(strategy: LoadStrategy, seed: UInt64) {
        let random = SeededRandom(seed: seed)
        var (machine, model) = (Machine(strategy: strategy), StoryModel(strategy))
        var delivered: [Step] = []
        for number in 0..<200 {
            let next = Step.allCases[Int(random.next() % UInt64(Step.allCases.count))]
            delivered.append(next)
            guard let fault = step(next, number, &machine, &model).fault else { continue }
            Issue.record("seed \(seed): \(delivered.suffix(20)): \(fault)")
            return
        }
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

    @Test("a sequence that is subscribed to after the end has ended")
    func lateSubscription() async {
        let broadcast = Broadcast<Int>()
        let early = broadcast.subscribe(beginningWith: [1])
        broadcast.send(2)
        broadcast.finish()
        broadcast.send(3)

        #expect(await all(early) == [1, 2])
        #expect(await all(broadcast.subscribe(beginningWith: [4])) == [4])
    }

    @Test("content of a store counts only before anything newer")
    func storing() {
        var machine = Machine(strategy: .latest)
        _ = machine.handle(.refresh(1, nil))
        #expect(machine.handle(.stored(load: 1, 9)) != nil)
        #expect(machine.snapshot.content == 9)
        _ = machine.handle(.cancel)
        #expect(machine.snapshot.content == 9)
        _ = machine.handle(.refresh(1, nil))
        _ = machine.handle(.finished(load: 2, 5, isEmpty: false))
        #expect(machine.handle(.stored(load: 2, 9)) == nil)
        #expect(machine.snapshot.content == 5)
    }
}
