import Foundation
import LadeCore
import Testing

@testable import LadeURLSession

/// Fed with events, without tasks or time: each test reads as events and expected actions.
@Suite(.timeLimit(.minutes(5)))
struct TransferStateTests {
    /// The state of an exchange that waits for a slot.
    private func unstarted(
        _ delivery: Request.Delivery = .streamed,
        method: Request.Method = .get,
        canPause: Bool = true,
        ratio: Int = 100,
        change: (inout Request) -> Void = { _ in }
    ) throws -> TransferStateSubject {
        var request = try Request(method, "http://example.com/a", delivery: delivery)
        change(&request)
        var limits = TransportSettings.ResponseLimits()
        limits.streamHighWater = 10
        limits.decompressionFloor = 100
        limits.decompressionRatio = ratio
        return TransferStateSubject(
            TransferState(request: request, limits: limits, canPause: canPause, now: at(0))
        )
    }

    private func state(
        _ delivery: Request.Delivery = .streamed,
        method: Request.Method = .get,
        canPause: Bool = true,
        ratio: Int = 100,
        change: (inout Request) -> Void = { _ in }
    ) throws -> TransferStateSubject {
        var state = try unstarted(delivery, method: method, canPause: canPause, ratio: ratio, change: change)
        #expect(show(state.start(at: at(0))) == ["report exchange started"])
        return state
    }

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func head(_ code: Int = 200, _ fields: (String, String)...) -> PlatformHead {
        PlatformHead(code: code, fields: fields)
    }

    private func bytes(_ count: Int) -> Data { Data(repeating: 120, count: count) }

    /// The error that the sender receives.
    private func senderError(_ actions: [TransferState.Action]) -> LoadingError? {
        for case .failSender(let error) in actions { return error }
        return nil
    }

    // MARK: - Delivery

    @Test("a buffered answer is given when the platform has finished")
    func buffered() throws {
        var state = try state(.buffered(limit: 100))
        #expect(show(state.headArrived(head(200, ("Content-Length", "6")), at: at(1))) == ["report head 200"])
        #expect(state.bytesArrived(bytes(4), at: at(1)).isEmpty)
        #expect(state.bytesArrived(bytes(2), at: at(1)).isEmpty)
        #expect(show(state.finished(nil, lateHead: nil, at: at(2))) == ["report finished", "answer 200 with 6"])
        #expect(state.metrics.firstByte == .seconds(1))
        #expect(state.metrics.total == .seconds(2))
        #expect(state.metrics.responseBodyBytes == 6)
    }

    @Test("a streamed answer is given with its head, then read as it comes")
    func streamed() throws {
        var state = try state()
        #expect(show(state.headArrived(head(), at: at(1))) == ["report head 200", "answer 200 streaming"])
        #expect(show(state.read(at: at(1))) == ["wait"])
        #expect(show(state.bytesArrived(bytes(4), at: at(1))) == ["give reader 4"])
        #expect(state.bytesArrived(bytes(3), at: at(1)).isEmpty)
        #expect(show(state.finished(nil, lateHead: nil, at: at(2))) == ["report finished"])
        #expect(show(state.read(at: at(2))) == ["3"])
        #expect(show(state.read(at: at(2))) == ["the end"])
        #expect(show(state.read(at: at(2))) == ["the end"])
    }

    @Test("transport TR-38 what arrived before a failure is read first")
    func readsBeforeFailing() throws {
        var state = try state()
        _ = state.headArrived(head(200, ("Content-Length", "9")), at: at(1))
        _ = state.bytesArrived(bytes(4), at: at(1))
        let failure = PlatformFailure(.networkConnectionLost)
        #expect(show(state.finished(failure, lateHead: nil, at: at(1))) == ["cancel task", "report failed"])
        #expect(show(state.read(at: at(1))) == ["4"])
        #expect(show(state.read(at: at(1))) == ["throw lost: after 4 bytes of the body"])
    }

    @Test("interim heads are reported and not taken for the answer")
    func interim() throws {
        var state = try state()
        #expect(show(state.headArrived(head(103, ("Link", "</a>")), at: at(1))) == ["report interim 103"])
        #expect(show(state.headArrived(head(), at: at(2))) == ["report head 200", "answer 200 streaming"])
        #expect(state.metrics.firstByte == .seconds(1))
    }

    @Test("a second head of the answer is ignored")
    func secondHead() throws {
        var state = try state(.buffered(limit: 100))
        _ = state.headArrived(head(200), at: at(1))
        #expect(state.headArrived(head(500), at: at(1)).isEmpty)
        #expect(show(state.finished(nil, lateHead: nil, at: at(1))) == ["report finished", "answer 200 with 0"])
    }

    @Test("an empty part of the body is ignored, before the head and while a reader waits")
    func emptyPart() throws {
        var state = try state()
        #expect(state.bytesArrived(Data(), at: at(1)).isEmpty)
        _ = state.headArrived(head(), at: at(1))
        #expect(show(state.read(at: at(1))) == ["wait"])
        #expect(state.bytesArrived(Data(), at: at(1)).isEmpty)
        #expect(show(state.bytesArrived(bytes(4), at: at(1))) == ["give reader 4"])
    }

    @Test("an error carries the status and the fields of the head that arrived before it")
    func errorAfterHead() throws {
        var cut = try state(.buffered(limit: 100))
        _ = cut.headArrived(head(503, ("Retry-After", "7")), at: at(1))
        let lost = try #require(
            senderError(cut.finished(PlatformFailure(.networkConnectionLost), lateHead: nil, at: at(2)))
        )
        #expect(lost.context.status == 503)
        #expect(lost.context.headers["Retry-After"] == "7")

        var malformed = try state(.buffered(limit: 100))
        let actions = malformed.headArrived(head(502, ("Content-Length", "x")), at: at(1))
        #expect(try #require(senderError(actions)).context.status == 502)
    }

    @Test("transport TR-18 a switch of protocols without a request for it is an error")
    func upgrade() throws {
        var state = try state()
        let actions = show(state.headArrived(head(101), at: at(1)))
        #expect(
            actions == [
                "cancel task", "abandon connections", "report failed", "fail sender: malformed: unaskedUpgrade",
            ]
        )
    }

    // MARK: - Limits

    @Test("transport TR-81 an announced length above the limit fails immediately")
    func announcedTooLarge() throws {
        var state = try state(.buffered(limit: 5))
        let actions = show(state.headArrived(head(200, ("Content-Length", "6")), at: at(1)))
        #expect(
            actions == ["report head 200", "cancel task", "report failed", "fail sender: too large: 5, announced 6"]
        )
    }

    @Test("transport TR-81 an announced length equal to the limit is allowed")
    func announcedLimit() throws {
        var state = try state(.buffered(limit: 5))
        #expect(show(state.headArrived(head(200, ("Content-Length", "5")), at: at(1))) == ["report head 200"])
        #expect(state.bytesArrived(bytes(5), at: at(1)).isEmpty)
        #expect(show(state.finished(nil, lateHead: nil, at: at(1))) == ["report finished", "answer 200 with 5"])
    }

    @Test("transport TR-81 a body that grows above the limit fails then")
    func grownTooLarge() throws {
        var state = try state(.buffered(limit: 5))
        _ = state.headArrived(head(), at: at(1))
        #expect(state.bytesArrived(bytes(5), at: at(1)).isEmpty)
        let actions = show(state.bytesArrived(bytes(1), at: at(1)))
        #expect(actions == ["cancel task", "report failed", "fail sender: too large: 5, announced -1"])
    }

    @Test("a coded length above the limit says nothing about the decoded one")
    func codedLength() throws {
        var state = try state(.buffered(limit: 5))
        let coded = head(200, ("Content-Length", "25"), ("Content-Encoding", "gzip"))
        #expect(show(state.headArrived(coded, at: at(1))) == ["report head 200"])
        #expect(state.bytesArrived(bytes(2), at: at(1)).isEmpty)
        #expect(show(state.finished(nil, lateHead: nil, at: at(1))) == ["report finished", "answer 200 with 2"])
        #expect(state.metrics.contentEncoding == "gzip")
        #expect(state.metrics.responseBodyBytes == 25)
        #expect(state.metrics.decodedBodyBytes == 2)
    }

    @Test("transport TR-82 a coded body that grows a hundredfold is refused")
    func ratio() throws {
        var state = try state(canPause: false)
        _ = state.headArrived(head(200, ("Content-Length", "2"), ("Content-Encoding", "gzip")), at: at(1))
        #expect(show(state.bytesArrived(bytes(199), at: at(1))) == [])
        #expect(show(state.bytesArrived(bytes(1), at: at(1))) == ["cancel task", "report failed"])
    }

    @Test("transport TR-82 a coded body is refused only above the floor, whatever its ratio")
    func ratioFloor() throws {
        var state = try state(canPause: false, ratio: 10)
        _ = state.headArrived(head(200, ("Content-Length", "2"), ("Content-Encoding", "gzip")), at: at(1))
        #expect(state.bytesArrived(bytes(99), at: at(1)).isEmpty)
        #expect(state.bytesArrived(bytes(1), at: at(1)).isEmpty)
        #expect(show(state.bytesArrived(bytes(1), at: at(1))) == ["cancel task", "report failed"])
    }

    @Test("transport TR-82 a body that is not coded has no ratio")
    func ratioWithoutCoding() throws {
        var state = try state(canPause: false, ratio: 1)
        _ = state.headArrived(head(200, ("Content-Length", "200")), at: at(1))
        #expect(state.bytesArrived(bytes(200), at: at(1)).isEmpty)
        #expect(show(state.finished(nil, lateHead: nil, at: at(1))) == ["report finished"])
    }

    @Test("transport TR-16 the heads of one exchange share one limit")
    func headBytes() throws {
        var state = try state()
        // Each counts 3 for the name, 65,529 for the value and 4 for colon, space and line end: a quarter of 256 KiB.
        let quarter = ("X-A", String(repeating: "v", count: 65_529))
        for _ in 0..<3 { #expect(show(state.headArrived(head(103, quarter), at: at(1))) == ["report interim 103"]) }
        #expect(show(state.headArrived(head(103, quarter), at: at(1))) == ["report interim 103"])
        let actions = show(state.headArrived(head(200, ("A", "")), at: at(1)))
        #expect(actions == ["cancel task", "report failed", "fail sender: head too large"])
    }

    // MARK: - Short responses

    @Test("transport TR-06 a body shorter than announced is incomplete even when the platform is content")
    func short() throws {
        var state = try state(.buffered(limit: 100))
        _ = state.headArrived(head(200, ("Content-Length", "6")), at: at(1))
        _ = state.bytesArrived(bytes(4), at: at(1))
        let actions = show(state.finished(nil, lateHead: nil, at: at(1)))
        #expect(actions == ["cancel task", "report failed", "fail sender: incomplete: 4 of 6"])
    }

    @Test("transport TR-53 an answer that is complete stays so when the connection breaks under the request")
    func completeBeforeBreak() throws {
        var whole = try state(.buffered(limit: 100), method: .post)
        _ = whole.headArrived(head(417, ("Content-Length", "4")), at: at(1))
        _ = whole.bytesArrived(bytes(4), at: at(1))
        let broken = PlatformFailure(.networkConnectionLost)
        #expect(show(whole.finished(broken, lateHead: nil, at: at(1))) == ["report finished", "answer 417 with 4"])

        var open = try state(.buffered(limit: 100), method: .post)
        _ = open.headArrived(head(417), at: at(1))
        let actions = show(open.finished(broken, lateHead: nil, at: at(1)))
        #expect(actions == ["cancel task", "report failed", "fail sender: lost: after 0 bytes of the body"])

        var bodyless = try state(.buffered(limit: 100), method: .post)
        _ = bodyless.headArrived(head(204), at: at(1))
        #expect(show(bodyless.finished(broken, lateHead: nil, at: at(1))) == ["report finished", "answer 204 with 0"])
    }

    @Test("transport TR-53 a coded answer whose decoded length is the announced one is not taken for complete")
    func codedBeforeBreak() throws {
        var state = try state(.buffered(limit: 100), method: .post)
        _ = state.headArrived(head(417, ("Content-Length", "4"), ("Content-Encoding", "gzip")), at: at(1))
        _ = state.bytesArrived(bytes(4), at: at(1))
        let actions = show(state.finished(PlatformFailure(.networkConnectionLost), lateHead: nil, at: at(1)))
        #expect(actions == ["cancel task", "report failed", "fail sender: lost: after 4 bytes of the body"])
    }

    @Test("another failure than a lost connection ends an exchange whose answer is complete")
    func otherFailure() throws {
        var state = try state(.buffered(limit: 100))
        _ = state.headArrived(head(200, ("Content-Length", "4")), at: at(1))
        _ = state.bytesArrived(bytes(4), at: at(1))
        let actions = show(state.finished(PlatformFailure(.timedOut), lateHead: nil, at: at(1)))
        #expect(actions == ["cancel task", "report failed", "fail sender: timed out: idle"])
    }

    @Test("an answer in chunks is complete when the platform has finished")
    func chunked() throws {
        var state = try state(.buffered(limit: 100))
        _ = state.headArrived(head(200, ("Transfer-Encoding", "chunked")), at: at(1))
        _ = state.bytesArrived(bytes(4), at: at(1))
        #expect(show(state.finished(nil, lateHead: nil, at: at(1))) == ["report finished", "answer 200 with 4"])
    }

    @Test("a length that stands in an answer without a body is not waited for", arguments: [204, 304])
    func bodyless(_ code: Int) throws {
        var state = try state(.buffered(limit: 100))
        _ = state.headArrived(head(code, ("Content-Length", "1000")), at: at(1))
        let actions = show(state.finished(nil, lateHead: nil, at: at(1)))
        #expect(actions == ["report finished", "answer \(code) with 0"])
    }

    @Test("transport TR-43 an answer to HEAD has no body whatever its length says")
    func headRequest() throws {
        var state = try state(.buffered(limit: 100), method: .head)
        _ = state.headArrived(head(200, ("Content-Length", "1000")), at: at(1))
        #expect(show(state.finished(nil, lateHead: nil, at: at(1))) == ["report finished", "answer 200 with 0"])
    }

    @Test("a redirect that leads nowhere is delivered late, and its swallowed body is an error")
    func lateHead() throws {
        var empty = try state(.buffered(limit: 100))
        let nothing = show(empty.finished(nil, lateHead: head(301, ("Content-Length", "0")), at: at(1)))
        #expect(nothing == ["report head 301", "report finished", "answer 301 with 0"])

        var sized = try state(.buffered(limit: 100))
        let known = show(sized.finished(nil, lateHead: head(301, ("Content-Length", "2")), at: at(1)))
        #expect(known == ["report head 301", "cancel task", "report failed", "fail sender: incomplete: 0 of 2"])

        var chunked = try state(.buffered(limit: 100))
        let unknown = show(chunked.finished(nil, lateHead: head(301, ("Transfer-Encoding", "chunked")), at: at(1)))
        #expect(unknown == ["report head 301", "cancel task", "report failed", "fail sender: incomplete: 0 of -1"])

        var bodyless = try state(.buffered(limit: 100), method: .head)
        let none = show(bodyless.finished(nil, lateHead: head(301, ("Transfer-Encoding", "chunked")), at: at(1)))
        #expect(none == ["report head 301", "report finished", "answer 301 with 0"])
    }

    @Test("a platform that finishes without a head has lost the connection")
    func noHead() throws {
        var state = try state()
        let actions = show(state.finished(nil, lateHead: nil, at: at(1)))
        #expect(actions == ["cancel task", "report failed", "fail sender: lost: before any byte of the response"])
    }

    // MARK: - One ending

    @Test("nothing happens after the end, whatever comes")
    func oneEnding() throws {
        var state = try state()
        _ = state.headArrived(head(), at: at(1))
        #expect(show(state.cancel(at: at(1))) == ["cancel task", "report failed"])
        #expect(state.isEnded)
        #expect(state.cancel(at: at(1)).isEmpty)
        #expect(state.start(at: at(1)).isEmpty)
        #expect(state.headArrived(head(), at: at(1)).isEmpty)
        #expect(state.bytesArrived(bytes(3), at: at(1)).isEmpty)
        #expect(state.finished(PlatformFailure(.cancelled), lateHead: head(), at: at(1)).isEmpty)
        #expect(state.timePassed(at(1000)).isEmpty)
        #expect(show(state.read(at: at(1))) == ["throw cancelled"])
    }

    @Test("an exchange that is cancelled while it waits for a slot neither starts nor receives a head")
    func cancelledBeforeStart() throws {
        var state = try unstarted()
        #expect(show(state.cancel(at: at(1))) == ["cancel task", "report failed", "fail sender: cancelled"])
        #expect(state.start(at: at(2)).isEmpty)
        #expect(state.headArrived(head(), at: at(2)).isEmpty)
    }

    @Test("a failed exchange has the time until its failure in its metrics")
    func failedMetrics() throws {
        var state = try state()
        _ = state.cancel(at: at(3))
        #expect(state.metrics.total == .seconds(3))
    }

    @Test("cancelling throws away what was not read, and wakes the reader")
    func cancelling() throws {
        var unread = try state()
        _ = unread.headArrived(head(), at: at(1))
        _ = unread.bytesArrived(bytes(4), at: at(1))
        _ = unread.cancel(at: at(1))
        #expect(show(unread.read(at: at(1))) == ["throw cancelled"])

        var waiting = try state()
        _ = waiting.headArrived(head(), at: at(1))
        _ = waiting.read(at: at(1))
        #expect(show(waiting.cancel(at: at(1))) == ["cancel task", "report failed", "fail reader: cancelled"])
    }

    @Test("cancelling after the platform has finished does not make the end of the body out of its middle")
    func cancellingFinished() throws {
        var unread = try state()
        _ = unread.headArrived(head(), at: at(1))
        _ = unread.bytesArrived(bytes(4), at: at(1))
        _ = unread.finished(nil, lateHead: nil, at: at(1))
        #expect(unread.cancel(at: at(1)).isEmpty)
        #expect(show(unread.read(at: at(1))) == ["throw cancelled"])

        var read = try state()
        _ = read.headArrived(head(), at: at(1))
        _ = read.bytesArrived(bytes(4), at: at(1))
        _ = read.read(at: at(1))
        _ = read.finished(nil, lateHead: nil, at: at(1))
        #expect(read.cancel(at: at(1)).isEmpty)
        #expect(show(read.read(at: at(1))) == ["the end"])
    }

    @Test("a reader sees the end only when it was reported")
    func publishing() throws {
        var state = try state().state
        _ = state.headArrived(head(), at: at(1))
        let actions = state.finished(PlatformFailure(.networkConnectionLost), lateHead: nil, at: at(1))
        #expect(show(actions) == ["cancel task", "report failed", "publish"])
        #expect(show(state.read(at: at(1))) == ["wait"])
        #expect(show(state.publish()) == ["fail reader: lost: after 0 bytes of the body"])
        #expect(state.publish().isEmpty)
    }

    // MARK: - Back-pressure

    @Test("reception stops above the high-water mark and resumes when half is read")
    func pausing() throws {
        var state = try state()
        _ = state.headArrived(head(), at: at(1))
        #expect(state.bytesArrived(bytes(6), at: at(1)).isEmpty)
        #expect(show(state.bytesArrived(bytes(4), at: at(1))) == ["adjust pausing"])
        #expect(state.isPaused)
        // Callbacks that were pending still arrive.
        #expect(state.bytesArrived(bytes(5), at: at(1)).isEmpty)
        #expect(show(state.read(at: at(2))) == ["6"])
        // Exactly half of the mark is left.
        #expect(show(state.read(at: at(2))) == ["4", "adjust pausing"])
        #expect(!state.isPaused)
    }

    @Test("a platform that cannot stop is not asked to")
    func noPausing() throws {
        var state = try state(canPause: false)
        _ = state.headArrived(head(), at: at(1))
        #expect(state.bytesArrived(bytes(1000), at: at(1)).isEmpty)
        #expect(!state.isPaused)
    }

    // MARK: - Time

    @Test("transport TR-80 the idle time-out starts anew with every byte")
    func idle() throws {
        var state = try state { $0.timeouts.idle = .seconds(10) }
        #expect(state.nextDeadline(at: at(0)) == at(10))
        state.bytesSent(5, at: at(4))
        #expect(state.nextDeadline(at: at(5)) == at(14))
        _ = state.headArrived(head(), at: at(9))
        #expect(state.timePassed(at(18)).isEmpty)
        _ = state.bytesArrived(bytes(1), at: at(18))
        #expect(state.timePassed(at(27)).isEmpty)
        #expect(show(state.timePassed(at(28))) == ["cancel task", "report failed"])
        #expect(show(state.read(at: at(28))) == ["1"])
        #expect(show(state.read(at: at(28))) == ["throw timed out: idle"])
        #expect(state.metrics.requestBodyBytes == 5)
    }

    @Test("finding FT-4 the whole time-out starts with the exchange, after any wait for a connection of its own")
    func wholeAfterWait() throws {
        let state = try unstarted {
            $0.timeouts.idle = nil
            $0.timeouts.whole = .seconds(12)
        }
        expectTimeout(of: state, after: 12, "whole exchange")
    }

    /// Expects a time-out so many seconds after a start that comes late, and none before the start.
    private func expectTimeout(of unstarted: TransferStateSubject, after limit: Int64, _ phase: String) {
        var state = unstarted
        // Checked again: before the start there is no deadline that could have passed.
        #expect(state.nextDeadline(at: at(50)) == at(50 + limit))
        #expect(state.timePassed(at(50 + limit)).isEmpty)

        _ = state.start(at: at(100))
        #expect(state.nextDeadline(at: at(101)) == at(100 + limit))
        #expect(state.timePassed(at(99 + limit)).isEmpty)
        let actions = show(state.timePassed(at(100 + limit)))
        #expect(actions == ["cancel task", "report failed", "fail sender: timed out: \(phase)"])
    }

    @Test("the idle time-out starts with the exchange, after any wait for a slot")
    func idleAfterWait() throws {
        expectTimeout(of: try unstarted { $0.timeouts.idle = .seconds(10) }, after: 10, "idle")
    }

    @Test("the metrics count a wait for a slot apart from the exchange")
    func queuedMetrics() throws {
        var immediate = try state(.buffered(limit: 9))
        _ = immediate.headArrived(head(), at: at(1))
        #expect(immediate.metrics.queued == nil)

        var queued = try unstarted(.buffered(limit: 9))
        _ = queued.start(at: at(100))
        _ = queued.headArrived(head(), at: at(103))
        _ = queued.finished(nil, lateHead: nil, at: at(104))
        #expect(queued.metrics.queued == .seconds(100))
        #expect(queued.metrics.firstByte == .seconds(3))
        #expect(queued.metrics.total == .seconds(4))
    }

    @Test("transport TR-80 the whole time-out starts once")
    func whole() throws {
        var state = try state(.buffered(limit: 9)) {
            $0.timeouts.whole = .seconds(12)
            $0.timeouts.idle = .seconds(10)
        }
        _ = state.headArrived(head(), at: at(9))
        #expect(state.nextDeadline(at: at(9)) == at(12))
        let actions = show(state.timePassed(at(12)))
        #expect(actions == ["cancel task", "report failed", "fail sender: timed out: whole exchange"])
    }

    @Test("the idle time-out does not run while the reader is slow")
    func pausedIsNotIdle() throws {
        var state = try state { $0.timeouts.idle = .seconds(10) }
        _ = state.headArrived(head(), at: at(1))
        _ = state.bytesArrived(bytes(10), at: at(1))
        #expect(state.timePassed(at(100)).isEmpty)
        _ = state.read(at: at(100))
        #expect(state.nextDeadline(at: at(100)) == at(110))
    }

    @Test("no time-out means no deadline")
    func unlimited() throws {
        let state = try state { $0.timeouts.idle = nil }
        #expect(state.nextDeadline(at: at(0)) == nil)
    }

    // MARK: - Waiting for a network

    @Test("a wait for a network is reported, and the idle time-out does not run meanwhile")
    func connectivity() throws {
        var state = try state(change: { $0.timeouts.idle = .seconds(60) })
        #expect(show(state.waitsForConnectivity(at: at(1))) == ["report wait for a network"])
        #expect(state.waitsForConnectivity(at: at(2)).isEmpty)
        #expect(state.timePassed(at(500)).isEmpty)
        #expect(show(state.reached(at: at(501))) == ["report no wait for a network after 500.0 seconds"])
        #expect(state.reached(at: at(502)).isEmpty)
        #expect(state.nextDeadline(at: at(502)) == at(561))
        #expect(show(state.timePassed(at(561))).contains("fail sender: timed out: idle"))
    }

    @Test("a wait for a network counts for the whole of the exchange, and ends with it")
    func connectivityTimesOut() throws {
        var state = try state(change: { $0.timeouts.whole = .seconds(20) })
        _ = state.waitsForConnectivity(at: at(0))
        #expect(
            show(state.timePassed(at(20))) == [
                "report no wait for a network after 20.0 seconds", "cancel task", "report failed",
                "fail sender: timed out: whole exchange",
            ]
        )
        #expect(state.waitsForConnectivity(at: at(21)).isEmpty)
    }

    @Test("a wait for a network ends before the head of the answer is reported, also when that comes late")
    func connectivityUntilHead() throws {
        var prompt = try state()
        _ = prompt.waitsForConnectivity(at: at(1))
        #expect(
            show(prompt.headArrived(head(), at: at(3))) == [
                "report no wait for a network after 2.0 seconds", "report head 200", "answer 200 streaming",
            ]
        )
        #expect(prompt.waitsForConnectivity(at: at(4)).isEmpty)

        var late = try state(.buffered(limit: 9))
        _ = late.waitsForConnectivity(at: at(1))
        #expect(
            show(late.finished(nil, lateHead: head(301, ("Content-Length", "0")), at: at(3))) == [
                "report no wait for a network after 2.0 seconds", "report head 301", "report finished",
                "answer 301 with 0",
            ]
        )
    }
}
