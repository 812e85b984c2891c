import Lade
public import LadeCore
public import Observation

/// Loads content for a view and reports it as one state.
///
/// ```swift
/// let model = ContentModel<ShowID, Show>(triggers: [.willAppear], cancelsOn: [.didDisappear]) { [loader, api] id in
///     try await loader.load(api.get("shows", id ?? .latest))
/// }
/// model.refresh(id)
/// ```
///
/// Make one from a closure, or subclass it and override ``makeLoad(_:)`` and ``isEmpty(_:)``. A load takes the input of its
/// refresh; a refresh by a view's lifetime has none.
///
/// - Each transition changes ``snapshot`` as a whole and on the main actor: properties first, then the subscribers of
///   ``states(buffering:)``, then those of ``contentChanges`` or ``errors``.
/// - Content stays available during a refresh and after a failed one.
/// - ``cancel()`` returns to the state before the load. A load that was cancelled or superseded delivers nothing.
/// - The model owns its loads: when it is released, they are cancelled and the sequences end.
///
/// Source: TDCContentLoading, `ContentLoadingViewModel`.
@MainActor
@Observable
open class ContentModel<Input: Sendable, Value: Sendable> {
    /// Whether the triggers of a view's lifetime start a load.
    public enum TriggerPolicy: Sendable, Hashable {
        /// Every time; the default.
        case always
        /// Only while there is no content, or only content of the app's store: unloaded, or after a failure.
        case withoutContent
        /// Only when the last content is older than this, or there is none.
        case olderThan(Duration)
    }

    /// The state, together with further facts that are worth showing.
    public var snapshot: ContentSnapshot<Value> { machine.snapshot }
    /// The view's lifetime; setting it starts and cancels loads according to the triggers.
    ///
    /// `initialised` at first.
    public var lifetime = ViewLifetime.initialised {
        didSet { lifetimeChanged() }
    }

    private var machine: ContentMachine<Input, Value>
    @ObservationIgnored private let loadMaker: @Sendable (Input?) -> ContentLoad<Value>
    @ObservationIgnored private let stored: (@concurrent @Sendable (Input?) async -> Value?)?
    @ObservationIgnored private let triggers: Set<ViewLifetime>
    @ObservationIgnored private let cancelsOn: Set<ViewLifetime>
    @ObservationIgnored private let policy: TriggerPolicy
    @ObservationIgnored private let time: any TimeSource
    @ObservationIgnored private var loadedAt: Instant?
    @ObservationIgnored private let resources = Resources<Input, Value>()
    @ObservationIgnored private let emptiness: @Sendable (Value) -> Bool
    // The last input of `refresh(whenChanged:after:)`, which may still wait for its delay.
    @ObservationIgnored private var lastChange: Input??

    /// Makes a model whose loads come from an override of ``makeLoad(_:)``.
    ///
    /// - Parameters:
    ///   - strategy: How a refresh is combined with the loads in progress; the latest wins by default.
    ///   - triggers: When in a view's lifetime a load starts, with no input; `initialised` starts one immediately. None by
    ///     default.
    ///   - cancelsOn: When in a view's lifetime the loads are cancelled; never by default.
    ///   - policy: Whether a trigger starts a load when there is content; always by default.
    ///   - time: The time source for debounces and the age of content.
    public init(
        strategy: LoadStrategy = .latest,
        triggers: Set<ViewLifetime> = [],
        cancelsOn: Set<ViewLifetime> = [],
        policy: TriggerPolicy = .always,
        time: any TimeSource = SystemTime()
    ) {
        loadMaker = { _ in .none }
        self.stored = nil
        self.triggers = triggers
        self.cancelsOn = cancelsOn
        self.policy = policy
        self.time = time
        emptiness = { _ in false }
        machine = ContentMachine(strategy: strategy)
        lifetimeChanged()
    }

    /// Makes a model that loads with a closure that returns one value.
    ///
    /// - Parameters:
    ///   - strategy: How a refresh is combined with the loads in progress; the latest wins by default.
    ///   - triggers: When in a view's lifetime a load starts; see ``init(strategy:triggers:cancelsOn:policy:time:)``.
    ///   - cancelsOn: When in a view's lifetime the loads are cancelled; never by default.
    ///   - policy: Whether a trigger starts a load when there is content; always by default.
    ///   - time: The time source for debounces and the age of content.
    ///   - isEmpty: Whether the state for a value is `empty`; false for every value by default.
    ///   - stored: Returns content from the app's store during the first load, shown as stale until a load delivers; nil for
    ///     none. It is shown beside the error, too, when the load fails before the store returns it.
    ///   - load: Returns the value; nil for no change. It runs outside the main actor and is cancelled with its load.
    public init(
        strategy: LoadStrategy = .latest,
        triggers: Set<ViewLifetime> = [],
        cancelsOn: Set<ViewLifetime> = [],
        policy: TriggerPolicy = .always,
        time: any TimeSource = SystemTime(),
        isEmpty: @escaping @Sendable (Value) -> Bool = { _ in false },
        stored: (@concurrent @Sendable (Input?) async -> Value?)? = nil,
        load: @escaping @concurrent @Sendable (Input?) async throws -> Value?
    ) {
        loadMaker = { input in ContentLoad { try await load(input) } }
        self.stored = stored
        self.triggers = triggers
        self.cancelsOn = cancelsOn
        self.policy = policy
        self.time = time
        emptiness = isEmpty
        machine = ContentMachine(strategy: strategy)
        lifetimeChanged()
    }

    deinit {
        resources.finish()
    }

    // MARK: - To be overridden

    /// Makes the load of a refresh.
    ///
    /// The default is the closure that the model was made with.
    ///
    /// The load must not capture the model: it would keep the model, and itself, alive.
    open func makeLoad(_ input: Input?) -> ContentLoad<Value> {
        loadMaker(input)
    }

    /// Whether the state for a value is ``ContentState/empty``.
    ///
    /// The default is the closure that the model was made with, else false.
    open func isEmpty(_ value: Value) -> Bool {
        emptiness(value)
    }

    // MARK: - What is shown

    /// One of the five states.
    public var state: ContentState<Value> { snapshot.state }
    /// Whether a load is in progress.
    public var isLoading: Bool { snapshot.isLoading }
    /// The last content.
    ///
    /// It stays available during a refresh and after a failed one.
    public var content: Value? { snapshot.content }
    /// The error of the last load; nil unless the state is ``ContentState/error(_:)``.
    public var lastError: (any Error)? { state.error }

    /// The states: first the current one, then each change.
    ///
    /// With `latest`, the default, a subscriber that is slower than the changes receives only the newest state. The
    /// sequence ends when the model is released.
    public func states(
        buffering: StateBuffering = .latest
    ) -> some AsyncSequence<ContentState<Value>, Never> & Sendable {
        snapshots(buffering: buffering).map(\.state)
    }

    /// The snapshots: first the current one, then each change; see ``states(buffering:)``.
    public func snapshots(
        buffering: StateBuffering = .latest
    ) -> AsyncStream<ContentSnapshot<Value>> {
        resources.snapshots.subscribe(
            beginningWith: [snapshot],
            buffering: buffering == .latest ? .bufferingNewest(1) : .unbounded
        )
    }

    /// Every content from now on, even if it equals the last; each subscriber receives all of them.
    public var contentChanges: AsyncStream<Value> { resources.changes.subscribe() }

    /// Every error from now on, even if it equals the last; each subscriber receives all of them.
    public var errors: AsyncStream<any Error> { resources.errors.subscribe() }

    /// The input of every refresh from now on.
    public var refreshes: AsyncStream<Input?> { resources.refreshes.subscribe() }

    // MARK: - Requests of a view

    /// Starts a load; returns immediately.
    public func refresh(_ input: Input? = nil) {
        handle(.refresh(input, nil))
    }

    /// Starts a load and waits until none is in progress.
    ///
    /// Cancelling the waiting task does not cancel the load.
    ///
    /// - Returns: The state after the load; `loading` when the waiting task was cancelled.
    @discardableResult
    public func load(_ input: Input? = nil) async -> ContentState<Value> {
        handle(.refresh(input, nil))
        return await settledState()
    }

    /// Repeats the failed load with its input; has no effect unless the state is ``ContentState/error(_:)``.
    public func retry() {
        guard lastError != nil, case .some(let input) = machine.failedInput else { return }
        handle(.refresh(input, reason(of: input)))
    }

    /// Why a load with an input runs; nil leaves it to the state machine.
    ///
    /// Overridden by models with pages.
    func reason(of input: Input?) -> LoadReason? { nil }

    /// Cancels the loads: the state returns to the state before them, and no error is reported.
    ///
    /// Content of the app's store that is shown stays, as stale.
    public func cancel() {
        resources.debounce(nil)
        lastChange = nil
        resources.cancelStores(except: [])
        handle(.cancel)
    }

    /// Sets the view's lifetime from a sequence, until the sequence ends or the model is released.
    public func bind(lifetime: some AsyncSequence<ViewLifetime, Never> & Sendable) {
        resources.keep(
            Task { [weak self] in
                for await event in lifetime {
                    guard let self else { return }
                    self.lifetime = event
                }
            }
        )
    }

    // MARK: - Transitions

    /// Handles an event, and says whether it had an effect.
    ///
    /// Overridden by models with pages.
    @discardableResult
    func handle(_ event: ContentMachine<Input, Value>.Event) -> Bool {
        guard let effects = machine.handle(event) else { return false }
        resources.snapshots.send(snapshot)
        for effect in effects { carryOut(effect) }
        return true
    }

    private func carryOut(_ effect: ContentMachine<Input, Value>.Effect) {
        switch effect {
        case .cancel(let load): resources.cancel(load)
        case .start(let number, let input): start(number, input)
        case .refreshed(let input): resources.refreshes.send(input)
        case .changed(let value): resources.changes.send(value)
        case .failed(let error): resources.errors.send(error)
        }
    }

    private func start(_ number: Int, _ input: Input?) {
        resources.cancelStores(except: machine.running)
        let load = makeLoad(input)
        // Neither keeps the model alive, not even while they wait for the main actor.
        let take: @MainActor @Sendable (Value) -> Void = { [weak self] value in self?.take(value, number) }
        let finish: @MainActor @Sendable (Result<Value?, any Error>) -> Void = { [weak self] result in
            switch result {
            case .success(let value): self?.end(number, value)
            case .failure(let error): self?.fail(number, error)
            }
        }
        // The resources own the task and cancel it with the model. It ends outside the main actor, where the load is
        // released. A long list, which the last page was appended to, takes longer to release than to show.
        let task = Task { @concurrent in
            do {
                switch load.kind {
                case .single(let operation): await finish(.success(try await operation()))
                case .many(let operation):
                    try await operation(take)
                    await finish(.success(nil))
                }
            } catch {
                await finish(.failure(error))
            }
        }
        resources.keep(task, number)
        guard content == nil, let stored else { return }
        resources.keep(
            Task { [weak self] in
                guard let value = await stored(input) else { return }
                self?.handle(.stored(load: number, value))
            },
            storeOf: number
        )
    }

    private func take(_ value: Value, _ number: Int) {
        loaded(handle(.value(load: number, value, isEmpty: isEmpty(value))))
    }

    private func end(_ number: Int, _ value: Value?) {
        resources.cancel(number)
        guard let value else {
            handle(.completed(load: number))
            return
        }
        loaded(handle(.finished(load: number, value, isEmpty: isEmpty(value))))
    }

    /// Notes the age of the content, unless the value came from a load that was superseded or cancelled.
    private func loaded(_ isContent: Bool) {
        if isContent { loadedAt = time.now }
    }

    private func fail(_ number: Int, _ error: any Error) {
        // Cancellation is not a failure: the model returns to its earlier state.
        guard !error.isCancellation else {
            resources.cancel(number)
            handle(.completed(load: number))
            return
        }
        // Its store may still response.
        resources.remove(number)
        handle(.failed(load: number, error))
    }

    private func lifetimeChanged() {
        if cancelsOn.contains(lifetime) { cancel() }
        if triggers.contains(lifetime), isWanted { refresh() }
    }

    private var isWanted: Bool {
        switch policy {
        case .always: true
        case .withoutContent: !isLoading && (content == nil || snapshot.isStale || lastError != nil)
        case .olderThan(let age): !isLoading && loadedAt.map { $0.duration(to: time.now) > age } ?? true
        }
    }

    private func settledState() async -> ContentState<Value> {
        guard isLoading else { return state }
        for await snapshot in snapshots() where !snapshot.isLoading { return snapshot.state }
        return .loading
    }
}

extension ContentModel where Input: Equatable {
    /// Starts a load unless the input equals the input of the last such call; for search as the user types.
    ///
    /// - Parameters:
    ///   - input: The input of the load.
    ///   - delay: How long the input must stay the same before the load starts; another call during the delay replaces
    ///     this one. No delay by default.
    public func refresh(whenChanged input: Input?, after delay: Duration = .zero) {
        if let lastChange, lastChange == input { return }
        lastChange = .some(input)
        guard delay > .zero else {
            resources.debounce(nil)
            return refresh(input)
        }
        let time = time
        // The resources own it: the next call and the end of the model cancel it.
        resources.debounce(
            Task { [weak self] in
                // Only cancellation ends the wait early, and then another input follows.
                guard (try? await time.sleep(for: delay)) != nil, !Task.isCancelled else { return }
                self?.refresh(input)
            }
        )
    }
}

/// The states that a subscriber receives when it is slower than the changes.
public enum StateBuffering: Sendable, Hashable {
    /// Only the newest.
    case latest
    /// All of them.
    case all
}

extension Error {
    /// Whether the load was cancelled elsewhere.
    fileprivate var isCancellation: Bool {
        self is CancellationError || (self as? any CancellableError)?.isCancellation == true
    }
}
