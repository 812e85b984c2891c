import Foundation
import LadeCore
import Testing

@testable import LadeURLSession

@Suite(.timeLimit(.minutes(5)))
struct TrustDecisionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var settings: TransportSettings.TLS
        var hasAuthorities = false
        var decision: TrustDecision
    }

    private static func settings(_ change: (inout TransportSettings.TLS) -> Void) -> TransportSettings.TLS {
        var settings = TransportSettings.TLS()
        change(&settings)
        return settings
    }

    private static func pinned(_ settings: inout TransportSettings.TLS) {
        do { try settings.pins.pin([pin], for: "a.test") } catch { Issue.record(error) }
    }

    private static let pin = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    static let rows: [Row] = [
        Row(testDescription: "defaults", settings: TransportSettings.TLS(), decision: .asThePlatformDoes),
        Row(
            testDescription: "own authorities beside the system's",
            settings: TransportSettings.TLS(),
            hasAuthorities: true,
            decision: .chain(.ownAndSystemAuthorities, pins: nil)
        ),
        Row(
            testDescription: "own authorities alone",
            settings: settings { $0.trustsSystemAuthorities = false },
            hasAuthorities: true,
            decision: .chain(.ownAuthorities, pins: nil)
        ),
        Row(
            testDescription: "no authorities at all: nothing is trusted",
            settings: settings { $0.trustsSystemAuthorities = false },
            decision: .chain(.ownAuthorities, pins: nil)
        ),
        Row(
            testDescription: "pins with the system's authorities",
            settings: settings(pinned),
            decision: .chain(nil, pins: [pin])
        ),
        Row(
            testDescription: "pins with own authorities",
            settings: settings(pinned),
            hasAuthorities: true,
            decision: .chain(.ownAndSystemAuthorities, pins: [pin])
        ),
        Row(
            testDescription: "every certificate is accepted, whatever else is set",
            settings: settings {
                $0.verification = .unsafelyAcceptEveryCertificate
                pinned(&$0)
            },
            hasAuthorities: true,
            decision: .unchecked
        ),
    ]

    @Test("finding AF-7 what is checked follows from the settings", arguments: rows)
    func decides(_ row: Row) {
        #expect(TrustDecision(row.settings, host: "a.test", hasAuthorities: row.hasAuthorities) == row.decision)
    }

    @Test("finding AF-7 pins of another host do not count, and a text that is no host has no accepted key")
    func hosts() {
        let settings = Self.settings(Self.pinned)
        #expect(TrustDecision(settings, host: "b.test", hasAuthorities: false) == .asThePlatformDoes)
        #expect(TrustDecision(settings, host: "A.TEST.", hasAuthorities: false) == .chain(nil, pins: [Self.pin]))
        #expect(TrustDecision(settings, host: "a b", hasAuthorities: false) == .chain(nil, pins: []))
    }

    @Test("finding AF-7 the pin of a certificate is the digest of its public key, as openssl makes it")
    func pin() throws {
        let pins = try CertificateKeyTests.certificates.map { pem, key in
            let certificate = try #require(CertificateKey.certificates(inPEM: pem).first)
            let pin = try #require(CertificateKey.pin(ofCertificate: certificate))
            let info = try #require(Data(base64Encoded: key))
            #expect(pin == Data(SHA256.hash(info)).base64EncodedString())
            return pin
        }
        #expect(Set(pins).count == 3)
        #expect(pins.first == "3iSfGOL1T0nf6IiEux+/l7XEuv9KpL6fjFBQXo38Ba0=")
        #expect(CertificateKey.pin(ofCertificate: Data([0x30, 0x00])) == nil)
    }

    @Test("finding AF-7 a leaf's pin is that of the first certificate, a chain's that of any")
    func scopes() throws {
        let chain = try CertificateKeyTests.certificates.map { pem, _ in
            try #require(CertificateKey.certificates(inPEM: pem).first)
        }
        let pins = try chain.map { try #require(CertificateKey.pin(ofCertificate: $0)) }
        #expect(TrustDecision.isPinned(chain, scope: .leaf, [pins[0]]))
        #expect(!TrustDecision.isPinned(chain, scope: .leaf, [pins[1], pins[2]]))
        #expect(TrustDecision.isPinned(chain, scope: .chain, ["other", pins[2]]))
        #expect(!TrustDecision.isPinned(chain, scope: .chain, ["other"]))
        #expect(!TrustDecision.isPinned(chain, scope: .chain, []))
        #expect(!TrustDecision.isPinned([], scope: .chain, pins))
        #expect(!TrustDecision.isPinned([Data("garbage".utf8)] + chain, scope: .leaf, pins))
    }
}
