import CProcess
import Foundation
import LadeCore
import Testing

@testable import LadeExchange
@testable import LadeWire

/// What an idle connection costs.
@Suite("Idle connections", .serialized, .timeLimit(.minutes(5)))
struct IdleConnectionTests {
    /// What idle connections speak.
    enum Speech: String, Codable, CaseIterable {
        case clear
        case secure

        var limit: Int {
            switch self {
            case .clear: 4 << 10
            case .secure: 32 << 10
            }
        }

        func peer() -> any SimulatedPeer {
            let answer = SimulatedServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return switch self {
            case .clear: SimulatedServer(["/": answer])
            case .secure: SimulatedRealm.secure(SimulatedServer(["/": answer]))
            }
        }
    }

    @Test(
        "wire WR-69 an idle connection takes 4 KiB of heap in clear text and 32 KiB over TLS at most",
        .disabled(
            if: ProcessInfo.processInfo.environment["LADE_SANITIZER"] != nil,
            "a sanitizer has a heap of its own"
        ),
        arguments: Speech.allCases
    )
    func memory(speech: Speech) async {
        await #expect(processExitsWith: .success) { [speech] in
            let count = 200
            var settings = Simulation.settings
            settings.connections.total = count
            settings.tls.trustsSystemAuthorities = false
            settings.tls.authorities = SimulatedRealm.authorities
            settings.limits = TransportSettings().limits
            let lanes = (0..<count).map { number in
                [
                    Simulation.Call(
                        target: "/",
                        scheme: speech == .clear ? "http" : "https",
                        host: "10.0.0.1:\(1_000 + number)",
                        content: "ok"
                    )
                ]
            }
            let simulation = Simulation(lanes, settings, on: SimulatedSystem { _ in .peer(speech.peer()) })
            simulation.system.leaps = false
            simulation.start()
            simulation.turn { simulation.outcomes.allSatisfy { $0.isOver } }
            // What follows responses, as tickets do, has arrived.
            for _ in 0..<5 { simulation.turn() }
            let idle = simulation.loop.watched.count
            let before = lade_heap_bytes()
            for connection in Array(simulation.loop.watched.values) {
                _ = simulation.loop.pool.takeLongestIdle()
                simulation.loop.close(connection)
            }
            let freed = Int(before) - Int(lade_heap_bytes())
            expectNothing(simulation.errors)
            #expect(idle == count)
            // The servers stay; of the sockets of the simulation a small part is counted too.
            #expect(freed / count <= speech.limit, "\(freed / count) bytes")
            #expect(freed > 0)
        }
    }
}
