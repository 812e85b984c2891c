#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// TLS.
extension TransportConformance {
    static var tls: [ConformanceCase] {
        [privateAuthority, badCertificates, pins, pinPatterns, pinSpellings, clientCertificate, uncheckedCertificate]
    }

    private static let privateAuthority = ConformanceCase(
        "TR-70",
        "accepts the certificate of a private authority that was given to it",
        needs: [.peer("nginxTLS"), .peer("ca")]
    ) { context in
        let request = try context.request("nginxTLS")
        let file = try context.peers.text("ca")
        let bytes = FileManager.default.contents(atPath: file) ?? Data()
        for (name, source) in [("file", TransportSettings.TLS.CertificateSource.file(file)), ("bytes", .pem(bytes))] {
            for trustsSystem in [false, true] {
                await context.part("\(name)\(trustsSystem ? ", besides the system's" : "")") { context in
                    let transport = try context.transport {
                        $0.tls.trustsSystemAuthorities = trustsSystem
                        $0.tls.authorities = [source]
                    }
                    let exchange = try await context.exchange(transport, request)
                    context.expect(exchange, gives: 200)
                    context.expect(exchange.metrics.secureConnect != nil, "the metrics have no TLS handshake")
                }
            }
        }
        await context.part("not given") { context in
            let exchange = try await context.exchange(try context.transport(), request)
            context.expectUntrusted(exchange, .untrustedRoot)
        }
        await context.part("a file that is none") { context in
            do {
                _ = try context.transport { $0.tls.authorities = [.file(file + ".not")] }
                context.fail("the transport was made")
            } catch let error as LoadingError {
                guard case .invalidSetting = error.kind else { throw error }
            }
        }
    }

    private static let badCertificates = ConformanceCase(
        "TR-71",
        "refuses bad certificates and names the cause",
        needs: [
            .peer("nginxSelfSigned"), .peer("nginxExpired"), .peer("nginxNotYetValid"), .peer("nginxWrongHost"),
            .peer("nginxUntrustedRoot"), .peer("nginxRevoked"), .peer("nginxWeakKey"), .peer("nginxTLS11"), .peer("ca"),
        ]
    ) { context in
        let crl = try context.peers.text("crl")
        for (peer, cause) in [
            ("nginxSelfSigned", LoadingError.TrustCause.Cause.selfSigned), ("nginxExpired", .expired),
            ("nginxNotYetValid", .notYetValid), ("nginxWrongHost", .wrongHost), ("nginxUntrustedRoot", .untrustedRoot),
            ("nginxRevoked", .revoked), ("nginxWeakKey", .weakKey), ("nginxTLS11", .protocolVersion),
        ] {
            await context.part(peer) { context in
                let transport = try context.transport {
                    $0.tls = try context.trustingPeers()
                    if cause == .revoked { $0.tls.revocationLists = [crl] }
                }
                let request = try context.request(peer)
                for _ in 0..<2 {
                    let exchange = try await context.exchange(transport, request)
                    context.expectUntrusted(exchange, cause)
                    context.expect(exchange.status == nil, "a head was delivered")
                }
            }
        }
        await context.part("revoked, without a list") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            context.expect(try await context.exchange(transport, try context.request("nginxRevoked")), gives: 200)
        }
        await context.part("good, with a list of revoked ones") { context in
            let transport = try context.transport {
                $0.tls = try context.trustingPeers()
                $0.tls.revocationLists = [crl]
            }
            context.expect(try await context.exchange(transport, try context.request("nginxTLS")), gives: 200)
        }
        await context.part("TLS 1.2 where 1.3 is the least") { context in
            let transport = try context.transport {
                $0.tls = try context.trustingPeers()
                $0.tls.minimumVersion = .tls1_3
            }
            let exchange = try await context.exchange(transport, try context.request("nginxTLS12"))
            context.expectUntrusted(exchange, .protocolVersion)
        }
    }

    // MARK: - Pins

    private static let pins = ConformanceCase(
        "TR-72",
        "accepts a pinned key and its backup, and no other",
        needs: [.peer("nginxTLS"), .peer("nginxTLSBackup"), .peer("serverPin"), .peer("backupPin"), .peer("ca")]
    ) { context in
        let server = try context.peers.text("serverPin")
        let backup = try context.peers.text("backupPin")
        for (name, pins, peer, isAccepted) in [
            ("matching", [server], "nginxTLS", true), ("with its prefix", ["sha256/" + server], "nginxTLS", true),
            ("another", [backup], "nginxTLS", false), ("backup", [server, backup], "nginxTLSBackup", true),
            ("none of several", [server, otherPin], "nginxTLSBackup", false),
        ] {
            await context.part(name) { context in
                let transport = try context.transport {
                    $0.tls = try context.trustingPeers()
                    try $0.tls.pins.pin(pins, for: "localhost")
                }
                let exchange = try await context.exchange(transport, try context.request(peer))
                expect(context, exchange, isAccepted: isAccepted)
            }
        }
        await context.part("a matching key of an untrusted authority") { context in
            let transport = try context.transport { try $0.tls.pins.pin([server], for: "localhost") }
            let exchange = try await context.exchange(transport, try context.request("nginxTLS"))
            context.expectUntrusted(exchange, .untrustedRoot)
        }
    }

    private static let pinPatterns = ConformanceCase(
        "TR-73",
        "prefers the pins of an exact host to those of a pattern",
        needs: [.peer("nginxTLS"), .peer("serverPin"), .peer("ca")]
    ) { context in
        let right = [try context.peers.text("serverPin")]
        let wrong = [otherPin]
        for (name, pattern, exact, host, isAccepted) in [
            ("the exact one is right", wrong, right, "api.example.com", true),
            ("the exact one is wrong", right, wrong, "api.example.com", false),
            ("another host, a right pattern", right, wrong, "other.example.com", true),
            ("another host, a wrong pattern", wrong, right, "other.example.com", false),
            ("the name itself is not below itself", wrong, wrong, "example.com", true),
            ("in another case", wrong, right, "API.Example.COM", true),
        ] {
            await context.part(name) { context in
                let transport = try context.transport {
                    $0.tls = try context.trustingPeers()
                    try $0.tls.pins.pin(pattern, for: "*.example.com")
                    try $0.tls.pins.pin(exact, for: "api.example.com")
                }
                var request = try Request(.get, "https://\(host)/connection")
                request.destination = .host("127.0.0.1", port: try context.peers.port("nginxTLS"))
                expect(context, try await context.exchange(transport, request), isAccepted: isAccepted)
            }
        }
    }

    private static let pinSpellings = ConformanceCase(
        "FT-8",
        "finds the pins of a host in any spelling of its name",
        needs: [.peer("nginxTLS"), .peer("serverPin"), .peer("ca")]
    ) { context in
        let pins = [("right", [try context.peers.text("serverPin")], true), ("wrong", [otherPin], false)]
        for host in [
            "api.example.com", "api.example.com.", "api%2Eexample.com", "API.Example.com", "%61pi.example.com.",
        ] {
            for (name, pins, isAccepted) in pins {
                await context.part("\(host), \(name)") { context in
                    let transport = try context.transport {
                        $0.tls = try context.trustingPeers()
                        try $0.tls.pins.pin(pins, for: "API.example.com.")
                    }
                    var request = try Request(.get, "https://\(host)/connection")
                    request.destination = .host("127.0.0.1", port: try context.peers.port("nginxTLS"))
                    expect(context, try await context.exchange(transport, request), isAccepted: isAccepted)
                }
            }
        }
    }

    /// A hash that no key has.
    private static let otherPin = Data(repeating: 7, count: 32).base64EncodedString()

    private static func expect(_ context: ConformanceContext, _ exchange: Exchange, isAccepted: Bool) {
        guard !isAccepted else { return context.expect(exchange, gives: 200) }
        context.expect(exchange, failsWith: "a pin mismatch") { if case .pinMismatch = $0.kind { true } else { false } }
    }

    // MARK: - Client certificates, and no verification

    private static let clientCertificate = ConformanceCase(
        "TR-74",
        "presents a client certificate, and reports when it has none",
        needs: [
            .peer("tlsClientCertificate"), .peer("tlsClientCertificate12"), .peer("nginxClientCertificate"),
            .peer("clientCertificate"), .peer("clientKey"), .peer("clientEncryptedKey"), .peer("ca"),
        ]
    ) { context in
        let own = TransportSettings.TLS.ClientIdentity(
            certificateFile: try context.peers.text("clientCertificate"),
            keyFile: try context.peers.text("clientKey")
        )
        let encrypted = TransportSettings.TLS.ClientIdentity(
            certificateFile: own.certificateFile,
            keyFile: try context.peers.text("clientEncryptedKey"),
            passphrase: Secret(try context.peers.text("clientPassword"))
        )
        let other = TransportSettings.TLS.ClientIdentity(
            certificateFile: try context.peers.text("otherClientCertificate"),
            keyFile: try context.peers.text("otherClientKey")
        )
        for peer in ["tlsClientCertificate", "tlsClientCertificate12"] {
            for (name, identity) in [
                ("ours", own), ("ours with a pass phrase", encrypted), ("none", nil), ("one it does not accept", other),
            ] {
                await context.part("\(peer), \(name)") { context in
                    let transport = try context.transport {
                        $0.tls = try context.trustingPeers()
                        $0.tls.clientIdentity = identity
                    }
                    let exchange = try await context.exchange(transport, try context.request(peer))
                    if name.hasPrefix("ours") {
                        context.expect(exchange, gives: 200, "Lade Test Client")
                    } else {
                        context.expect(exchange, failsWith: "a client certificate that is required") {
                            if case .clientCertificateRequired = $0.kind { true } else { false }
                        }
                    }
                }
            }
        }
        await context.part("nginx") { context in
            let transport = try context.transport {
                $0.tls = try context.trustingPeers()
                $0.tls.clientIdentity = own
            }
            let exchange = try await context.exchange(transport, try context.request("nginxClientCertificate"))
            context.expect(exchange, gives: 200)
            context.expect(exchange.text.contains("Lade Test Client"), "the server saw \(exchange.text)")
        }
    }

    private static let uncheckedCertificate = ConformanceCase(
        "TR-75",
        "accepts any certificate only with the unsafe setting, and reports each use",
        needs: [.peer("nginxSelfSigned"), .peer("nginxWrongHost"), .peer("nginxTLS")]
    ) { context in
        for peer in ["nginxSelfSigned", "nginxWrongHost", "nginxExpired"] {
            await context.part(peer) { context in
                let transport = try context.transport { $0.tls.verification = .unsafelyAcceptEveryCertificate }
                // Again on the same connection: reusing it makes it no safer.
                for _ in 0..<2 {
                    let exchange = try await context.exchange(transport, try context.request(peer))
                    context.expect(exchange, gives: 200)
                    let hosts = exchange.events.compactMap { event -> String? in
                        if case .certificateCheckSkipped(let host) = event { host } else { nil }
                    }
                    context.expectEqual(hosts, ["localhost"], "hosts reported as unchecked")
                }
            }
        }
        await context.part("another transport of the process") { context in
            let exchange = try await context.exchange(try context.transport(), try context.request("nginxSelfSigned"))
            context.expect(exchange, failsWith: "an untrusted server") {
                if case .untrustedServer = $0.kind { true } else { false }
            }
        }
        await context.part("checked ones are not reported") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            let exchange = try await context.exchange(transport, try context.request("nginxTLS"))
            context.expect(exchange, gives: 200)
            let isTold = exchange.events.contains { if case .certificateCheckSkipped = $0 { true } else { false } }
            context.expect(!isTold, "a check was reported as skipped")
        }
    }
}

extension ConformanceContext {
    /// A GET request for the report of a TLS peer about the connection.
    func request(_ peer: String) throws -> Request {
        try Request(.get, "https://localhost:\(try peers.port(peer))/connection")
    }

    /// Records a deviation unless the exchange was refused for the given cause.
    func expectUntrusted(_ exchange: Exchange, _ cause: LoadingError.TrustCause.Cause) {
        guard case .untrustedServer(let fault) = exchange.error?.kind else {
            return fail("expected an untrusted server (\(cause)), got \(exchange.ending)")
        }
        expectEqual(fault.cause, cause, "cause")
        expectEqual(fault.host, "localhost", "host in the error")
    }
}
