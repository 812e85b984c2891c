import Foundation
import LadeContent
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

/// Many models and views that begin, load, and are released at any moment.
@MainActor
@Suite("Lifetimes of content models", .timeLimit(.minutes(5)))
struct ContentLifetimeTests {
    /// How a load ends.
    private enum Ending: CaseIterable {
        case value
        case nothing
        case failure
        /// With its value when the gate opens; immediately when it is cancelled.
        case held
        /// With its value when the gate opens, even if it was cancelled.
        case stubborn
    }

    /// The input of a load; lives as long as anything of the load does.
    private final class Order: Sendable {
        let number: Int
        let ending: Ending
        let gate: Gate
        private let isEnding = Locked(false)
        private let living: LivingCount

        init(_ number: Int, _ ending: Ending, _ gate: Gate, _ living: LivingCount) {
            self.number = number
            self.ending = ending
            self.gate = gate
            self.living = living
            living.enter()
        }

        deinit { living.leave() }

        /// Whether its value may have been delivered.
        var mayHaveDelivered: Bool { isEnding.withLock { $0 } }

        @concurrent
        func load() async throws -> Int? {
            switch ending {
            case .value: break
            case .nothing: return nil
            case .failure: throw LoadingTestError(code: number)
            case .held: try await gate.pass()
            case .stubborn: await gate.passAnyway()
            }
            isEnding.withLock { $0 = true }
            return number
        }
    }

    /// What loads wait for.
    private final class Gate: Sendable {
        private let isOpen = Watched(false)

        func open() {
            isOpen.change { $0 = true }
        }

        /// Waits, also in a task that was cancelled.
        func passAnyway() async {
            // The gate is always opened at the end of a lifetime.
            _ = await Task { [isOpen] in try await isOpen.value { $0 ? () : nil } }.result
        }

        func pass() async throws {
            try await isOpen.value { $0 ? () : nil }
        }
    }

    /// Counts what lives, and lets a test wait until nothing does.
    private final class LivingCount: Sendable {
        private let state = Watched<(alive: Int, entered: Int)>((0, 0))

        var entered: Int { state.read { $0.entered } }

        func enter() {
            state.change { state in
                state.alive += 1
                state.entered += 1
            }
        }

        func leave() {
            state.change { $0.alive -= 1 }
        }

        /// - Throws: `LoadingError.cancelled` when the task is cancelled, as by the time limit of the suite.
        func untilEmpty() async throws {
            try await state.value { $0.alive == 0 ? () : nil }
        }
    }

    /// A model that is counted.
    private final class CountedModel: ContentModel<Order, Int> {
        let isLatest: Bool
        private let living: LivingCount

        init(_ strategy: LoadStrategy, _ living: LivingCount) {
            isLatest = strategy == .latest
            self.living = living
            living.enter()
            super.init(strategy: strategy, triggers: [.willAppear], cancelsOn: [.didDisappear]) { order in
                try await order?.load()
            }
        }

        deinit { living.leave() }
    }

    /// The loads whose values nothing may show any more.
    @MainActor
    private final class ForbiddenLoads {
        var forbidden: Set<Int> = []
        var late = 0

        func check(_ content: Int?) {
            if let content, forbidden.contains(content) { late += 1 }
        }
    }

    /// A view: holds the model, and follows its snapshots.
    @MainActor
    private final class View {
        let model: CountedModel
        private var active: [Order] = []
        private let forbiddenLoads: ForbiddenLoads
        private let living: LivingCount

        init(_ strategy: LoadStrategy, _ forbiddenLoads: ForbiddenLoads, _ living: LivingCount) {
            self.forbiddenLoads = forbiddenLoads
            self.living = living
            model = CountedModel(strategy, living)
            living.enter()
            follow()
        }

        deinit { living.leave() }

        private func follow() {
            let snapshots = model.snapshots()
            living.enter()
            // Ends with the sequence, which ends with the model.
            Task { [forbiddenLoads, living] in
                for await snapshot in snapshots { forbiddenLoads.check(snapshot.content) }
                living.leave()
            }
        }

        /// Whether all loads end without the gate.
        var isFree: Bool { active.allSatisfy { $0.ending != .held && $0.ending != .stubborn } }

        func refresh(_ order: Order) {
            if model.isLatest { supersede() }
            active.append(order)
            model.refresh(order)
            forbiddenLoads.check(model.content)
        }

        func end(_ action: (CountedModel) -> Void) {
            supersede()
            action(model)
            forbiddenLoads.check(model.content)
        }

        func settle() async {
            guard model.isLoading else { return }
            _ = await settled(model)
            forbiddenLoads.check(model.content)
        }

        func supersede() {
            for order in active where !order.mayHaveDelivered { forbiddenLoads.forbidden.insert(order.number) }
            active = []
        }
    }

    private func live(_ random: SeededRandom, _ number: Int, _ forbiddenLoads: ForbiddenLoads, _ living: LivingCount)
        async -> Bool
    {
        let strategy: LoadStrategy = [.latest, .latest, .merge, .concat][Int(random.next() % 4)]
        var gate = Gate()
        var gates = [gate]
        var view: View? = View(strategy, forbiddenLoads, living)
        weak let model = view?.model
        for step in 0..<Int(random.next() % 4) + 1 {
            guard let view else { break }
            switch random.next() % 10 {
            case 0...4:
                let ending = Ending.allCases[Int(random.next() % UInt64(Ending.allCases.count))]
                view.refresh(Order(number * 10 + step, ending, gate, living))
            case 5: view.end { $0.cancel() }
            case 6: view.end { $0.lifetime = .didDisappear }
            case 7:
                if strategy == .latest { view.supersede() }
                view.model.lifetime = .willAppear
            case 8 where view.isFree: await view.settle()
            default:
                // What was superseded, and waits here, delivers too late.
                gate.open()
                await view.settle()
                gate = Gate()
                gates.append(gate)
            }
        }
        view?.supersede()
        view = nil
        let isReleased = model == nil
        for gate in gates { gate.open() }
        return isReleased
    }

    /// There are 100,000 lifetimes in `make soak`.
    @Test("nothing of a thousand random lifetimes remains, and nothing arrives late")
    func lifetimes() async throws {
        let count = Soak.current.rounds(of: 100_000, few: 1_000)
        let random = SeededRandom(seed: Soak.current.seed(for: "lifetimes of content models"))
        let forbiddenLoads = ForbiddenLoads()
        let living = LivingCount()
        var kept = 0
        for number in 0..<count where await !live(random, number, forbiddenLoads, living) {
            kept += 1
        }

        try await living.untilEmpty()

        #expect(kept == 0 && forbiddenLoads.late == 0)
        // Each has a model, a view and a follower, and most have loads, of which many are superseded.
        #expect(living.entered > count * 7 / 2 && forbiddenLoads.forbidden.count > count / 4)
    }
}
