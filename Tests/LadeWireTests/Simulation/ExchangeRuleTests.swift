import CProcess
import Foundation
import LadeCore
import LadeTesting
import Testing
import TransportDoubles

@testable import LadeExchange
@testable import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The rules of exchanges over HTTP/1.1, with the whole transport over simulated sockets.
@Suite("Exchanges over simulated sockets", .serialized, .timeLimit(.minutes(5)))
struct ExchangeRuleTests {
    private typealias Answer = SimulatedServer.Answer
    private typealias Call = Simulation.Call

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func simulation(
        _ answers: [String: Answer],
        _ lanes: [[Call]],
        place: SimulatedSystem.Place? = nil,
        replacement: SimulatedSystem.Replacement? = nil
    ) -> Simulation {
        let descriptor = lade_event_descriptor()
        let system = SimulatedSystem(place: place, replacement: replacement, wakeUpDescriptor: descriptor) { _ in
            .server(answers)
        }
        return Simulation(lanes, Simulation.settings, on: system)
    }

    private func get(_ target: String = "/", _ content: String = "ok") -> Call {
        Call(target: target, content: content)
    }

    private func post(_ body: Request.Body, _ fields: Headers = Headers()) -> Call {
        Call(target: "/", method: .post, headers: fields, body: body, content: "ok", upload: "uploaded")
    }

    private static func pipe(_ parts: Int = 3, _ failed: @escaping @Sendable (any Error) -> Void = { _ in })
        -> Request.Body
    {
        .writer { write in
            do {
                for _ in 0..<parts { try await write(Data("uploaded".utf8)) }
            } catch {
                failed(error)
                throw error
            }
        }
    }

    // MARK: - Bodies

    /// Simulates one call to a server of HTTP/1.1, in clear text or over TLS.
    private func simulation(_ answer: Answer, _ call: Call, isSecure: Bool) -> Simulation {
        let scenario = Scenario("", ["/": answer], [[call]])
        let run = isSecure ? scenario.secured : scenario
        return Simulation(run.lanes, run.settings, on: run.system(wakeUpDescriptor: -1))
    }

    @Test(
        "wire WR-36 a body of known length is received into the memory that is delivered",
        arguments: [false, true],
        [Call.Reader.none, .eager]
    )
    func direct(isSecure: Bool, reader: Simulation.Call.Reader) {
        let body = String(repeating: "x", count: 300 << 10)
        var call = get("/", body)
        call.reader = reader
        let answer = Answer("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let scenario = Scenario("", ["/": answer], [[call]])
        let run = isSecure ? scenario.secured : scenario
        var settings = run.settings
        settings.limits.streamHighWater = 1 << 20
        let calm = Simulation(run.lanes, settings, on: run.system(wakeUpDescriptor: -1))
        calm.run()
        // Most of the body comes in a later turn than the head.
        let place = SimulatedSystem.Place(
            connection: 0,
            direction: .inward,
            offset: calm.system.delivered[0] - (200 << 10),
            fault: .split
        )
        let simulation = Simulation(run.lanes, settings, on: run.system(place: place, wakeUpDescriptor: -1))
        simulation.start()
        simulation.turn { simulation.loop.running.first?.hasHead == true }
        #expect(simulation.loop.running.first.map { $0.bodyBytes < 150 << 10 } == true)
        // The memory that bytes pass whose place is not known.
        let scratch = simulation.loop.scratch
        for index in scratch.indices { scratch[index] = 0x23 }
        simulation.turn { simulation.outcomes[0].isOver }
        #expect(scratch.allSatisfy { $0 == 0x23 })
        #expect(simulation.outcomes[0].content == Array(body.utf8))
        simulation.run()
        #expect(simulation.findings.isEmpty && calm.findings.isEmpty)
    }

    @Test(
        "wire WR-36 at most 1 MiB is ready for what has not arrived, whatever is announced",
        arguments: [false, true]
    )
    func announced(isSecure: Bool) {
        let body = String(repeating: "x", count: 100 << 10)
        let simulation = simulation(
            Answer("HTTP/1.1 200 OK\r\nContent-Length: 30000000\r\n\r\n" + body),
            get("/", body),
            isSecure: isSecure
        )
        var most = 0
        simulation.beforeWait = { [unowned simulation] in
            most = max(most, simulation.loop.running.first?.bufferedCapacity ?? 0)
        }
        simulation.run()
        #expect(most > 0)
        #expect(most <= 1 << 20)
        #expect(simulation.outcomes[0].error == .timedOut(.idle))
        #expect(simulation.findings.isEmpty)
    }

    // MARK: - Connections

    @Test("wire WR-38 an unclean connection is closed before its reuse, and nothing counts as sent")
    func unclean() {
        for isEnd in [false, true] {
            let simulation = simulation(["/": Answer(Self.ok)], [[get()]])
            simulation.system.leaps = false
            simulation.start()
            simulation.turn { simulation.outcomes[0].isOver }
            // The loop has not noticed it when the next call takes the connection.
            simulation.system.isDeaf = true
            if isEnd { simulation.system.endIdle(0) } else { simulation.system.deliver([0x58], on: 0) }
            simulation.again(get())
            simulation.turn()
            simulation.system.isDeaf = false
            simulation.system.leaps = true
            simulation.run()
            #expect(simulation.haveAllSucceeded)
            #expect(simulation.system.servers.map(\.requests.count) == [1, 1])
            #expect(simulation.outcomes.map(\.repeats) == [0, 0])
            #expect(simulation.findings.isEmpty)
        }
    }

    @Test("wire WR-38 a stream is asked for only after the kernel has accepted the head")
    func producerWaits() {
        let isAsked = Locked(false)
        let body = Request.Body.writer { write in
            isAsked.withLock { $0 = true }
            try await write(Data("uploaded".utf8))
        }
        let place = SimulatedSystem.Place(connection: 0, direction: .outward, offset: 20, fault: .stall)
        let simulation = simulation(["/": Answer(Self.ok)], [[post(body)]], place: place)
        simulation.run()
        #expect(simulation.outcomes[0].error == .timedOut(.idle))
        #expect(!isAsked.withLock { $0 })
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-45 the next request is sent only after the response before it")
    func noPipelining() {
        let simulation = simulation(["/": Answer(Self.ok)], [[get()], [get()], [get()], [get()], [get()]])
        simulation.beforeWait = { [unowned simulation] in
            for (server, delivered) in zip(simulation.system.servers, simulation.system.delivered) {
                let isEarly = server.requests.count * Self.ok.utf8.count > delivered + Self.ok.utf8.count
                if isEarly { Issue.record("a request was sent before the response to the one before") }
            }
        }
        simulation.run()
        #expect(simulation.haveAllSucceeded)
        #expect(simulation.system.servers.count == 2)
        #expect(simulation.findings.isEmpty)
    }

    // MARK: - Heads

    @Test("wire WR-39 an upgrade fails, and interim heads count against the limit of heads")
    func interim() {
        let upgrade = simulation(["/": Answer("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n")], [[get()]])
        upgrade.run()
        guard case .malformedResponse(let fault)? = upgrade.outcomes[0].error else {
            Issue.record("\(String(describing: upgrade.outcomes[0].error))")
            return
        }
        #expect(fault.rule == .unaskedUpgrade)
        #expect(fault.offset == 0)

        let hints = String(
            repeating: "HTTP/1.1 103 Hints\r\nX: \(String(repeating: "x", count: 2_000))\r\n\r\n",
            count: 200
        )
        let flood = simulation(["/": Answer(hints + Self.ok)], [[get()]])
        flood.run()
        guard case .headTooLarge(.bytes)? = flood.outcomes[0].error else {
            Issue.record("\(String(describing: flood.outcomes[0].error))")
            return
        }
    }

    @Test("wire WR-39 an interim head restarts the idle time-out")
    func interimTime() {
        // The first head comes at once, the rest is stalled: 5 s of idleness count from the head.
        let place = SimulatedSystem.Place(connection: 0, direction: .inward, offset: 24, fault: .stall)
        let simulation = simulation(
            ["/": Answer("HTTP/1.1 103 Hints\r\n\r\n" + Self.ok)],
            [[get()]],
            place: place
        )
        simulation.start()
        simulation.turn { simulation.system.delivered.first ?? 0 >= 22 }
        let arrival = simulation.system.now()
        simulation.run()
        #expect(simulation.outcomes[0].error == .timedOut(.idle))
        #expect(simulation.system.now() - arrival >= 5_000_000_000)
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-43 the caller's order, Host first, framing by the transport, no default port, no fragment")
    func head() {
        var call = post(.text("uploaded"), ["X-B": "2", "X-A": "1", "X-b": "3"])
        call.target = "/a?b#c"
        call.host = "10.0.0.1:80"
        let simulation = simulation(["/a?b": Answer(Self.ok)], [[call]])
        simulation.run()
        let lines = simulation.system.requests.first?.head.components(separatedBy: "\r\n") ?? []
        #expect(Array(lines.prefix(5)) == ["POST /a?b HTTP/1.1", "Host: 10.0.0.1", "X-B: 2", "X-A: 1", "X-b: 3"])
        #expect(lines.count { $0.hasPrefix("Content-Length: 8") } == 1)
        #expect(!lines.contains { $0.hasPrefix("Transfer-Encoding") })
    }

    @Test("wire WR-44 request trailers are chunked and checked, and framing fields are left out")
    func trailers() {
        var body = Self.pipe(1)
        body.trailers = { ["X-Sum": "1", "Content-Length": "9", "transfer-encoding": "x"] }
        let good = simulation(["/": Answer(Self.ok)], [[post(body)]])
        good.run()
        let seen = String(decoding: good.system.requests.first?.body ?? [], as: UTF8.self)
        #expect(seen == "8\r\nuploaded\r\n0\r\nX-Sum: 1\r\n\r\n")

        body.trailers = { ["X Sum": "1"] }
        let bad = simulation(["/": Answer(Self.ok)], [[post(body)]])
        bad.run()
        guard case .invalidRequest? = bad.outcomes[0].error else {
            Issue.record("\(String(describing: bad.outcomes[0].error))")
            return
        }
        let refused = String(decoding: bad.system.requests.first?.body ?? [], as: UTF8.self)
        #expect(!refused.contains("X Sum"))
        #expect(good.findings.isEmpty && bad.findings.isEmpty)
    }

    @Test("wire WR-44 a server that answers with HTTP/1.0 gets no trailers")
    func oldServer() {
        var body = Self.pipe(1)
        body.trailers = { ["X-Sum": "1"] }
        let early = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n"
        let simulation = simulation(["/": Answer(onHead: early, onWhole: "ok", closes: true)], [[post(body)]])
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess)
        let seen = String(decoding: simulation.system.requests.first?.body ?? [], as: UTF8.self)
        #expect(!seen.contains("X-Sum"))
    }

    // MARK: - Uploads

    @Test(
        "wire WR-40 a body that expects 100 waits for it, for a final status, or for a second",
        arguments: [
            ("HTTP/1.1 100 Continue\r\n\r\n", Self.ok, 200, true, 0), ("", Self.ok, 200, true, 1),
            ("HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nok", "", 417, false, 0),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "", 200, false, 0),
        ] as [(String, String, Int, Bool, Int64)]
    )
    func expectation(onHead: String, onWhole: String, status: Int, sendsBody: Bool, seconds: Int64) {
        let call = post(.text("uploaded"), ["Expect": "100-continue"])
        let simulation = simulation(["/": Answer(onHead: onHead, onWhole: onWhole)], [[call, get("/2")]])
        simulation.run()
        #expect(simulation.outcomes[0].status == status)
        #expect(simulation.outcomes[0].content == Array("ok".utf8))
        #expect(simulation.system.requests.first?.body.isEmpty == !sendsBody)
        #expect(simulation.outcomes[0].endedAt / 1_000_000_000 == seconds)
        // After a final status the connection is closed: the next request has its own.
        #expect(simulation.system.servers.count == (sendsBody ? 1 : 2))
        #expect(simulation.findings.isEmpty)
    }

    @Test(
        "wire WR-41 a final status from 300 on stops the upload, the producer, and the connection; one below does not",
        arguments: [200, 299, 300, 500]
    )
    func earlyAnswer(status: Int) async throws {
        let hasHead = Signal()
        let hasEnded = Signal()
        let failure = Locked<LoadingError.Kind?>(nil)
        let body = Request.Body.writer { write in
            // The status comes before the body.
            try? await hasHead.wait()
            defer { hasEnded.raise() }
            do {
                try await write(Data("uploaded".utf8))
            } catch {
                failure.withLock { $0 = (error as? LoadingError)?.kind }
                throw error
            }
        }
        let early = "HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\nok"
        let simulation = simulation(["/": Answer(onHead: early)], [[post(body), get("/2")]])
        simulation.start()
        simulation.turn { simulation.loop.running.first?.hasHead == true || simulation.outcomes[0].isOver }
        hasHead.raise()
        simulation.run()
        let continues = status < 300
        #expect(simulation.outcomes[0].status == status)
        #expect(simulation.outcomes[0].content == Array("ok".utf8))
        #expect(simulation.system.servers.count == (continues ? 1 : 2))
        #expect(simulation.system.requests.first?.isWhole == continues)
        #expect(simulation.findings.isEmpty)
        try await hasEnded.wait()
        #expect(failure.withLock { $0 } == (continues ? nil : .cancelled))
    }

    @Test(
        "finding WF-12 an upload that breaks off while the reader is behind ends no turn of the loop for others",
        arguments: [false, true],
        [Call.Reader.slow, .none]
    )
    func brokenUpload(isSecure: Bool, reader: Simulation.Call.Reader) {
        let text = String(repeating: "0123456789abcdef", count: 4_000)
        let coded = Array(Coded.deflated(Data(text.utf8)))
        for (content, fields, body) in [
            (Self.sixty, "", Array(Self.sixty.utf8)), (text, "Content-Encoding: gzip\r\n", coded),
        ] {
            var answer = Answer(onHead: "HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(body.count)\r\n\r\n")
            answer.pieces[0].bytes += body
            let upload = Call(
                target: "/",
                method: .put,
                body: .bytes(Data(repeating: 0x78, count: 350_000)),
                reader: reader,
                content: content
            )
            let other = Call(target: "/2", host: "10.0.0.2", content: "ok")
            let scenario = Scenario("", ["/": answer, "/2": Answer(Self.ok)], [[upload], [other, other, other]])
            let run = isSecure ? scenario.secured : scenario
            let calm = Simulation(run.lanes, run.settings, on: run.system(wakeUpDescriptor: -1))
            calm.run()
            #expect(calm.haveAllSucceeded)
            // While the second share of a turn is sent, and at the bytes of the response, after which more is sent.
            let end = calm.system.delivered[0]
            var places = [SimulatedSystem.Place(connection: 0, direction: .outward, offset: 300_000, fault: .reset)]
            places += stride(from: end - 90, through: end, by: 3).map { offset in
                SimulatedSystem.Place(connection: 0, direction: .inward, offset: offset, fault: .reset)
            }
            for place in places {
                let system = run.system(place: place, wakeUpDescriptor: -1)
                let simulation = Simulation(run.lanes, run.settings, on: system)
                simulation.run()
                expectNothing(simulation.findings)
                #expect(simulation.outcomes.allSatisfy { $0.isOver })
                #expect(simulation.outcomes.suffix(3).allSatisfy { $0.isSuccess })
                let isWhole = place.direction == .outward || place.offset == end
                #expect(simulation.outcomes[0].isSuccess || !isWhole, "a complete response counts")
                #expect(system.longestTurn < 100)
            }
        }
    }

    private static let sixty = String(repeating: "0123456789", count: 6)

    @Test("wire WR-41 a complete response counts when the rest of the upload is idle or fails")
    func earlyAnswerAndStall() {
        for fault in [SimulatedSystem.Fault.stall, .reset] {
            let early = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            let size = 300_000
            let call = Call(
                target: "/",
                method: .post,
                body: .bytes(Data(repeating: 0x78, count: size)),
                content: "ok"
            )
            let place = SimulatedSystem.Place(connection: 0, direction: .outward, offset: 280_000, fault: fault)
            let simulation = simulation(["/": Answer(onHead: early)], [[call]], place: place)
            simulation.run()
            #expect(simulation.outcomes[0].status == 200)
            #expect(simulation.outcomes[0].content == Array("ok".utf8))
            #expect(simulation.findings.isEmpty)
        }
    }

    @Test(
        "wire WR-42 when sending fails, what has arrived is read to its end first",
        arguments: [EPIPE, ECONNRESET],
        [false, true]
    )
    func brokenSend(errno: Int32, isSecure: Bool) {
        let size = 300_000
        let call = Call(target: "/", method: .post, body: .bytes(Data(repeating: 0x78, count: size)), content: "ok")
        for (early, isComplete) in [(Self.ok, true), ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", false)] {
            let scenario = Scenario("", ["/": Answer(onHead: early)], [[call]])
            let run = isSecure ? scenario.secured : scenario
            let replacement = SimulatedSystem.Replacement(call: .send, number: isSecure ? 6 : 2, errno: errno)
            let system = run.system(replacement: replacement, wakeUpDescriptor: -1)
            let simulation = Simulation(run.lanes, run.settings, on: system)
            simulation.system.keepsInboundOfBroken = true
            simulation.run()
            #expect(simulation.system.requests.first?.isWhole == false)
            if isComplete {
                #expect(simulation.outcomes[0].status == 200)
            } else {
                #expect(simulation.outcomes[0].error == .connectionLost(.body(received: 2), isSafeToRepeat: false))
            }
            #expect(simulation.findings.isEmpty)
        }
    }

    @Test(
        "wire WR-42 over HTTP/2 what has arrived is read to its end too, however much it is",
        arguments: [true, false]
    )
    func brokenStream(isComplete: Bool) {
        // A window of 4 MiB holds it; the first update is sent after half of it, and more than the share of a turn follows.
        let text = String(repeating: "x", count: 3_584 << 10)
        let answer = HTTP2Peer.Answer(isEarly: true, body: Array(text.utf8), isEndless: !isComplete)
        let system = SimulatedSystem { _ in .peer(HTTP2Peer(["/": answer])) }
        var call = Call(target: "/", method: .post, body: .bytes(Data(repeating: 0x78, count: 40_000)), content: text)
        call.knowsHTTP2 = true
        var settings = Simulation.settings
        settings.limits.streamHighWater = 8 << 20
        let simulation = Simulation([[call]], settings, on: system)
        simulation.start()
        simulation.turn { simulation.loop.running.first?.hasHead == true }
        #expect(!simulation.outcomes[0].isOver)
        // All of the response is there when a send fails.
        simulation.system.keepsInboundOfBroken = true
        simulation.system.sendError = EPIPE
        var turnsAfterError = 0
        simulation.beforeWait = { [unowned simulation] in
            if simulation.loop.watched.values.contains(where: { $0.wasReset }) { turnsAfterError += 1 }
        }
        simulation.run()
        #expect(turnsAfterError > 1)
        if isComplete {
            #expect(simulation.outcomes[0].isSuccess)
            #expect(simulation.outcomes[0].content.count == text.utf8.count)
        } else {
            #expect(simulation.outcomes[0].error != nil)
        }
        #expect(simulation.findings.isEmpty)
    }

    // MARK: - Sending again

    @Test(
        "wire WR-46 a connection found dead before a byte was accepted costs nothing, whatever the method",
        arguments: [Request.Method.get, .post]
    )
    func deadBefore(method: Request.Method) {
        var second = method == .post ? post(.text("uploaded")) : get()
        second.target = "/2"
        let simulation = simulation(
            ["/": Answer(Self.ok), "/2": Answer(Self.ok)],
            [[get(), second]],
            replacement: SimulatedSystem.Replacement(call: .send, number: 1, errno: EPIPE)
        )
        simulation.run()
        #expect(simulation.haveAllSucceeded)
        #expect(simulation.outcomes[1].repeats == 0)
        #expect(simulation.system.requests.map(\.target) == ["/", "/2"])
        simulation.checkOutcomes()
        #expect(simulation.findings.isEmpty)
    }

    @Test(
        "wire WR-47 a reused connection lost before the first byte of the response: once more if the method allows it",
        arguments: [(Request.Method.get, false, true), (.put, false, true), (.post, false, false), (.put, true, false)]
    )
    func lostReused(method: Request.Method, isStream: Bool, isRepeated: Bool) {
        var second = Call(target: "/2", method: method, content: "ok")
        if method != .get { second.body = isStream ? Self.pipe(1) : .text("uploaded") }
        let answers = ["/": Answer(Self.ok), "/2": Answer(Self.ok)]
        // The end of the first response is where the connection ends.
        let place = SimulatedSystem.Place(
            connection: 0,
            direction: .outward,
            offset: 200,
            fault: .reset
        )
        var measured = place
        let calm = simulation(answers, [[get(), second]])
        calm.run()
        measured.offset = calm.system.accepted[0] - 1
        let simulation = simulation(answers, [[get(), second]], place: measured)
        simulation.run()
        #expect(simulation.outcomes[1].isSuccess == isRepeated)
        #expect(simulation.outcomes[1].repeats == (isRepeated ? 1 : 0))
        #expect(simulation.system.servers.count == (isRepeated ? 2 : 1))
        if !isRepeated {
            #expect(simulation.outcomes[1].error == .connectionLost(.nothing, isSafeToRepeat: false))
        }
        #expect(simulation.findings.isEmpty)
    }

    @Test(
        "wire WR-51 nothing else is sent again",
        arguments: [
            (0, "a fresh connection"), (1, "a byte of the response"), (2, "a malformed response"), (3, "a time-out"),
        ]
    )
    func never(row: Int, name: String) {
        let answers = ["/": Answer(Self.ok), "/2": Answer(row == 2 ? "HTTP/1.1 2000\r\n\r\n" : Self.ok)]
        let lanes = row == 0 ? [[get("/2")]] : [[get(), get("/2")]]
        let offset = row == 0 ? 0 : Self.ok.utf8.count + (row == 1 ? 1 : 0)
        let fault: SimulatedSystem.Fault = row == 3 ? .stall : .reset
        let place = SimulatedSystem.Place(connection: 0, direction: .inward, offset: offset, fault: fault)
        let simulation = simulation(answers, lanes, place: row == 2 ? nil : place)
        simulation.run()
        let outcome = simulation.outcomes[lanes[0].count - 1]
        #expect(!outcome.isSuccess, "\(name)")
        #expect(outcome.repeats == 0, "\(name)")
        #expect(simulation.system.requests.count { $0.target == "/2" } == 1, "\(name)")
        #expect(simulation.findings.isEmpty)
    }

    @Test(
        "finding WF-14 over HTTP/1.1 too nothing is sent again once a head has arrived, interim ones included",
        arguments: ["HTTP/1.1 103 X\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "01234"].indices,
        [SimulatedSystem.Fault.end, .reset]
    )
    func afterAHead(pieces: Int, fault: SimulatedSystem.Fault) {
        let parts = ["HTTP/1.1 103 X\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "01234"]
        let arrived = parts[...pieces].joined().utf8.count
        let place = SimulatedSystem.Place(
            connection: 0,
            direction: .inward,
            offset: Self.ok.utf8.count + arrived,
            fault: fault
        )
        let answers = ["/": Answer(Self.ok), "/2": Answer(parts.joined() + "56789")]
        for reader in [Call.Reader.none, .eager] {
            var second = get("/2", "0123456789")
            second.reader = reader
            let simulation = simulation(answers, [[get(), second]], place: place)
            simulation.run()
            #expect(!simulation.outcomes[1].isSuccess)
            #expect(simulation.outcomes[1].repeats == 0)
            #expect(simulation.system.requests.count { $0.target == "/2" } == 1)
            simulation.checkOutcomes()
            #expect(simulation.findings.isEmpty)
        }
    }

    @Test("finding WF-14 a head that comes before the socket accepts a byte is not followed by another sending")
    func headBeforeSending() {
        let simulation = simulation(
            ["/": Answer(Self.ok)],
            [[get()]],
            replacement: SimulatedSystem.Replacement(call: .send, number: 1, errno: EAGAIN)
        )
        // The first connection stays.
        simulation.system.leaps = false
        simulation.start()
        simulation.turn { simulation.outcomes[0].isOver }
        simulation.beforeWait = { [unowned simulation] in
            guard simulation.system.calls[.send] == 2, simulation.system.sendError == nil else { return }
            // The head is taken, and then the next sending fails.
            simulation.system.deliver(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no".utf8), on: 0)
            simulation.system.sendError = EPIPE
            simulation.system.keepsInboundOfBroken = true
        }
        simulation.again(get())
        simulation.run()
        // No byte of the request was sent, and its caller may send it again.
        #expect(simulation.outcomes[1].error == .connectionLost(.body(received: 1), isSafeToRepeat: true))
        #expect(simulation.system.servers.count == 1)
        #expect(simulation.findings.isEmpty)
    }

    // MARK: - Cost

    @Test("wire WR-70 a reused call makes these calls of the system: a check, a send, a receive, and a wait")
    func systemCalls() {
        let answers = ["/": Answer(Self.ok)]
        let simulation = simulation(answers, [Array(repeating: get(), count: 12)])
        simulation.run()
        #expect(simulation.haveAllSucceeded)
        // The first call opens the connection; each checks it.
        #expect(simulation.system.calls == [.connect: 1, .connectError: 1, .peek: 12, .send: 12, .receive: 12])
        #expect(simulation.system.watches == 2)
        #expect(simulation.system.waits <= 12 + 6)
        #expect(simulation.findings.isEmpty)
    }

    // MARK: - What is left

    @Test("wire WR-11 no exchange retains its connection, and no connection an exchange, after the ending")
    func retains() {
        weak var exchange: Exchange?
        weak var connection: Connection?
        let simulation = simulation(["/": Answer(Self.ok)], [[get()]])
        simulation.system.leaps = false
        simulation.start()
        simulation.turn { !simulation.loop.running.isEmpty }
        exchange = simulation.loop.running[0]
        connection = exchange?.connection
        #expect(connection?.exchange === exchange)
        simulation.turn { simulation.outcomes[0].isOver }
        simulation.turn()
        #expect(exchange == nil)
        #expect(connection?.life == .idle)
        #expect(connection?.exchange == nil)
        simulation.stop()
        #expect(connection == nil)
    }
}
