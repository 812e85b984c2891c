import Foundation
import Lade
import LadeCallbacks
import LadeTesting
import Observation
import SharedDoubles
import Testing

@MainActor
@Suite(.timeLimit(.minutes(5)))
struct NetworkActivityTests {
    private let rig = ActivityRig()
    let delivered = Journal<Bool>()

    @Test("requests A1 reports idle immediately, then active and idle for a request")
    func normal() async throws {
        rig.activity.enable { [delivered] in delivered.add($0) }

        try rig.data("/ok").resume()

        #expect(try await delivered.next(3) == [false, true, false])
    }

    @Test("requests A2 reports the same for a request from a background thread")
    func background() async throws {
        rig.activity.enable { [delivered] in delivered.add($0) }

        try await offMain { [rig] in try rig.data("/ok").resume() }

        #expect(try await delivered.next(3) == [false, true, false])
    }

    @Test("requests A3 reports active immediately when a request is running already")
    func whileActive() async throws {
        try rig.data("/slow").resume()

        rig.activity.enable { [delivered] in delivered.add($0) }
        rig.go.raise()

        #expect(try await delivered.next(2) == [true, false])
    }

    @Test("requests A4 reports nothing after it is disabled, and still counts")
    func disabledBefore() async throws {
        rig.activity.enable { [delivered] in delivered.add($0) }
        rig.activity.disable()
        let request = try rig.data("/stall")
        request.resume()

        #expect(delivered.all == [false, false])
        #expect(rig.activity.isActive)
        request.cancel()
        #expect(!rig.activity.isActive)
        #expect(delivered.all == [false, false])
    }

    @Test("requests A5 reports idle when it is disabled while a request is running")
    func disabledWhileActive() async throws {
        rig.activity.enable { [delivered] in delivered.add($0) }
        let request = try rig.data("/stall")
        request.resume()
        rig.activity.disable()
        request.cancel()

        #expect(delivered.all == [false, true, false])
    }

    @Test("requests §7 reports transitions only, and counts other work too")
    func transitions() {
        rig.activity.enable { [delivered] in delivered.add($0) }
        rig.activity.increase()
        rig.activity.increase()
        rig.activity.decrease()
        rig.activity.decrease()

        #expect(delivered.all == [false, true, false])
    }

    @Test("finding SF-14 needs no handler: what reads whether it is active is notified of changes")
    func observed() async throws {
        let changes = Journal<Bool>()
        withObservationTracking {
            _ = rig.activity.isActive
        } onChange: {
            changes.add(true)
        }
        let request = try rig.data("/stall")

        request.resume()
        _ = try await changes.next()
        #expect(rig.activity.isActive)

        withObservationTracking {
            _ = rig.activity.isActive
        } onChange: {
            changes.add(false)
        }
        request.cancel()
        #expect(try await changes.next() == [true, false])
        #expect(!rig.activity.isActive)
    }

    /// Blocks the thread, which on Apple platforms only code that is not asynchronous may do.
    private static func wait(for semaphore: DispatchSemaphore) {
        semaphore.wait()
    }

    @Test("finding FL-7 reports the present state when work starts on another thread and ends on the main actor")
    func startsElsewhere() async throws {
        rig.activity.enable { [delivered] in delivered.add($0) }
        let isStarted = DispatchSemaphore(value: 0)
        let thread = Thread { [rig] in
            rig.activity.increase()
            isStarted.signal()
        }
        thread.start()
        // The main actor is busy, so that the report of the start has not arrived yet.
        Self.wait(for: isStarted)
        rig.activity.decrease()

        await Task { @MainActor in }.value

        #expect(!rig.activity.isActive)
        #expect(delivered.all.last == false)
        #expect([[false], [false, true, false]].contains(delivered.all))
    }

    @Test("finding FL-7 counts every call of a service that it observes, also plain loads and those that fail")
    func everyCall() async throws {
        let transport = ScriptedTransport()
        let go = Signal()
        transport.on(.get, "/slow").respond(.text("late").after(go))
        transport.on(.get, "/missing").respond(.status(404))
        var settings = Service.Settings()
        settings.time = VirtualTime()
        settings.retries.limit = 0
        settings.observers = [rig.activity]
        let loader = Service(settings, transport: transport).anonymous.makeLoader()
        rig.activity.enable { [delivered] in delivered.add($0) }

        async let slow = loader.load(ActivityRig.request("/slow"))
        #expect(try await delivered.next(2) == [false, true])
        await #expect(throws: LoadingError.self) { try await loader.load(ActivityRig.request("/missing")) }
        let stalled = Task { try await loader.load(ActivityRig.request("/slow")) }
        stalled.cancel()
        _ = await stalled.result
        #expect(rig.activity.isActive)
        go.raise()
        _ = try await slow

        #expect(try await delivered.next() == [false, true, false])
        #expect(!rig.activity.isActive)
    }
}

/// A loader on a scripted transport, whose handles count in an activity of their own.
private struct ActivityRig: Sendable {
    let transport = ScriptedTransport()
    let activity = NetworkActivity()
    let loader: Loader
    /// The signal for which `/slow` waits.
    let go = Signal()

    init() {
        var settings = Service.Settings()
        settings.time = VirtualTime()
        settings.retries.limit = 0
        loader = Service(settings, transport: transport).anonymous.makeLoader()
        transport.on(.get, "/ok").respond(.bytes(Data(repeating: 7, count: 100)))
        transport.on(.get, "/stall").respond(.stalls)
        transport.on(.get, "/slow").respond(.text("late").after(go))
    }

    static func request(_ path: String) throws -> Request {
        try Request("https://svc.example.com" + path)
    }

    /// A data request that counts in the activity.
    func data(_ path: String) throws -> RequestHandle<Data> {
        RequestHandle(loader, Endpoint(try Self.request(path)), activity: activity) { _ in }
    }
}

/// Runs a closure on another thread than the main one.
@concurrent
private func offMain(_ body: @Sendable () throws -> Void) async rethrows {
    try body()
}
