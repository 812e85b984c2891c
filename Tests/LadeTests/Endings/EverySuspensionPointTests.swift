#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeCore
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

/// The form of a call.
enum CallForm: CaseIterable {
    case awaited
    case awaitedStream
    case completion
    case delegate

    var isAwaited: Bool { self == .awaited || self == .awaitedStream }
}

/// What cancels a call.
enum Cancelling: CaseIterable {
    /// The task that awaits it, or its handle.
    case own
    /// The loader's `cancelAllLoads()`.
    case loader
}

/// One call through every interceptor that can wait, cancelled before each step of its tasks.
///
/// The whole call runs on one thread in virtual time, so a run is reproducible step by step. It is over when a day of
/// that time has passed without anything left to do, so that even a late second end is detected.
@Suite("A call that is cancelled at every suspension point", .timeLimit(.minutes(5)))
struct EverySuspensionPointTests {
    /// The result of one run.
    private struct Outcome {
        var endings: [String] = []
        var endedAt: Instant?
        var cancelledAt: Instant?
        var lastStep = 0
        var violations: [String] = []
        var story: [String] = []
    }

    @Test(
        "finding FQ-26 finding FQ-25 ends once, immediately and without traces, wherever it is cancelled",
        arguments: CallForm.allCases,
        Cancelling.allCases
    )
    func everyPoint(form: CallForm, cancelling: Cancelling) async throws {
        let undisturbed = try await run(form, cancelling, cancelledBefore: nil)
        #expect(undisturbed.endings == ["success"])
        #expect(undisturbed.violations.isEmpty, "\(undisturbed.violations)")
        // Decorating, two refreshes, a redirect, a delay between attempts, rates, a server-requested delay, a body.
        try #require(undisturbed.lastStep > 40)

        var firstSuccess: Int?
        var story: [String] = []
        for step in 0...undisturbed.lastStep {
            let outcome = try await run(form, cancelling, cancelledBefore: step)
            #expect(outcome.violations.isEmpty, "step \(step): \(outcome.violations)")
            try #require(outcome.endings.count == 1, "step \(step): \(outcome.endings)")
            switch outcome.endings[0] {
            case "success":
                if firstSuccess == nil { (firstSuccess, story) = (step, outcome.story) }
                #expect(outcome.endedAt == undisturbed.endedAt, "step \(step)")
            case "call failed: cancelled":
                #expect(outcome.endedAt == outcome.cancelledAt, "step \(step)")
                #expect(firstSuccess == nil, "step \(step) is cancelled, \(firstSuccess ?? 0) was too late: \(story)")
            default: Issue.record("step \(step): \(outcome.endings)")
            }
        }
        // Cancelling is too late only when the response is on its way to the caller.
        let margin = undisturbed.lastStep - (firstSuccess ?? undisturbed.lastStep)
        #expect(margin <= 6, "of \(undisturbed.lastStep) steps the last \(margin) could not be cancelled")
    }

    /// Makes the call once, and cancels it before a given step, or never.
    private func run(_ form: CallForm, _ cancelling: Cancelling, cancelledBefore step: Int?) async throws -> Outcome {
        let rig = try Self.makeRig()
        let account = rig.service.account(
            identifier: "a",
            authorisers: [try Self.authoriser(rig.time)]
        )
        let loader = account.makeLoader()
        let (outcome, cancel) = (Locked(Outcome()), Locked<(@Sendable () -> Void)?>(nil))
        let first = Locked<Int?>(nil)
        let end: @Sendable (LoadingError?) -> Void = { error in
            outcome.withLock { outcome in
                outcome.endings.append(error.map { EventRecorder.line(for: .callFailed($0)) } ?? "success")
                outcome.endedAt = outcome.endedAt ?? rig.time.now
            }
        }
        let recorder = ReportRecorder(chunks: true) { reported, _ in
            switch reported {
            case .success: end(nil)
            case .failure(let text): outcome.withLock { $0.endings.append(text) }
            case .cancelled: end(LoadingError(.cancelled))
            case .head, .chunk, .askedForBody:
                let isLate = outcome.withLock { $0.cancelledAt != nil || !$0.endings.isEmpty }
                if isLate { outcome.withLock { $0.violations.append("\(reported) after the end") } }
            }
        }
        let request = try rig.request("/start")

        try await rig.time.runAutomatically(beforeEachStep: { number in
            guard let cancelNow = cancel.withLock({ $0 }) else { return }
            // An awaited call joins its loader with its first step; before that the loader has nothing to cancel.
            if cancelling == .loader, form.isAwaited, rig.events.records.isEmpty { return }
            let begin = first.withLock { first in
                first = first ?? number
                return first ?? number
            }
            outcome.withLock { if $0.endings.isEmpty { $0.lastStep = number - begin } }
            guard number - begin == step else { return }
            outcome.withLock { $0.cancelledAt = rig.time.now }
            cancelNow()
        }) {
            let own: @Sendable () -> Void
            switch form {
            case .awaited, .awaitedStream:
                let isStreamed = form == .awaitedStream
                let task = Task(executorPreference: TaskExecutors.current) {
                    end(
                        await failure { () throws(LoadingError) in
                            let response = try await loader.load(isStreamed ? request.streamed : request)
                            for try await _ in response.body {}
                        }
                    )
                }
                own = { task.cancel() }
            case .completion:
                let handle = loader.load(request, on: .anywhere) { result in
                    if case .failure(let error) = result { end(error) } else { end(nil) }
                }
                own = { handle.cancel() }
            case .delegate:
                let handle = loader.perform(request.streamed, recorder)
                own = { handle.cancel() }
            }
            cancel.withLock { $0 = cancelling == .own ? own : { loader.cancelAllLoads() } }
            try await rig.time.sleep(for: .seconds(86_400))
            cancel.withLock { $0 = nil }
            try await Self.check(rig, loader, outcome)
        }
        return outcome.withLock { $0 }
    }

    /// Records what a call has left behind after its end.
    private static func check(_ rig: Rig, _ loader: Loader, _ outcome: Locked<Outcome>) async throws {
        var violations: [String] = []
        let story = rig.events.story
        outcome.withLock { outcome in
            outcome.story = rig.events.records.map {
                "\($0.instant.nanoseconds / 1_000_000) ms \(EventRecorder.line(for: $0.event))"
            }
        }
        if story.count(where: { $0.hasPrefix("call started") }) != 1 { violations.append("not one beginning") }
        if story.count(where: { $0.hasPrefix("call f") }) != 1 { violations.append("not one end: \(story.suffix(4))") }
        for pair in [("wait started", "wait ended"), ("exchange started", "exchange f")] {
            let (begun, ended) = (
                story.count { $0.hasPrefix(pair.0) }, story.count { $0.hasPrefix(pair.1) }
            )
            if begun != ended { violations.append("\(begun) × \(pair.0), \(ended) × \(pair.1)") }
        }
        if rig.transport.inFlight != 0 { violations.append("\(rig.transport.inFlight) exchanges in flight") }
        if !loader.currentRequests.isEmpty { violations.append("a request is left with its loader") }
        if rig.service.rateLimiter.waitingCount != 0 { violations.append("a waiter is left with the limiter") }
        if !rig.time.sleepers.isEmpty { violations.append("a timer is left: \(rig.time.sleepers)") }
        // The slots of both services and the credentials are available to the next calls.
        for path in ["/start/next", "/thing/next"] {
            let next = await failure { () throws(LoadingError) in try await loader.load(rig.request(path)) }
            if let next { violations.append("the call of \(path) failed: \(next)") }
        }
        outcome.withLock { $0.violations += violations }
    }

    /// A service in which every interceptor has something to wait for.
    private static func makeRig() throws -> Rig {
        let rig = Rig { settings in
            let time = settings.time
            settings.retries.limit = 3
            settings.hosts = HostDirectory(["svc.example.com": ["svc.example.com", "backup.example.com"]])
            settings.decorators = [
                Service.decorator { request in
                    try await time.sleep(for: .milliseconds(10))
                    return request
                }
            ]
            var limits = RateLimits(default: .perSecond(10))
            limits.concurrency = 1
            // Valid limits are never refused.
            settings.rateLimiter = try? RateLimiter(limits, time: time, random: SeededRandom(seed: 2))
        }
        let exchanges = Locked(0)
        rig.transport.on("next") { $0.url.lastPathComponent == "next" }.respond(.text("next"))
        rig.transport.onAnyRequest().respond(
            .computed { request, _ in
                let number = exchanges.withLock { number in
                    number += 1
                    return number
                }
                let answer: ScriptedResponse =
                    switch number {
                    case 1: .status(401)
                    case 2: .status(302, headers: ["Location": "/thing", "Set-Cookie": "a=b"])
                    case 3:
                        .fails(
                            LoadingError(
                                .cannotConnect(host: "svc.example.com", reason: .refused),
                                LoadingError.Context(request)
                            )
                        )
                    case 4: .status(503, headers: ["Retry-After": "1"])
                    default: .text("0123456789").inPieces(of: 4, every: .milliseconds(20))
                    }
                return answer.after(.milliseconds(30))
            }
        )
        return rig
    }

    private static func authoriser(_ time: VirtualTime) throws -> Authorisation.Bearer {
        Authorisation.Bearer(scope: try Authorisation.Scope("https://svc.example.com")) { (_, _) throws(LoadingError) in
            try await time.sleep(for: .milliseconds(50))
            return .init("token")
        }
    }
}
