import Foundation
import LadeCore

@testable import LadeURLSession

/// Passes events to a state and publishes its end as soon as the state requests it.
struct TransferStateSubject {
    private(set) var state: TransferState

    var isEnded: Bool { state.isEnded }
    var isPaused: Bool { state.isPaused }
    var metrics: Response.Metrics { state.metrics }

    init(_ state: TransferState) {
        self.state = state
    }

    private mutating func play(_ actions: [TransferState.Action]) -> [TransferState.Action] {
        actions.flatMap { action -> [TransferState.Action] in
            if case .publish = action { state.publish() } else { [action] }
        }
    }

    mutating func start(at now: Instant) -> [TransferState.Action] { play(state.start(at: now)) }

    mutating func headArrived(_ head: PlatformHead, at now: Instant) -> [TransferState.Action] {
        play(state.headArrived(head, at: now))
    }

    mutating func bytesArrived(_ bytes: Data, at now: Instant) -> [TransferState.Action] {
        play(state.bytesArrived(bytes, at: now))
    }

    mutating func bytesSent(_ count: Int64, at now: Instant) { state.bytesSent(count, at: now) }

    mutating func waitsForConnectivity(at now: Instant) -> [TransferState.Action] {
        play(state.waitsForConnectivity(at: now))
    }

    mutating func reached(at now: Instant) -> [TransferState.Action] { play(state.reached(at: now)) }

    mutating func finished(
        _ failure: PlatformFailure?,
        lateHead: PlatformHead?,
        at now: Instant
    ) -> [TransferState.Action] {
        play(state.finished(failure, lateHead: lateHead, at: now))
    }

    mutating func cancel(at now: Instant) -> [TransferState.Action] { play(state.cancel(at: now)) }
    mutating func timePassed(_ now: Instant) -> [TransferState.Action] { play(state.timePassed(now)) }
    mutating func read(at now: Instant) -> TransferState.Reading { state.read(at: now) }
    func nextDeadline(at now: Instant) -> Instant? { state.nextDeadline(at: now) }
}

/// The actions in words.
func show(_ actions: [TransferState.Action]) -> [String] {
    actions.map { action in
        switch action {
        case .deliver(.complete(let head, let bytes)): "answer \(head.status) with \(bytes.count)"
        case .deliver(.streaming(let head)): "answer \(head.status) streaming"
        case .failSender(let error): "fail sender: \(show(error))"
        case .giveReader(.success(let chunk)): "give reader \(chunk.map { "\($0.count)" } ?? "the end")"
        case .giveReader(.failure(let error)): "fail reader: \(show(error))"
        case .adjustPausing: "adjust pausing"
        case .cancelTask: "cancel task"
        case .abandonConnections: "abandon connections"
        case .report(.exchangeStarted): "report exchange started"
        case .report(.interimResponse(let status, _)): "report interim \(status)"
        case .report(.headReceived(let status, _, _)): "report head \(status)"
        case .report(.exchangeFinished): "report finished"
        case .report(.exchangeFailed): "report failed"
        case .report(.waitStarted(let reason)): "report wait for \(reason)"
        case .report(.waitEnded(let reason, let duration)): "report no wait for \(reason) after \(duration)"
        case .report: "report something else"
        case .publish: "publish"
        }
    }
}

/// The error in words.
func show(_ error: LoadingError) -> String {
    switch error.kind {
    case .cancelled: "cancelled"
    case .timedOut(let phase): "timed out: \(phase.rawValue)"
    case .malformedResponse(let fault): "malformed: \(fault.rule)"
    case .headTooLarge: "head too large"
    case .incompleteBody(let received, let expected): "incomplete: \(received) of \(expected ?? -1)"
    case .bodyTooLarge(let limit, let announced): "too large: \(limit), announced \(announced ?? -1)"
    case .decompressionRatioExceeded: "ratio"
    case .connectionLost(let progress, _): "lost: \(progress)"
    default: "another error"
    }
}

/// The result for a reader in words.
func show(_ reading: TransferState.Reading) -> [String] {
    switch reading {
    case .wait: ["wait"]
    case .now(.success(let chunk), let actions): [chunk.map { "\($0.count)" } ?? "the end"] + show(actions)
    case .now(.failure(let error), _): ["throw \(show(error))"]
    }
}
