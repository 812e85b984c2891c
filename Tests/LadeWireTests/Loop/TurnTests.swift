import Foundation
import LadeCore
import Testing
import TransportDoubles

@testable import LadeExchange
@testable import LadeWire

/// What one turn of the loop does, over simulated sockets.
@Suite("Turns of the loop", .timeLimit(.minutes(5)))
struct TurnTests {
    private typealias Answer = SimulatedServer.Answer

    private static func response(_ body: [UInt8], _ fields: String = "") -> Answer {
        var answer = Answer("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(body.count)\r\n\r\n")
        answer.pieces[0].bytes += body
        return answer
    }

    @Test(
        "wire WR-2 a cancellation posted before the wait ended wins over bytes of the same turn",
        arguments: [true, false]
    )
    func cancellation(isStreamed: Bool) {
        let body = String(repeating: "x", count: 100)
        let call = Simulation.Call(target: "/", reader: isStreamed ? .eager : .none, content: body)
        let system = SimulatedSystem(["/": Self.response(Array(body.utf8))])
        let simulation = Simulation([[call]], Simulation.settings, on: system)
        // The request has been sent, and this wait delivers the response.
        simulation.beforeWait = { [unowned simulation] in
            if system.accepted.first ?? 0 > 0 { simulation.cancel(lane: 0) }
        }
        simulation.run()
        #expect(simulation.outcomes[0].error == .cancelled)
        #expect(simulation.outcomes[0].content.isEmpty)
        #expect(system.receipts.isEmpty)
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-5 a connection receives its share in a turn, and continues without waiting", arguments: [1, 8])
    func input(connections: Int) {
        let body = [UInt8](repeating: 0x78, count: connections == 1 ? 3 << 20 : 300 << 10)
        var settings = Simulation.settings
        settings.connections.perHost = connections
        settings.connections.total = connections
        let lanes = (0..<connections).map { _ in
            [Simulation.Call(target: "/", content: String(decoding: body, as: UTF8.self))]
        }
        let system = SimulatedSystem(["/": Self.response(body)])
        let simulation = Simulation(lanes, settings, on: system)
        let share = connections == 1 ? 512 << 10 : 64 << 10
        var most = 0
        var before = 0
        var waitedWithMore = false
        simulation.start()
        while simulation.outcomes.contains(where: { !$0.isOver }), simulation.turns < 3_000 {
            simulation.beforeWait = { [unowned simulation] in
                let isReceiving = simulation.loop.watched.values.contains { $0.exchange?.hasHead == true }
                if isReceiving, simulation.isWaiting { waitedWithMore = true }
            }
            simulation.turn()
            most = max(most, (system.receipts.reduce(0, +) - before))
            before = system.receipts.reduce(0, +)
        }
        #expect(most <= share * connections)
        #expect(most > share * connections / 2)
        #expect(!waitedWithMore)
        simulation.run()
        #expect(simulation.outcomes.allSatisfy { $0.content == body })
        #expect(simulation.findings.isEmpty)
    }

    @Test(
        "wire WR-5 a connection decodes 256 KiB in a turn at most, in one piece or in many, and everything in the end",
        arguments: [true, false],
        [1, 16]
    )
    func decoding(isStreamed: Bool, digits: UInt64) {
        var weather = Weather(state: 1)
        let body = Data((0..<(2 << 20)).map { _ in 0x61 + UInt8(weather.next() % digits) })
        let coded = Array(Coded.deflated(body))
        var settings = Simulation.settings
        settings.limits.streamHighWater = 8 << 20
        settings.limits.decompressionRatio = 10_000
        let call = Simulation.Call(
            target: "/",
            reader: isStreamed ? .eager : .none,
            content: String(decoding: body, as: UTF8.self)
        )
        let system = SimulatedSystem(["/": Self.response(coded, "Content-Encoding: gzip\r\n")])
        let simulation = Simulation([[call]], settings, on: system)
        var most: Int64 = 0
        var before: Int64 = 0
        simulation.start()
        while !simulation.outcomes[0].isOver, simulation.turns < 3_000 {
            simulation.turn()
            let decoded = simulation.loop.running.first?.bodyBytes ?? Int64(body.count)
            most = max(most, decoded - before)
            before = decoded
        }
        // Coded bytes cost units, so that a body that is twice as long decoded does not use the whole share.
        #expect(most <= 256 << 10)
        #expect(digits == 16 ? most > 100_000 : most == 256 << 10)
        #expect(simulation.outcomes[0].content.count == body.count)
        simulation.run()
        #expect(simulation.findings.isEmpty)
    }

    @Test("a coded body whose last byte is decoded before its output is read is complete after the output")
    func codedTail() {
        let body = Data(repeating: 0x78, count: 100_000)
        let coded = Array(Coded.deflated(body))
        var settings = Simulation.settings
        settings.limits.streamHighWater = 4_096
        settings.limits.decompressionRatio = 10_000
        let call = Simulation.Call(target: "/", reader: .slow, content: String(decoding: body, as: UTF8.self))
        let system = SimulatedSystem(["/": Self.response(coded, "Content-Encoding: gzip\r\n")])
        let simulation = Simulation([[call]], settings, on: system)
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess, "\(String(describing: simulation.outcomes[0].error))")
        #expect(simulation.outcomes[0].content.count == body.count)
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-5 a connection sends 192 KiB in a turn")
    func output() {
        let upload = Data(repeating: 0x78, count: 1 << 20)
        let call = Simulation.Call(
            target: "/",
            method: .put,
            body: .bytes(upload),
            content: "",
            upload: String(decoding: upload, as: UTF8.self)
        )
        let system = SimulatedSystem(["/": Self.response([])])
        let simulation = Simulation([[call]], Simulation.settings, on: system)
        var most = 0
        var before = 0
        simulation.start()
        while !simulation.outcomes[0].isOver, simulation.turns < 3_000 {
            simulation.turn()
            most = max(most, (system.accepted.first ?? 0) - before)
            before = system.accepted.first ?? 0
        }
        // Two settlings a turn.
        #expect(most <= 2 * 192 << 10)
        #expect(before > 1 << 20)
        simulation.run()
        #expect(simulation.findings.isEmpty)
    }

    @Test("finding WF-3 a turn is over when its units or its time are, and then for all")
    func work() {
        var work = TurnWork()
        var readings = 0
        var time: Int64 = 0
        func hasTime() -> Bool {
            work.hasTime {
                readings += 1
                return time
            }
        }
        work.begin(at: 0)
        for _ in 0..<100 {
            work.use(100)
            if !hasTime() { break }
        }
        #expect(work.spent == TurnWork.perTurn)
        #expect(readings < 20)
        work.begin(at: 0)
        time = 2_000_001
        #expect(hasTime(), "too little was done to look at the clock")
        work.use(TurnWork.perReading)
        #expect(!hasTime())
        time = 0
        #expect(!hasTime(), "for the next connection, too")
        work.begin(at: 3_000_000, isContinued: true)
        #expect(hasTime())
        work.begin(at: 0)
        time = 2_000_001
        for _ in 0..<8 { work.beginConnection() }
        #expect(!hasTime())
    }

    @Test(
        "finding WF-7 after a stop of the process a call continues with what waits in its socket, and then times out",
        arguments: [false, true],
        [Simulation.Call.Reader.none, .eager]
    )
    func stopped(isSecure: Bool, reader: Simulation.Call.Reader) {
        let call = Simulation.Call(target: "/", reader: reader, content: "0123456789")
        let scenario = Scenario("", ["/": Self.response(Array("0123456789".utf8))], [[call]])
        let run = isSecure ? scenario.secured : scenario
        let system = run.system(wakeUpDescriptor: -1)
        let simulation = Simulation(run.lanes, run.settings, on: system)
        var hasStopped = false
        simulation.beforeWait = { [unowned simulation] in
            let isSent = simulation.loop.watched.values.contains {
                $0.carried.map { $0.carriage.hasSent && $0.carriage.firstByte == 0 } ?? false
            }
            guard isSent, !hasStopped else { return }
            // The wait ends by the stop, reports nothing, and an hour has passed.
            hasStopped = true
            system.isDeaf = true
            system.advance(3_600_000_000_000)
        }
        simulation.start()
        simulation.turn { hasStopped }
        simulation.turn()
        system.isDeaf = false
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess, "\(String(describing: simulation.outcomes[0].error))")
        #expect(simulation.outcomes[0].content == Array("0123456789".utf8))
        #expect(simulation.findings.isEmpty)
    }

    @Test("finding WF-7 a peer that has bytes ready for ever does not keep a deadline from ending its call")
    func judgedOnce() {
        let body = String(repeating: "x", count: 4 << 20)
        var call = Simulation.Call(target: "/", content: body)
        call.deadline = .seconds(1)
        let system = SimulatedSystem(["/": Self.response(Array(body.utf8))])
        let simulation = Simulation([[call]], Simulation.settings, on: system)
        simulation.start()
        simulation.turn { simulation.loop.running.first?.hasHead == true }
        system.advance(2_000_000_000)
        for _ in 0..<3 { simulation.turn() }
        guard case .deadlineExceeded(let report)? = simulation.outcomes[0].error else {
            Issue.record("\(String(describing: simulation.outcomes[0].error))")
            return
        }
        #expect(report.endedExchange)
        simulation.run()
        #expect(simulation.findings.isEmpty)
    }

    @Test(
        "finding PT-1 over HTTP/1.1 the idle time-out does not run while a reader rests at exactly the mark",
        arguments: ["Content-Length: 8192", "Transfer-Encoding: chunked", "Connection: close"]
    )
    func restingReader(framing: String) {
        let mark = 4_096
        let half = String(repeating: "x", count: mark)
        let isChunked = framing.hasSuffix("chunked")
        let piece = isChunked ? "1000\r\n\(half)\r\n" : half
        var settings = Simulation.settings
        settings.limits.streamHighWater = mark
        let resting = Simulation.Call(target: "/", reader: .last, content: half + half)
        let other = Simulation.Call(target: "/", host: "10.0.0.2", error: .timedOut(.connect))
        let answers = ["/": Answer("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n\(piece)")]
        let system = SimulatedSystem { endpoint in
            if case .address(let address, _) = endpoint, address.text == "10.0.0.2" { return .silence }
            return .server(answers)
        }
        let simulation = Simulation([[resting], [other]], settings, on: system)
        simulation.start()
        // Twice as long as the limit of idleness, until the reader takes what has arrived.
        simulation.turn { simulation.outcomes[1].isOver }
        #expect(!simulation.outcomes[0].isOver)
        simulation.turn { simulation.outcomes[0].content.count == mark || simulation.outcomes[0].isOver }
        system.advance(300_000_000)
        system.deliver(Array((isChunked ? piece + "0\r\n\r\n" : piece).utf8), on: 0)
        if framing.hasSuffix("close") { system.endIdle(0) }
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess, "\(String(describing: simulation.outcomes[0].error))")
        #expect(simulation.outcomes[0].content.count == 2 * mark)
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-6 after 2 ms messages come first, and then those connections that the turn did not reach")
    func fairness() {
        let count = 24
        let body = [UInt8](repeating: 0x78, count: 400 << 10)
        var settings = Simulation.settings
        settings.connections.perHost = count
        settings.connections.total = count
        let lanes = (0..<count).map { _ in
            [Simulation.Call(target: "/", content: String(decoding: body, as: UTF8.self))]
        }
        let system = SimulatedSystem(["/": Self.response(body)])
        let simulation = Simulation(lanes, settings, on: system)
        simulation.start()
        simulation.turn { simulation.loop.watched.values.count { $0.carried?.carriage.hasSent == true } == count }
        system.cost = 300_000
        var longest: Int64 = 0
        var servedInRound: [Int] = []
        for _ in 0..<6 {
            let before = system.receivers.count
            let began = system.now()
            simulation.turn()
            longest = max(longest, system.now() - began)
            let served = system.receivers[before...]
            servedInRound += served
        }
        // Eight connections between two looks at the clock, each with two receives.
        #expect(longest < 2_000_000 + 16 * 300_000)
        // No connection was served a second time before each was served once.
        let firstRound = servedInRound.reduce(into: [Int]()) { if $0.last != $1 { $0.append($1) } }.prefix(count)
        #expect(Set(firstRound).count == count)
        system.cost = 0
        simulation.run()
        #expect(simulation.findings.isEmpty)
    }
}
