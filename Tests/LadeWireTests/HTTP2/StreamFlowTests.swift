import CNghttp2
import Foundation
import LadeCore
import Testing
import TransportDoubles

@testable import LadeExchange
@testable import LadeWire

/// What the streams of a connection hold, decode and wait for, with the whole transport over simulated sockets.
@Suite("Streams over simulated sockets", .timeLimit(.minutes(5)))
struct StreamFlowTests {
    private typealias Call = Simulation.Call
    private typealias Answer = HTTP2Peer.Answer

    /// Bytes that a coding makes no shorter than half of them.
    private static func text(_ count: Int) -> String {
        var weather = Weather(state: UInt64(count))
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: (0..<count).map { _ in digits[Int(weather.next() % 16)] }, as: UTF8.self)
    }

    private static func coded(_ text: String) -> Answer {
        Answer(fields: [("content-encoding", "gzip")], body: Array(Coded.deflated(Data(text.utf8))))
    }

    private static func plain(_ text: String) -> Answer { Answer(body: Array(text.utf8)) }

    private func call(_ number: Int, _ content: String, _ reader: Call.Reader, host: String = "10.0.0.1") -> Call {
        Call(target: "/\(number)", knowsHTTP2: true, host: host, reader: reader, content: content)
    }

    private func simulation(
        _ answers: [Answer],
        _ lanes: [[Call]],
        mark: Int = 64 << 10,
        connections: Int = 16,
        weather: Weather? = nil,
        place: SimulatedSystem.Place? = nil
    ) -> Simulation {
        var settings = Simulation.settings
        settings.limits.streamHighWater = mark
        settings.limits.decompressionRatio = 10_000
        settings.connections.total = connections
        let targets = Dictionary(uniqueKeysWithValues: answers.enumerated().map { ("/\($0.offset)", $0.element) })
        let system = SimulatedSystem(place: place, random: weather) { _ in .peer(HTTP2Peer(targets)) }
        return Simulation(lanes, settings, on: system)
    }

    @Test(
        "wire WR-5 the streams of a connection decode 256 KiB in a turn at most, each in turn, and everything in the end",
        arguments: [Call.Reader.none, .eager]
    )
    func decoding(reader: Simulation.Call.Reader) {
        let size = 1 << 20
        let text = String(repeating: "x", count: size)
        let simulation = simulation(
            (0..<3).map { _ in Self.coded(text) },
            (0..<3).map { [call($0, text, reader)] },
            mark: 4 << 20
        )
        var most: Int64 = 0
        var before: Int64 = 0
        var isShared = false
        simulation.start()
        while simulation.outcomes.contains(where: { !$0.isOver }), simulation.turns < 3_000 {
            simulation.turn()
            let ended = simulation.outcomes.count { $0.endings > 0 }
            let decoded = simulation.loop.running.reduce(Int64(ended * size)) { $0 + $1.bodyBytes }
            most = max(most, decoded - before)
            before = decoded
            if simulation.loop.running.count(where: { $0.bodyBytes > 0 }) == 3 { isShared = true }
        }
        #expect(most == 256 << 10)
        #expect(isShared)
        let sizes = simulation.outcomes.map(\.content.count)
        #expect(sizes == [size, size, size])
        simulation.run()
        expectNothing(simulation.findings)
    }

    @Test(
        "wire WR-57 a stream holds its mark and a frame at most, coded or not, at any split",
        arguments: UInt64(0)..<8
    )
    func bounds(seed: UInt64) {
        let long = Self.text(300 << 10)
        let simulation = simulation(
            [Self.plain(long), Self.coded(long), Self.coded(String(repeating: "x", count: 400 << 10))],
            [
                [call(0, long, .slow)], [call(1, long, .slow)],
                [call(2, String(repeating: "x", count: 400 << 10), .slow)],
            ],
            weather: seed == 0 ? nil : Weather(state: seed)
        )
        var most = 0
        simulation.beforeWait = { [unowned simulation] in
            for carried in simulation.loop.watched.values.compactMap(\.streams).flatMap(\.carried.values) {
                most = max(most, carried.carriage.held.count + (carried.exchange.stream?.unreadBytes ?? 0))
            }
        }
        simulation.run(turnsAtMost: 40_000)
        expectNothing(simulation.errors)
        #expect(most > 32 << 10, "the readers were slow")
        simulation.checkOutcomes()
        // The bound itself is an invariant of every turn.
        expectNothing(simulation.findings)
        let sizes = simulation.outcomes.map(\.content.count)
        #expect(sizes == [300 << 10, 300 << 10, 400 << 10])
    }

    @Test(
        "wire WR-56 four stopped readers stop no fifth stream, at any split, and continue later",
        arguments: UInt64(0)..<8
    )
    func stoppedReaders(seed: UInt64) {
        let long = Self.text(200 << 10)
        let simulation = simulation(
            [Self.plain(long), Self.coded(long), Self.plain(long), Self.coded(long), Self.plain(long)],
            (0..<5).map { [call($0, long, $0 < 4 ? .last : .eager)] },
            weather: seed == 0 ? nil : Weather(state: seed)
        )
        simulation.run(turnsAtMost: 40_000)
        expectNothing(simulation.errors)
        let ends = simulation.outcomes.map(\.endedAt)
        #expect(ends.dropLast().allSatisfy { $0 > ends[4] })
        simulation.checkOutcomes()
        expectNothing(simulation.findings)
        let sizes = simulation.outcomes.map(\.content.count)
        #expect(sizes == Array(repeating: 200 << 10, count: 5))
    }

    @Test(
        "wire WR-52 a complete response whose reader is behind is delivered whole after the end of the connection",
        arguments: [SimulatedSystem.Fault.end, .reset]
    )
    func behind(fault: SimulatedSystem.Fault) {
        let texts = [Self.text(30 << 10), Self.text(24 << 10)]
        let answers = [Self.plain(texts[0]), Self.coded(texts[1])]
        let lanes = texts.enumerated().map { [call($0.offset, $0.element, .slow)] }
        let calm = simulation(answers, lanes, mark: 16 << 10)
        calm.run()
        expectNothing(calm.errors)
        let all = SimulatedSystem.Place(
            connection: 0,
            direction: .inward,
            // The responses are complete before window updates are.
            offset: calm.system.delivered[0],
            fault: fault
        )
        let simulation = simulation(answers, lanes, mark: 16 << 10, place: all)
        var wasIgnored = false
        simulation.beforeWait = { [unowned simulation] in
            if simulation.loop.watched.values.contains(where: { $0.isIgnored }) { wasIgnored = true }
        }
        simulation.run()
        expectNothing(simulation.errors)
        simulation.checkOutcomes()
        #expect(wasIgnored, "the connection ended before its readers were done")
        expectNothing(simulation.findings)
    }

    @Test("wire WR-53 idle connections of HTTP/2 make room for other hosts when the limit of connections is reached")
    func idleConnections() {
        let hosts = (1...9).map { "10.0.0.\($0)" }
        let simulation = simulation([Self.plain("ok")], [hosts.map { call(0, "ok", .none, host: $0) }], connections: 4)
        simulation.run()
        expectNothing(simulation.errors)
        let (opened, most) = (simulation.system.servers.count, simulation.system.mostOpen)
        #expect(opened == 9)
        #expect(most == 4)
        expectNothing(simulation.findings)
    }

    /// A server that allows no stream, and answers to nothing.
    private struct ClosedPeer: SimulatedPeer {
        var requests: [SimulatedServer.Seen] { [] }
        var hasEnded: Bool { false }
        private var hasBegun = false

        mutating func receive(_ bytes: [UInt8]) -> [UInt8] {
            defer { hasBegun = true }
            return hasBegun ? [] : RawFrame.settings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0)])
        }
    }

    @Test("wire WR-53 where no stream is allowed each call ends by its limit of connecting, and later ones may succeed")
    func noStreams() {
        let opened = Locked(0)
        let system = SimulatedSystem { _ in
            let number = opened.withLock { opened in
                opened += 1
                return opened
            }
            guard number > 1 else { return .peer(ClosedPeer()) }
            return .peer(HTTP2Peer(["/0": Self.plain("ok")]))
        }
        let lanes = (0..<3).map { _ in [call(0, "ok", .none)] }
        let simulation = Simulation(lanes, Simulation.settings, on: system)
        simulation.run()
        let errors = simulation.outcomes.map(\.error)
        #expect(errors == [.timedOut(.connect), .timedOut(.connect), nil])
        // A limit of ten seconds each, and nothing else.
        let ends = simulation.outcomes.map { $0.endedAt / 1_000_000_000 }
        #expect(ends == [10, 10, 10])
        expectNothing(simulation.findings)
    }
}
