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

/// Counts the ends of a call when no work is left, so that even a late second end is detected.
@Suite("Endings, counted at the end", .timeLimit(.minutes(5)))
struct OnceAtTheEndTests {
    /// The behaviour of a server, and how a call ends with it.
    struct Course: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: ScriptedResponse
        let ending: String
    }

    static let courses = [
        Course(testDescription: "success", answer: .text("ok").after(.seconds(1)), ending: "success"),
        Course(
            testDescription: "pieces",
            answer: .text("ok").inPieces(of: 1, every: .seconds(1)),
            ending: "success"
        ),
        Course(testDescription: "status", answer: .status(404), ending: "call failed: unacceptableStatus(404)"),
        Course(testDescription: "lost", answer: .connectionLost(), ending: "call failed: connectionLost"),
        Course(
            testDescription: "truncated",
            answer: .text("0123456789").breaking(after: 4),
            ending: "call failed: incompleteBody"
        ),
        Course(testDescription: "time-out", answer: .timesOut(), ending: "call failed: timedOut(idle)"),
        Course(
            testDescription: "cancelled",
            answer: .fails(LoadingError(.cancelled)),
            ending: "call failed: cancelled"
        ),
    ]

    /// Makes a call in one of the forms; its end is recorded in the journal.
    private static func begin(
        _ form: CallForm,
        _ request: Request,
        by loader: Loader,
        _ recorder: ReportRecorder,
        _ endings: Journal<String>
    ) -> @Sendable () -> Void {
        let end: @Sendable (LoadingError?) -> Void = { error in
            endings.add(error.map { EventRecorder.line(for: .callFailed($0)) } ?? "success")
        }
        switch form {
        case .awaited, .awaitedStream:
            let task = Task(executorPreference: TaskExecutors.current) {
                end(
                    await failure { () throws(LoadingError) in
                        let response = try await loader.load(form == .awaited ? request : request.streamed)
                        for try await _ in response.body {}
                    }
                )
            }
            return { task.cancel() }
        case .completion:
            let handle = loader.load(request, on: .anywhere) { result in
                if case .failure(let error) = result { end(error) } else { end(nil) }
            }
            return { handle.cancel() }
        case .delegate:
            let handle = loader.perform(request, recorder)
            return { handle.cancel() }
        }
    }

    /// A recorder of ends in a journal.
    private static func recorder(_ endings: Journal<String>) -> ReportRecorder {
        ReportRecorder { reported, _ in
            switch reported {
            case .success: endings.add("success")
            case .failure(let text): endings.add(text)
            case .cancelled: endings.add("call failed: cancelled")
            case .head, .chunk, .askedForBody: endings.add("\(reported)")
            }
        }
    }

    @Test(
        "finding FQ-25 each form of a call has one ending when everything is over",
        arguments: CallForm.allCases,
        courses
    )
    func onceAtTheEnd(form: CallForm, course: Course) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(course.answer)
        let endings = Journal<String>()
        let recorder = Self.recorder(endings)
        let request = try rig.request()

        try await rig.time.runToTheEnd { _ = Self.begin(form, request, by: rig.loader, recorder, endings) }

        #expect(endings.all == [course.ending])
        #expect(rig.events.story.count { $0.hasPrefix("call f") } == 1)
        #expect(rig.loader.currentRequests.isEmpty)
        #expect(rig.transport.inFlight == 0)
    }

    /// The ways to end a call from outside while its exchange runs.
    enum Outside: CaseIterable {
        case handle, handleTwice, loader, signOut, shutDown, everything
    }

    @Test(
        "finding FQ-25 a call that is ended from outside, once or by everything, has one ending when all is over",
        arguments: CallForm.allCases,
        Outside.allCases
    )
    func endedFromOutside(form: CallForm, outside: Outside) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok").after(.seconds(10)))
        let account = rig.service.account(identifier: "a")
        let loader = account.makeLoader()
        let endings = Journal<String>()
        let recorder = Self.recorder(endings)
        let request = try rig.request()

        try await rig.time.runToTheEnd {
            let cancel = Self.begin(form, request, by: loader, recorder, endings)
            try await rig.time.sleep(for: .seconds(5))
            if [.handle, .handleTwice, .everything].contains(outside) { cancel() }
            if outside == .handleTwice { cancel() }
            if [.loader, .everything].contains(outside) { loader.cancelAllLoads() }
            if [.signOut, .everything].contains(outside) { await account.signOut() }
            if [.shutDown, .everything].contains(outside) { await rig.service.shutDown() }
        }

        #expect(endings.all == ["call failed: cancelled"])
        #expect(rig.events.story.count { $0.hasPrefix("call f") } == 1)
        #expect(loader.currentRequests.isEmpty)
        #expect(rig.transport.inFlight == 0)
        #expect(rig.transport.cancellations == 1)
    }
}
