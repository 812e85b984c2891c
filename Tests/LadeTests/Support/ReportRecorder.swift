#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeTesting
import SharedDoubles
import Testing

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

/// Records the reports of performed calls, and treats any report after the end of a load as a failure of the test.
///
/// Calls hold it weakly, as they hold a delegate.
final class ReportRecorder: Sendable {
    let journal = Journal<Report>()
    let loads = Locked<[Call.ID]>([])
    let supportsChunks: Bool
    private let ended = Locked<Set<Call.ID>>([])
    fileprivate let newBody: Request.Body?
    private let onReport: @Sendable (Report, Loader.Handle) -> Void

    init(
        chunks: Bool = false,
        newBody: Request.Body? = nil,
        onReport: @escaping @Sendable (Report, Loader.Handle) -> Void = { _, _ in }
    ) {
        supportsChunks = chunks
        self.newBody = newBody
        self.onReport = onReport
    }

    var reported: [Report] { journal.all }

    fileprivate func add(_ reported: Report, _ load: Loader.Handle) {
        let isLate = ended.withLock { $0.contains(load.id) || (reported.isEnding && !$0.insert(load.id).inserted) }
        if isLate { Issue.record("\(reported) was reported for \(load.id) after its end") }
        onReport(reported, load)
        loads.withLock { $0.append(load.id) }
        journal.add(reported)
    }

    fileprivate func add(_ result: Result<Response, LoadingError>, _ load: Loader.Handle) {
        switch result {
        case .success(let response):
            add(.success(response.status.code, String(decoding: response.body.bytes ?? Data(), as: UTF8.self)), load)
        case .failure(let error) where error.isCancellation: add(.cancelled, load)
        case .failure(let error): add(.failure(EventRecorder.line(for: .callFailed(error))), load)
        }
    }

    /// The reports of a call to this recorder.
    fileprivate var reports: CallReports {
        var reports = CallReports(
            head: { [weak self] head, load in self?.add(.head(head.status.code), load) },
            chunk: { [weak self] chunk, _, load in self?.add(.chunk(String(decoding: chunk, as: UTF8.self)), load) },
            newBody: nil,
            ending: { [weak self] result, load in self?.add(result, load) }
        )
        guard newBody != nil else { return reports }
        reports.newBody = { [weak self] load in
            self?.add(.askedForBody, load)
            return self?.newBody
        }
        return reports
    }
}

/// A delegate whose notifications a recorder keeps.
final class WitnessedDelegate: LoaderDelegate {
    nonisolated let recorder: ReportRecorder

    nonisolated init(_ recorder: ReportRecorder) {
        self.recorder = recorder
    }

    func loader(_ loader: Loader, didLoad response: Response, for load: Loader.Handle) {
        recorder.add(.success(response), load)
    }

    func loader(_ loader: Loader, didFailWith error: LoadingError, for load: Loader.Handle) {
        recorder.add(.failure(error), load)
    }

    func loader(_ loader: Loader, didCancel load: Loader.Handle) { recorder.add(.cancelled, load) }

    func loaderSupportsChunks(_ loader: Loader) -> Bool { recorder.supportsChunks }

    func loader(_ loader: Loader, didReceiveHead response: Response, for load: Loader.Handle) {
        recorder.add(.head(response.status.code), load)
    }

    func loader(_ loader: Loader, didReceive chunk: Data, of response: Response, for load: Loader.Handle) {
        recorder.add(.chunk(String(decoding: chunk, as: UTF8.self)), load)
    }

    func loaderReopensBodies(_ loader: Loader) -> Bool { recorder.newBody != nil }

    func loader(_ loader: Loader, needsBodyFor load: Loader.Handle) async -> Request.Body? {
        recorder.add(.askedForBody, load)
        return recorder.newBody
    }
}

extension Loader {
    /// Performs a request as `perform(_:)` does, and reports to a recorder, in the call's own task by default.
    @discardableResult
    func perform(_ request: Request, _ recorder: ReportRecorder, on executor: Service.CompletionExecutor = .anywhere)
        -> Loader.Handle
    {
        perform(request, on: executor, acceptsChunks: recorder.supportsChunks, recorder.reports)
    }
}

/// Retries after every failure except cancellation, a given number of times.
struct Repeating: Interceptor {
    let times: Int

    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
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

extension Rig {
    /// Performs a request, and reports to a recorder in the call's own task.
    func perform(_ request: Request, _ recorder: ReportRecorder) -> Loader.Handle {
        loader.perform(request, recorder)
    }

    /// Performs a request without a response, and returns when it has reached the server.
    func performStalling(_ recorder: ReportRecorder) async throws -> Loader.Handle {
        transport.onAnyRequest().respond(.stalls)
        let handle = perform(try request(), recorder)
        _ = try await transport.request(at: 0)
        return handle
    }
}
