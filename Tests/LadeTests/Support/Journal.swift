#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeTesting
import Testing

/// Records reports, in order, and lets a test wait for them.
final class Journal<Entry: Sendable>: Sendable {
    private let entries = Locked<[Entry]>([])
    private let signal = Signal()

    func add(_ entry: Entry) {
        entries.withLock { $0.append(entry) }
        signal.step()
    }

    var all: [Entry] { entries.withLock { $0 } }

    /// Waits until this many more entries than in earlier waits are present, and returns all.
    func next(_ count: Int = 1) async throws -> [Entry] {
        for _ in 0..<count { try await signal.wait() }
        return all
    }
}

/// The reports to a delegate.
enum Report: Equatable, Sendable {
    case success(Int, String)
    case failure(String)
    case cancelled
    case head(Int)
    case chunk(String)
    case askedForBody

    var isEnding: Bool {
        switch self {
        case .success, .failure, .cancelled: true
        case .head, .chunk, .askedForBody: false
        }
    }
}

/// A delegate that records, and treats any report after the end of a load as a failure of the test.
final class Witness: LoaderDelegate {
    let journal = Journal<Report>()
    let loads = Locked<[Call.ID]>([])
    private let ended = Locked<Set<Call.ID>>([])
    private let supportsChunks: Bool
    private let newBody: RequestBody?
    private let onReport: @Sendable (Report, LoadHandle) -> Void

    init(
        chunks: Bool = false,
        newBody: RequestBody? = nil,
        onReport: @escaping @Sendable (Report, LoadHandle) -> Void = { _, _ in }
    ) {
        supportsChunks = chunks
        self.newBody = newBody
        self.onReport = onReport
    }

    var reported: [Report] { journal.all }

    private func add(_ reported: Report, _ load: LoadHandle) {
        let isLate = ended.withLock { $0.contains(load.id) || (reported.isEnding && !$0.insert(load.id).inserted) }
        if isLate { Issue.record("\(reported) was reported for \(load.id) after its end") }
        onReport(reported, load)
        loads.withLock { $0.append(load.id) }
        journal.add(reported)
    }

    func loader(_ loader: Loader, didLoad response: Response, for load: LoadHandle) {
        add(.success(response.status.code, String(decoding: response.body.bytes ?? Data(), as: UTF8.self)), load)
    }

    func loader(_ loader: Loader, didFailWith error: LoadingError, for load: LoadHandle) {
        add(.failure(EventRecorder.line(for: .callFailed(error))), load)
    }

    func loader(_ loader: Loader, didCancel load: LoadHandle) { add(.cancelled, load) }

    func loaderSupportsChunks(_ loader: Loader) -> Bool { supportsChunks }

    func loader(_ loader: Loader, didReceiveHead response: Response, for load: LoadHandle) {
        add(.head(response.status.code), load)
    }

    func loader(_ loader: Loader, didReceive chunk: Data, of response: Response, for load: LoadHandle) {
        add(.chunk(String(decoding: chunk, as: UTF8.self)), load)
    }

    func loaderReopensBodies(_ loader: Loader) -> Bool { newBody != nil }

    func loader(_ loader: Loader, needsBodyFor load: LoadHandle) async -> RequestBody? {
        add(.askedForBody, load)
        return newBody
    }
}

/// Retries after every failure except cancellation, a given number of times.
struct Repeating: Interceptor {
    let times: Int

    func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        for _ in 0..<times {
            do throws(LoadingError) {
                return try await next(request)
            } catch {
                if error.isCancellation { throw error }
            }
        }
        return try await next(request)
    }
}

extension VirtualTime {
    /// Runs `body` and everything that it started to the end, on one thread.
    ///
    /// Time advances only when nothing is left to do, so after a day every report has arrived: what was reported once
    /// by then is reported once.
    func runToTheEnd<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await runAutomatically {
            let result = try await body()
            try await self.sleep(for: .seconds(86_400))
            return result
        }
    }
}

extension Request {
    /// The request, with streamed delivery.
    var streamed: Request {
        var copy = self
        copy.delivery = .streamed
        return copy
    }
}

extension Rig {
    /// Performs a request with a witness as the delegate, notified in the call's own task.
    func perform(_ request: Request, _ witness: Witness) -> LoadHandle {
        loader.delegate = witness
        loader.delegateExecutor = .anywhere
        return loader.perform(request)
    }

    /// Performs a request without an answer, and returns when it has reached the server.
    func performStalling(_ witness: Witness) async throws -> LoadHandle {
        transport.onAnyRequest().respond(.stalls)
        let handle = perform(try request(), witness)
        _ = try await transport.request(at: 0)
        return handle
    }
}
