import Foundation
import LadeCore
import LadeTesting
import LadeWire
import Testing

/// Trust in servers: certificates, pins and the unsafe setting, with real servers.
@Suite(.timeLimit(.minutes(5)))
struct TrustPeerTests {
    /// The result of an exchange.
    private enum Outcome: Equatable {
        case answered(Int)
        case untrusted(LoadingError.TrustCause.Cause)
        case pinMismatch(String)
        case other(String)
    }

    /// Changes to the settings, in addition to trusting the private authority.
    private typealias Change = (inout TransportSettings) throws -> Void

    /// Requests a peer's small file.
    private func outcome(
        _ peer: String,
        trustsAuthority: Bool = true,
        events: EventRecorder = EventRecorder(),
        _ change: Change = { _ in }
    ) async throws -> Outcome {
        let origin = try Peers.origin(peer, scheme: "https", host: "localhost")
        let authority = try Peers.text("ca")
        let transport = try Peers.transport {
            if trustsAuthority { $0.tls.authorities = [.file(authority)] }
            try change(&$0)
        }
        let outcome: Outcome
        do throws(LoadingError) {
            let response = try await transport.send(Request(origin + "/small.json"), call: Call(events: [events]))
            outcome = .answered(response.status.code)
        } catch {
            outcome =
                switch error.kind {
                case .untrustedServer(let fault): .untrusted(fault.cause)
                case .pinMismatch(let host): .pinMismatch(host)
                default: .other("\(error)")
                }
        }
        await transport.shutDown()
        return outcome
    }

    private func pin(_ name: String, for host: String = "localhost") throws -> Change {
        let key = try Peers.text(name)
        return { try $0.tls.pins.pin([key], for: host) }
    }

    private func unchecked(_ events: EventRecorder) -> Int {
        events.events.filter { if case .certificateCheckSkipped("localhost") = $0 { true } else { false } }.count
    }

    @Test("service SV-23 accepts a certificate unchecked only with the unsafe setting, and reports it once")
    func everyCertificate() async throws {
        let (on, off) = (EventRecorder(), EventRecorder())
        let accepted = try await outcome("nginxSelfSigned", events: on) {
            $0.tls.verification = .unsafelyAcceptEveryCertificate
        }
        let refused = try await outcome("nginxSelfSigned", events: off)
        #expect(accepted == .answered(200))
        #expect(refused == .untrusted(.selfSigned))
        #expect(unchecked(on) == 1)
        #expect(unchecked(off) == 0)
    }

    @Test("service SV-26 leaves the check to the system's authorities when nothing is set")
    func nothingConfigured() async throws {
        let events = EventRecorder()
        #expect(
            try await outcome("nginxTLS", trustsAuthority: false, events: events) == .untrusted(.untrustedRoot)
        )
        #expect(unchecked(events) == 0)
    }

    @Test("service SV-27 wire WR-27 goes by its pins, also where every certificate is accepted")
    func policy() async throws {
        #expect(try await outcome("nginxTLS", pin("serverPin")) == .answered(200))
        #expect(try await outcome("nginxTLS", pin("backupPin")) == .pinMismatch("localhost"))
        let (own, other) = (try pin("serverPin"), try pin("backupPin"))
        // SV-27 ignored the pins with this switch; WR-27 is the stricter and later rule. Without an authority only the key is known.
        func accepting(_ pin: (inout TransportSettings) throws -> Void) async throws -> Outcome {
            try await outcome("nginxTLS", trustsAuthority: false) {
                try pin(&$0)
                $0.tls.verification = .unsafelyAcceptEveryCertificate
            }
        }
        #expect(try await accepting(own) == .answered(200))
        #expect(try await accepting(other) == .pinMismatch("localhost"))
        #expect(try await accepting { _ in } == .answered(200))
    }

    @Test("service TP-06 a known host with another key is refused")
    func otherKey() async throws {
        #expect(try await outcome("nginxTLSBackup", pin("serverPin")) == .pinMismatch("localhost"))
    }

    @Test("service D-24 another key is an error of its own, and no cancellation")
    func noCancellation() async throws {
        let error = LoadingError(.pinMismatch(host: "localhost"))
        #expect(try await outcome("nginxTLS", pin("backupPin")) == .pinMismatch("localhost"))
        #expect(!error.isCancellation)
    }

    @Test("service TP-07 a host without pins is accepted when its chain is good")
    func unpinned() async throws {
        #expect(try await outcome("nginxTLS", pin("backupPin", for: "other.test")) == .answered(200))
    }

    @Test("service TP-08 an exchange without TLS, and one whose server asks for a password, does not concern pins")
    func otherChallenges() async throws {
        let server = try LoopbackServer(
            answering: "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n"
        )
        let pins = try pin("backupPin", for: "127.0.0.1")
        let transport = try Peers.transport(pins)

        let response = try await transport.send(server.request(.get, "/"), call: Call())

        // Refused: the challenge is not answered, and no chain is evaluated.
        #expect(response.status == 401)
        #expect(response.metrics.secureConnect == nil)
        #expect(server.requests.map { $0["Authorization"] } == [nil])
        await transport.shutDown()
    }

    @Test("service TP-09 the chain of a host without pins is checked")
    func unpinnedUntrusted() async throws {
        let pins = try pin("backupPin", for: "other.test")
        #expect(try await outcome("nginxTLS", trustsAuthority: false, pins) == .untrusted(.untrustedRoot))
    }

    @Test("service TP-10 a good chain with the pinned key is accepted")
    func matching() async throws {
        #expect(try await outcome("nginxTLS", pin("serverPin")) == .answered(200))
        #expect(
            try await outcome("nginxTLS", trustsAuthority: false, pin("serverPin")) == .untrusted(.untrustedRoot),
            "a pin is no substitute for a good chain"
        )
    }
}
