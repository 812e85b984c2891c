#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import SharedDoubles

/// Hours of an app's use in virtual time: users of several accounts, on the whole stack, against ``ModelServers``.
///
/// Every random choice depends on one seed, and everything runs on one thread, so that a seed reproduces its run
/// exactly.
final class Simulation: Sendable {
    /// The result of a run.
    struct Outcome: Sendable {
        var seed: UInt64
        var calls = 0
        var exchanges = 0
        var exchangesByService: [String: Int] = [:]
        /// Whether every service with a limit on concurrent exchanges reached it.
        var reachedCaps = false
        var gatesClosed = 0
        /// How many orders were processed.
        var effects = 0
        var elapsed = Duration.zero
        var meteredRate = 0.0
        var endings: [String: Int] = [:]
        var violations: [String] = []
        var lines: [String] = []
    }

    private struct State {
        var accounts: [Account] = []
        var loaders: [Loader] = []
        var lastAccount = 0
        var lastOperation = 0
        var meteredLeft: Int
        var endings: [String: Int] = [:]
        var calledBack: [UInt64: Int] = [:]
        var violations: [String] = []
    }

    private let seed: UInt64
    private let size: Int
    private let time = VirtualTime()
    private let random: SeededRandom
    private let servers: ModelServers
    private let check: StoryCheck
    private let settings: Service.Settings
    private let service: Service
    private let state: Locked<State>
    private static let accountCount = 4
    private static let loadersPerAccount = 3

    /// - Parameters:
    ///   - seed: The seed of every random choice.
    ///   - size: The approximate number of calls.
    ///   - keepsLines: Whether the outcome contains all events.
    ///   - injected: A fault to introduce, to test whether the checks detect it.
    /// - Throws: Nothing that these settings could cause.
    init(
        seed: UInt64,
        size: Int,
        keepsLines: Bool = false,
        injected: (inout Service.Settings) -> Void = { _ in }
    ) throws {
        self.seed = seed
        self.size = size
        random = SeededRandom(seed: seed ^ 0x5EED)
        servers = ModelServers(seed: seed, time: time)
        check = StoryCheck(keepsLines: keepsLines)
        var limits = RateLimits()
        limits.rates = ModelServers.rates
        var settings = Service.Settings()
        settings.time = time
        settings.random = SeededRandom(seed: seed ^ 0xBA5E)
        settings.observers = [check]
        settings.tracing = Tracing()
        settings.languages = .fixed(["en"])
        settings.rateLimiter = try RateLimiter(limits, time: time, random: SeededRandom(seed: seed ^ 0xF00D))
        for (key, cap) in ModelServers.caps { try settings.rateLimiter?.setConcurrency(cap, for: key) }
        settings.hosts = HostDirectory(["cdn.example.com": ModelServers.cdnAddresses.map { HostDirectory.Address($0) }])
        injected(&settings)
        self.settings = settings
        service = Service(settings, transport: servers)
        state = Locked(State(meteredLeft: size / 5))
    }

    /// Runs the simulation to its end.
    func run() async throws -> Outcome {
        try await time.runAutomatically { [self] in
            for _ in 0..<Self.accountCount { try addAccount() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                let users = 40
                for _ in 0..<users {
                    let steps = size * 4 / 5 / users
                    group.addTask { try await self.user(steps) }
                }
                for _ in 0..<50 { group.addTask { try await self.meter() } }
                group.addTask { try await self.comeAndGo() }
                try await group.waitForAll()
            }
            // Calls that were not awaited end within the deadline of a call.
            try await time.sleep(for: .seconds(120))
        }
        return outcome()
    }

    private func outcome() -> Outcome {
        var outcome = Outcome(seed: seed)
        let (endings, mine, loaders) = state.withLock { ($0.endings, $0.violations, $0.loaders) }
        outcome.calls = check.calls
        outcome.exchanges = servers.exchanges
        outcome.exchangesByService = servers.exchangesByService
        outcome.reachedCaps = ModelServers.caps.allSatisfy { servers.mostAtOnce(with: $0) >= $1 }
        outcome.gatesClosed = servers.gatesClosed
        outcome.elapsed = Instant(nanoseconds: 0).duration(to: time.now)
        outcome.meteredRate = servers.meteredRate
        outcome.endings = endings
        outcome.lines = check.lines
        outcome.violations = mine + servers.violations
        outcome.violations += check.violationsAtTheEnd(
            retryLimit: settings.retries.limit,
            budget: RetryBudget.Settings()
        )
        if let waiting = settings.rateLimiter?.waitingCount, waiting > 0 {
            outcome.violations.append("\(waiting) calls wait for a slot for ever")
        }
        let open = loaders.flatMap(\.currentRequests)
        if !open.isEmpty { outcome.violations.append("\(open.count) calls never end: \(open.prefix(3))") }
        outcome.effects = servers.effects.count
        for (operation, count) in servers.effects where count != 1 {
            outcome.violations.append("an effect came twice: operation \(operation) had \(count)")
        }
        return outcome
    }

    // MARK: - Accounts and loaders

    private func addAccount() throws {
        let number = state.withLock { state in
            state.lastAccount += 1
            return state.lastAccount
        }
        let name = "user-\(number)"
        guard let endpoint = URL(string: "https://id.example.com/token") else { return }
        let oauth = Authorisation.OAuth2.Settings(
            tokenEndpoint: endpoint,
            grant: .refreshToken(ModelServers.refreshToken(of: name)),
            clientID: "app"
        )
        let authoriser = Authorisation.OAuth2(oauth, scope: try Authorisation.Scope("https://api.example.com"))
        let account = service.account(identifier: name, authorisers: [authoriser])
        let loaders = (0..<Self.loadersPerAccount).map { _ in account.makeLoader() }
        state.withLock { state in
            state.accounts.append(account)
            state.loaders += loaders
        }
    }

    private func loader() -> Loader {
        let number = random.next()
        return state.withLock { $0.loaders[Int(number % UInt64($0.loaders.count))] }
    }

    /// From time to time a screen closes, all calls are cancelled, a user signs out and another signs in.
    private func comeAndGo() async throws {
        while state.withLock({ $0.meteredLeft }) > 0 || random.unit() < 0.99 {
            try await time.sleep(for: .seconds(5 + 50 * random.unit()))
            switch random.unit() {
            case ..<0.70:
                let number = random.next()
                let (index, gone) = state.withLock { state in
                    let index = Int(number % UInt64(state.loaders.count))
                    return (index, state.loaders[index])
                }
                let fresh = gone.account.makeLoader()
                state.withLock { $0.loaders[index] = fresh }
            case ..<0.95:
                loader().cancelAllLoads()
            default:
                let (account, gone) = state.withLock { state -> (Account, [Loader]) in
                    let account = state.accounts.removeFirst()
                    let gone = state.loaders.filter { $0.account === account }
                    state.loaders.removeAll { $0.account === account }
                    return (account, gone)
                }
                await account.signOut()
                servers.signedOut(account.identifier)
                // Not every part has noticed yet.
                if let late = gone.first {
                    let error = await failure { () throws(LoadingError) in
                        try await late.load(Request("https://api.example.com/v1/late"))
                    }
                    if error?.isCancellation != true {
                        violation("a call after signing out ended with \(String(describing: error))")
                    }
                }
                try addAccount()
            }
        }
    }

    // MARK: - Users

    private func meter() async throws {
        let request = try Request("https://metered.example.com/m/1")
        while state.withLock({ state in
            state.meteredLeft -= 1
            return state.meteredLeft >= 0
        }) {
            let loader = service.anonymous.makeLoader()
            let patience = random.unit() < 0.05 ? Duration.seconds(10 * random.unit()) : nil
            await ending(within: patience) { () async throws(LoadingError) in try await loader.load(request) }
        }
    }

    private func user(_ steps: Int) async throws {
        for _ in 0..<steps {
            try await time.sleep(for: .seconds(120 * random.unit()))
            let loader = loader()
            let patience = random.unit() < 0.1 ? Duration.seconds(5 * random.unit()) : nil
            let number = random.next() % 100
            switch random.unit() {
            case ..<0.30:
                let request = try Request("https://api.example.com/v1/\(number)?token=\(ModelServers.canary)")
                await ending(within: patience) { () async throws(LoadingError) in try await loader.load(request) }
            case ..<0.50:
                let request = try order()
                await ending(within: patience) { () async throws(LoadingError) in try await loader.load(request) }
            case ..<0.60:
                let request = try Request("https://cdn.example.com/img/\(number)")
                await ending(within: patience) { () async throws(LoadingError) in try await loader.load(request) }
            case ..<0.70:
                await stream(try Request("https://cdn.example.com/img/\(number)"), by: loader, patience)
            case ..<0.80:
                let request = try Request("https://www.example.com/go/\(number)")
                await ending(within: patience) { () async throws(LoadingError) in try await loader.load(request) }
            case ..<0.88:
                let request = try Request("https://flaky.example.com/f/\(number)")
                await ending(within: patience) { () async throws(LoadingError) in try await loader.load(request) }
            case ..<0.90:
                try gallery(by: loader)
            case ..<0.96:
                let handle = callBack(try Request("https://api.example.com/v1/\(number)"), by: loader)
                if random.unit() < 0.3 {
                    try await time.sleep(for: .seconds(random.unit()))
                    handle.cancel()
                }
            default:
                try await screen(of: loader.account)
            }
        }
    }

    /// Orders, half of them with an idempotency key.
    private func order() throws -> Request {
        let operation = state.withLock { state in
            state.lastOperation += 1
            return state.lastOperation
        }
        var request = try Request(
            .post,
            "https://api.example.com/orders",
            body: .bytes(Data("order".utf8), contentType: nil)
        )
        request.headers["X-Operation"] = "\(operation)"
        if random.unit() < 0.5 { request.idempotencyKey = .generated }
        return request
    }

    /// More concurrent images than their service allows.
    private func gallery(by loader: Loader) throws {
        for number in 0..<10 { callBack(try Request("https://cdn.example.com/img/gallery-\(number)"), by: loader) }
    }

    /// A screen that opens, requests several things together and closes before all have arrived.
    private func screen(of account: Account) async throws {
        var loader: Loader? = account.makeLoader()
        for number in 0..<5 {
            if let loader { callBack(try Request("https://api.example.com/v1/screen-\(number)"), by: loader) }
        }
        try await time.sleep(for: .seconds(0.4 * random.unit()))
        loader = nil
    }

    @discardableResult
    private func callBack(_ request: Request, by loader: Loader) -> Loader.Handle {
        let reported = Locked(0)
        return loader.load(request, on: .anywhere) { [self] result in
            let count = reported.withLock { count in
                count += 1
                return count
            }
            if count > 1 { violation("a completion was called \(count) times") }
            if case .failure(let error) = result { note(error) } else { note(nil) }
        }
    }

    private func stream(_ request: Request, by loader: Loader, _ patience: Duration?) async {
        var request = request
        request.delivery = .streamed
        let most = random.unit() < 0.3 ? 1200 : Int.max
        await ending(within: patience) { [request] () async throws(LoadingError) in
            let response = try await loader.load(request)
            var count = 0
            for try await chunk in response.body where count < most { count += chunk.count }
            return response
        }
    }

    /// Runs an operation to its end, or for a limited time.
    private func ending(
        within patience: Duration?,
        _ body: @escaping @Sendable () async throws(LoadingError) -> Response
    ) async {
        let error: LoadingError?
        if let patience {
            error = await withTaskGroup(of: LoadingError??.self) { group in
                group.addTask { .some(await failure(body)) }
                group.addTask {
                    // Cancelled when the call was faster.
                    try? await self.time.sleep(for: patience)
                    return .none
                }
                let first = await group.next() ?? .none
                group.cancelAll()
                if let first { return first }
                for await late in group { if let late { return late } }
                return nil
            }
        } else {
            error = await failure(body)
        }
        note(error)
    }

    private func note(_ error: LoadingError?) {
        let name = error.map { EventRecorder.line(for: .callFailed($0)) } ?? "success"
        state.withLock { $0.endings[name, default: 0] += 1 }
    }

    private func violation(_ text: String) {
        state.withLock { $0.violations.append(text) }
    }
}
