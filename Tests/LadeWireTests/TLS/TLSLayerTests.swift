import COpenSSL
import Foundation
import LadeCore
import Testing

@testable import LadeWire

@Suite("TLS without sockets", .timeLimit(.minutes(5)))
struct TLSLayerTests {
    /// An authority and what trusts it alone.
    private struct Realm {
        let authority: Identity
        var settings = TransportSettings.TLS()

        init() throws {
            authority = try Identity("Root", isAuthority: true)
            settings.trustsSystemAuthorities = false
            settings.authorities = [.pem(authority.pem)]
        }

        func server(_ names: String = "DNS:example.com", version: CInt? = nil) throws -> TLSServer {
            try TLSServer(try Identity("server", names: names, issuer: authority), version: version)
        }
    }

    /// The cause of a refused server; nil when the handshake is done.
    private static func cause(_ pair: TLSPair) throws -> LoadingError.TrustCause.Cause? {
        pair.run()
        guard case .failed(let fault) = pair.outcome else {
            #expect(pair.outcome == .done)
            return nil
        }
        guard case .untrustedServer(let cause) = fault.kind(host: "example.com") else {
            Issue.record("\(fault)")
            return nil
        }
        return cause.cause
    }

    // MARK: - Bytes

    @Test(
        "wire WR-34 records that are split at any byte give the same as whole ones",
        arguments: [
            TLS1_2_VERSION, TLS1_3_VERSION,
        ]
    )
    func splits(version: CInt) throws {
        let realm = try Realm()
        let server = try realm.server(version: version)
        func run(pieces: Int = .max, cut: Int? = nil, room: Int = 64 << 10) throws -> Int {
            let pair = try TLSPair(server, realm.settings)
            pair.run(pieces: pieces, cut: cut, room: room)
            #expect(pair.outcome == .done)
            pair.write("request", from: pair.client)
            pair.run(pieces: pieces, cut: cut, room: room)
            #expect(String(decoding: pair.serverReceived, as: UTF8.self) == "request")
            pair.write("resp", from: pair.server)
            pair.write("onse", from: pair.server)
            pair.server.close()
            pair.run(pieces: pieces, cut: cut, room: room)
            #expect(pair.text == "response")
            #expect(pair.lastRead == .ended)
            return pair.serverBytes
        }
        let count = try run()
        for cut in 1..<count { #expect(try run(cut: cut) <= count + 64, "cut at \(cut)") }
        for size in 1...8 { _ = try run(pieces: size, room: 1) }
    }

    @Test("wire WR-34 a large response arrives whole through reads of any size")
    func large() throws {
        let realm = try Realm()
        let text = (0..<20_000).map { "\($0) " }.joined()
        for room in [1_000, 16_384, 200_000] {
            let pair = try TLSPair(try realm.server(), realm.settings)
            pair.run()
            pair.write(text, from: pair.server)
            pair.run(pieces: 5_000, room: room)
            #expect(pair.text == text)
        }
    }

    @Test("wire WR-34 ciphertext that was not read stays when its memory is used for something else")
    func keepsInput() throws {
        let realm = try Realm()
        let pair = try TLSPair(try realm.server(), realm.settings)
        pair.run()
        let text = (0..<9_000).map { "\($0) " }.joined()
        pair.write(text, from: pair.server)
        var bytes = pair.server.withOutput { Array($0) }
        var plaintext: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 5_000)
        // The reader stops after each read, and the next bytes arrive in the same memory.
        let half = bytes.count / 2
        let second = Array(bytes[half...])
        for part in [Array(bytes[..<half]), second] {
            bytes.replaceSubrange(..<part.count, with: part)
            bytes[..<part.count].withUnsafeBytes { memory in
                pair.client.feed(memory)
                if case .bytes(let count) = buffer.withUnsafeMutableBytes({ pair.client.read(into: $0) }) {
                    plaintext += buffer[..<count]
                }
                #expect(pair.client.hasInput)
                pair.client.keepInput()
            }
            for index in bytes.indices { bytes[index] = 0 }
        }
        while case .bytes(let count) = buffer.withUnsafeMutableBytes({ pair.client.read(into: $0) }) {
            plaintext += buffer[..<count]
        }
        #expect(String(decoding: plaintext, as: UTF8.self) == text)
        #expect(!pair.client.hasInput)
    }

    @Test("a layer within another one gives the same, at any split", arguments: [1, 5, 100, Int.max])
    func nested(size: Int) throws {
        let realm = try Realm()
        let outer = try TLSPair(try realm.server("DNS:proxy.com"), realm.settings, host: "proxy.com")
        outer.run(pieces: size)
        #expect(outer.outcome == .done)
        let context = try TLSContext(realm.settings, now: 0)
        let peer = TLSPeer(host: "example.com", isAddress: false, sessionKey: "")
        let client = context.makeLayer(peer, protocols: [.http1_1], session: nil, within: outer.client, now: 0)
        let server = try realm.server().makeLayer(within: outer.server)
        let inner = TLSPair(client: try #require(client), server: server)
        inner.run(pieces: size)
        inner.write("request", from: inner.client)
        inner.run(pieces: size)
        #expect(String(decoding: inner.serverReceived, as: UTF8.self) == "request")
        inner.write("response", from: inner.server)
        inner.server.close()
        inner.run(pieces: size)
        #expect(inner.text == "response")
        #expect(inner.lastRead == .ended)
    }

    @Test("a layer is cut off when the one around it ends, in the handshake and after it", arguments: [false, true])
    func cutOff(isOpen: Bool) throws {
        let realm = try Realm()
        let outer = try TLSPair(try realm.server("DNS:proxy.com"), realm.settings, host: "proxy.com")
        outer.run()
        let context = try TLSContext(realm.settings, now: 0)
        let peer = TLSPeer(host: "example.com", isAddress: false, sessionKey: "")
        let client = context.makeLayer(peer, protocols: [.http1_1], session: nil, within: outer.client, now: 0)
        let server = try realm.server().makeLayer(within: outer.server)
        let inner = TLSPair(client: try #require(client), server: server)
        if isOpen { inner.run() }
        outer.server.close()
        inner.run()
        if isOpen {
            #expect(inner.lastRead == .failed(.ended))
        } else {
            #expect(inner.outcome == .failed(.ended))
        }
    }

    @Test("wire WR-26 names a peer that does not speak TLS, whatever arrives of it")
    func notTLS() throws {
        let realm = try Realm()
        for text in ["HTTP/1.1 400 Bad Request\r\n\r\n", "H", "SSH-2.0", "\u{16}x", "\0\0\0\0"] {
            for size in [1, 2, 100] {
                let pair = try TLSPair(try realm.server(), realm.settings)
                var rest = Array(text.utf8)[...]
                while !rest.isEmpty {
                    pair.advanceClient(Array(rest.prefix(size)))
                    rest = rest.dropFirst(size)
                }
                #expect(pair.outcome == .failed(.notTLS), "\(text.debugDescription) by \(size)")
            }
        }
    }

    @Test("wire WR-26 an alert in place of a handshake is no foreign protocol")
    func alertFirst() throws {
        let realm = try Realm()
        let pair = try TLSPair(try realm.server(), realm.settings)
        pair.advanceClient([0x15, 0x03, 0x03, 0, 2, 2, 40])
        #expect(pair.outcome == .failed(.alert(40, wasAsked: false)))
    }

    // MARK: - Trust

    @Test(
        "wire WR-22 checks subject alternative names, and nothing else",
        arguments: [
            ("DNS:example.com", "example.com", true), ("DNS:other.com", "example.com", false),
            ("DNS:EXAMPLE.com", "example.com", true), ("DNS:*.example.com", "api.example.com", true),
            ("DNS:*.example.com", "example.com", false), ("DNS:*.example.com", "a.b.example.com", false),
            ("DNS:a*.example.com", "api.example.com", false), ("DNS:*i.example.com", "api.example.com", false),
            ("IP:127.0.0.1", "127.0.0.1", true), ("DNS:127.0.0.1", "127.0.0.1", false),
            ("IP:::1", "::1", true), ("IP:127.0.0.2", "127.0.0.1", false), ("IP:127.0.0.1", "example.com", false),
            ("DNS:other.com,DNS:example.com", "example.com", true), ("email:a@example.com", "example.com", false),
        ]
    )
    func names(names: String, host: String, isGood: Bool) throws {
        let realm = try Realm()
        let pair = try TLSPair(try realm.server(names), realm.settings, host: host)
        #expect(try Self.cause(pair) == (isGood ? nil : .wrongHost))
    }

    @Test("wire WR-22 the common name is no name of a host")
    func commonName() throws {
        let realm = try Realm()
        let server = try TLSServer(try Identity("example.com", issuer: realm.authority))
        #expect(try Self.cause(try TLSPair(server, realm.settings)) == .wrongHost)
    }

    @Test("wire WR-23 a given authority is an anchor although another one has issued it, and nothing else is")
    func anchors() throws {
        let root = try Identity("Root", isAuthority: true)
        let middle = try Identity("Middle", issuer: root, isAuthority: true)
        let leaf = try Identity("leaf", names: "DNS:example.com", issuer: middle)
        let server = try TLSServer(leaf, chain: [middle])
        func cause(_ anchor: Identity?) throws -> LoadingError.TrustCause.Cause? {
            var settings = TransportSettings.TLS()
            settings.trustsSystemAuthorities = false
            settings.authorities = anchor.map { [.pem($0.pem)] } ?? []
            return try Self.cause(try TLSPair(server, settings))
        }
        for anchor in [root, middle, leaf] { #expect(try cause(anchor) == nil) }
        #expect(try cause(nil) == .untrustedRoot)
        #expect(try cause(try Identity("Other", isAuthority: true)) == .untrustedRoot)
        #expect(try cause(try Identity("Root", isAuthority: true)) == .other("CERT_SIGNATURE_FAILURE"))
    }

    @Test("wire WR-24 a key of 1024 bits is too weak")
    func weakKey() throws {
        let realm = try Realm()
        let weak = try Identity("weak", names: "DNS:example.com", issuer: realm.authority, kind: .rsa1024)
        #expect(try Self.cause(try TLSPair(try TLSServer(weak), realm.settings)) == .weakKey)
    }

    @Test(
        "finding WF-2 no key exchange over finite fields is offered, whose size the server would choose",
        arguments: [TLS1_2_VERSION, TLS1_3_VERSION]
    )
    func finiteFields(version: CInt) throws {
        let realm = try Realm()
        // A key that the other exchange could be signed with; its weakness would be noticed after the choice.
        let identity = try Identity("x", names: "DNS:example.com", issuer: realm.authority, kind: .rsa1024)
        let server = try TLSServer(identity, version: version)
        if version == TLS1_2_VERSION {
            SSL_CTX_set_cipher_list(server.context, "DHE-RSA-AES128-GCM-SHA256")
            SSL_CTX_ctrl(server.context, SSL_CTRL_SET_DH_AUTO, 1, nil)
        } else {
            var groups = Array("ffdhe2048:ffdhe8192".utf8CString)
            SSL_CTX_ctrl(server.context, SSL_CTRL_SET_GROUPS_LIST, 0, &groups)
        }
        let pair = try TLSPair(server, realm.settings)
        pair.run()
        #expect(fault(of: pair) == .alert(40, wasAsked: false))
    }

    /// An RSA key of random numbers with these sizes.
    private static func publicKey(bits: Int, exponent: Int) throws -> OpaquePointer {
        func der(_ tag: UInt8, _ body: [UInt8]) -> [UInt8] {
            [tag, 0x82, UInt8(body.count >> 8), UInt8(body.count & 0xFF)] + body
        }
        func odd(_ bits: Int) -> [UInt8] { [0, 0x80] + Array(repeating: 0x5A, count: bits / 8 - 2) + [1] }
        let key = der(0x30, der(2, odd(bits)) + der(2, exponent == 17 ? [1, 0, 1] : odd(exponent)))
        let algorithm: [UInt8] = [0x30, 13, 6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 5, 0]
        let bytes = der(0x30, algorithm + der(3, [0] + key))
        return try bytes.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return try #require(d2i_PUBKEY(nil, &start, buffer.count))
        }
    }

    @Test(
        "finding WF-2 a key of more than 8,192 bits, or with a long exponent, is refused before it is computed with",
        arguments: [(8_192, 17, true), (8_200, 17, false), (16_384, 17, false), (2_048, 64, true), (2_048, 72, false)],
        [true, false]
    )
    func excessiveKeys(size: (bits: Int, exponent: Int, isFine: Bool), isChecked: Bool) throws {
        let root = try Identity("Root", isAuthority: true)
        let leaf = try Identity("leaf", names: "DNS:example.com", issuer: root)
        let key = try Self.publicKey(bits: size.bits, exponent: size.exponent)
        defer { EVP_PKEY_free(key) }
        let other = try Identity("Other", issuer: root, isAuthority: true, publicKey: key)
        var settings = TransportSettings.TLS()
        settings.trustsSystemAuthorities = false
        settings.authorities = [.pem(root.pem)]
        if !isChecked { settings.verification = .unsafelyAcceptEveryCertificate }
        let pair = try TLSPair(try TLSServer(leaf, chain: [other]), settings)
        pair.run()
        #expect(fault(of: pair) == (size.isFine ? nil : .verification(50)))
        #expect((pair.outcome == .done) == size.isFine)
    }

    @Test("finding WF-9 the certificates of a server have a limit, which is a setting", arguments: [1, 2])
    func longChains(times: Int) throws {
        let root = try Identity("Root", isAuthority: true)
        let leaf = try Identity("leaf", names: "DNS:example.com", issuer: root)
        let others = try (0..<200).map { _ in try Identity("Root", issuer: root) }
        var settings = TransportSettings()
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = [.pem(root.pem)]
        settings.limits.certificateBytes *= times * times
        let pair = try TLSPair(try TLSServer(leaf, chain: others), settings.tls, limits: settings.limits)
        pair.run()
        #expect((pair.outcome == .done) == (times > 1))
        guard times == 1 else { return }
        #expect(fault(of: pair)?.detail == "the server's certificates are longer than the limit of them")
    }

    @Test(
        "finding WF-3 a layer reads as many records as there are units, and the rest afterwards",
        arguments: [false, true]
    )
    func units(isNested: Bool) throws {
        let realm = try Realm()
        let server = try realm.server()
        let pair = try TLSPair(server, realm.settings)
        pair.run()
        guard isNested else { return check(pair) }
        let context = try TLSContext(realm.settings, now: 0)
        let peer = TLSPeer(host: "example.com", isAddress: false, sessionKey: "")
        let client = context.makeLayer(peer, protocols: [.http1_1], session: nil, within: pair.client, now: 0)
        let inner = TLSPair(client: try #require(client), server: try server.makeLayer(within: pair.server))
        inner.run()
        check(inner)
    }

    private func check(_ pair: TLSPair) {
        for _ in 0..<300 { pair.write("x", from: pair.server) }
        let bytes = pair.server.withOutput { Array($0) }
        pair.server.consumeOutput(bytes.count)
        bytes.withUnsafeBytes { pair.client.feed($0) }
        pair.client.keepInput()
        var buffer = [UInt8](repeating: 0, count: 1_000)
        var counts: [Int] = []
        for _ in 0..<20 {
            var units = 50
            let read = buffer.withUnsafeMutableBytes { pair.client.read(into: $0, units: &units) }
            guard case .bytes(let count) = read else { break }
            counts.append(count)
            #expect(count <= 50)
        }
        #expect(counts.reduce(0, +) == 300)
        #expect(counts.count >= 6)
    }

    /// In a process of its own, because OpenSSL reads the configuration once.
    @Test("wire WR-24 a lax configuration of the system allows neither weak keys nor old versions")
    func laxSystem() async {
        await #expect(processExitsWith: .success) {
            let file = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString).cnf")
            let lax = """
                openssl_conf = start
                [start]
                ssl_conf = modules
                [modules]
                system_default = lax
                [lax]
                MinProtocol = TLSv1
                CipherString = ALL:@SECLEVEL=0

                """
            try Data(lax.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            setenv("OPENSSL_CONF", file.path, 1)
            let realm = try Realm()
            let context = SSL_CTX_new(TLS_client_method())
            #expect(SSL_CTX_get_security_level(context) == 0, "the configuration is not read")
            SSL_CTX_free(context)
            let weak = try Identity("weak", names: "DNS:example.com", issuer: realm.authority, kind: .rsa1024)
            #expect(try TLSLayerTests.cause(try TLSPair(try TLSServer(weak), realm.settings)) == .weakKey)
            let old = try TLSServer(weak, version: TLS1_1_VERSION)
            #expect(try TLSLayerTests.cause(try TLSPair(old, realm.settings)) == .protocolVersion)
        }
    }

    @Test("names a certificate that is expired, too young, self-signed or revoked")
    func otherCauses() throws {
        let realm = try Realm()
        func identity(_ days: ClosedRange<Int>) throws -> Identity {
            try Identity("server", names: "DNS:example.com", issuer: realm.authority, days: days)
        }
        #expect(try Self.cause(try TLSPair(try TLSServer(try identity(-9 ... -2)), realm.settings)) == .expired)
        #expect(try Self.cause(try TLSPair(try TLSServer(try identity(2...9)), realm.settings)) == .notYetValid)
        let own = try Identity("server", names: "DNS:example.com")
        #expect(try Self.cause(try TLSPair(try TLSServer(own), realm.settings)) == .selfSigned)
        let good = try identity(-1...9)
        let list = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString).pem").path
        defer { try? FileManager.default.removeItem(atPath: list) }
        try realm.authority.revocationList(revoking: [good]).write(to: URL(filePath: list))
        var settings = realm.settings
        settings.revocationLists = [list]
        #expect(try Self.cause(try TLSPair(try TLSServer(good), settings)) == .revoked)
        #expect(try Self.cause(try TLSPair(try TLSServer(try identity(-1...9)), settings)) == nil)
    }

    @Test("accepts any certificate when that is asked for")
    func unchecked() throws {
        var settings = TransportSettings.TLS()
        settings.trustsSystemAuthorities = false
        settings.verification = .unsafelyAcceptEveryCertificate
        let server = try TLSServer(try Identity("server", names: "DNS:other.com"))
        #expect(try Self.cause(try TLSPair(server, settings)) == nil)
    }

    // MARK: - Pins

    @Test("wire WR-27 compares the pinned keys with the server's or with those of the verified chain")
    func pins() throws {
        let root = try Identity("Root", isAuthority: true)
        let middle = try Identity("Middle", issuer: root, isAuthority: true)
        let leaf = try Identity("leaf", names: "DNS:example.com", issuer: middle)
        let stranger = try Identity("Stranger", isAuthority: true)
        // What the server adds is no part of the verified chain.
        let server = try TLSServer(leaf, chain: [middle, stranger])
        func isAccepted(
            _ pin: Identity,
            _ scope: TransportSettings.TLS.PinScope,
            _ verification: TransportSettings.TLS.Verification = .full
        ) throws -> Bool {
            var settings = TransportSettings.TLS()
            settings.trustsSystemAuthorities = false
            settings.authorities = [.pem(root.pem)]
            settings.pinScope = scope
            settings.verification = verification
            try settings.pins.pin([pin.pin], for: "example.com")
            let pair = try TLSPair(server, settings)
            pair.run()
            if pair.outcome != .done { #expect(pair.outcome == .failed(.pinMismatch)) }
            // Nothing can be sent before the comparison.
            return pair.outcome == .done
        }
        for (identity, asLeaf, inChain) in [
            (leaf, true, true), (middle, false, true), (root, false, true), (stranger, false, false),
        ] {
            #expect(try isAccepted(identity, .leaf) == asLeaf)
            #expect(try isAccepted(identity, .chain) == inChain)
            #expect(try isAccepted(identity, .chain, .unsafelyAcceptEveryCertificate) == asLeaf)
        }
    }

    // MARK: - Client certificates

    @Test(
        "wire WR-28 presents the client's identity, and names its absence",
        arguments: [
            TLS1_2_VERSION, TLS1_3_VERSION,
        ]
    )
    func clientIdentity(version: CInt) throws {
        let realm = try Realm()
        let clients = try Identity("Clients", isAuthority: true)
        let server = try TLSServer(
            try Identity("server", names: "DNS:example.com", issuer: realm.authority),
            version: version,
            clients: clients
        )
        let folder = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func settings(_ client: Identity?) throws -> TransportSettings.TLS {
            var settings = realm.settings
            guard let client else { return settings }
            let (certificate, key) = (folder.appending(path: "c.pem"), folder.appending(path: "k.pem"))
            try client.pem.write(to: certificate)
            try client.keyPEM(passphrase: "word").write(to: key)
            settings.clientIdentity = TransportSettings.TLS.ClientIdentity(
                certificateFile: certificate.path,
                keyFile: key.path,
                passphrase: Secret("word")
            )
            return settings
        }
        let accepted = try TLSPair(server, try settings(try Identity("client", issuer: clients)))
        accepted.run()
        #expect(accepted.serverOutcome == .done)
        for client in [nil, try Identity("client", issuer: realm.authority)] {
            let pair = try TLSPair(server, try settings(client))
            pair.run()
            guard case .alert = fault(of: pair) else {
                Issue.record("\(String(describing: pair.outcome)), \(pair.lastRead)")
                continue
            }
            #expect(fault(of: pair)?.isAboutClientCertificate == true)
        }
        // A proxy is not shown it.
        let context = try TLSContext(try settings(try Identity("client", issuer: clients)), now: 0)
        context.load()
        let proxy = TLSPeer(host: "example.com", isAddress: false, sessionKey: "", isProxy: true)
        let layer = context.makeLayer(proxy, protocols: [.http1_1], session: nil, now: 0)
        let pair = TLSPair(client: try #require(layer), server: try server.makeLayer())
        pair.run()
        #expect(fault(of: pair)?.isAboutClientCertificate == true)
        #expect(pair.serverOutcome != .done)
    }

    private func fault(of pair: TLSPair) -> TLSFault? {
        if case .failed(let fault) = pair.outcome { return fault }
        if case .failed(let fault) = pair.lastRead { return fault }
        return nil
    }

    // MARK: - Sessions

    @Test(
        "wire WR-29 resumes sessions, checks pins again, and does without a session that is refused",
        arguments: [
            TLS1_2_VERSION, TLS1_3_VERSION,
        ]
    )
    func resumes(version: CInt) throws {
        let realm = try Realm()
        let server = try realm.server(version: version)
        let first = try TLSPair(server, realm.settings)
        first.run()
        let sessions = first.client.takeSessions()
        let session = try #require(sessions.last)
        #expect(!first.client.isResumed)
        #expect(session.isSingleUse == (version == TLS1_3_VERSION))
        #expect(session.keys.count == 2)

        // Other authorities: the certificates must be verified again.
        var wider = realm.settings
        wider.authorities.append(.pem(try Identity("Other", isAuthority: true).pem))
        let full = try TLSPair(server, wider, session: session)
        full.run()
        #expect(full.outcome == .done)
        #expect(!full.client.isResumed)

        let second = try TLSPair(server, realm.settings, session: session)
        second.run()
        #expect(second.outcome == .done)
        #expect(second.client.isResumed)
        #expect(!second.client.wasSessionRefused)
        // OpenSSL offers a ticket of TLS 1.3 once.
        let later = second.client.takeSessions().last ?? session
        #expect(later.keys == session.keys)

        var pinned = realm.settings
        try pinned.pins.pin([try Identity("other").pin], for: "example.com")
        let third = try TLSPair(server, pinned, session: sessions[0])
        third.run()
        #expect(third.client.isResumed)
        #expect(third.outcome == .failed(.pinMismatch))
        pinned.pinScope = .chain
        try pinned.pins.pin([realm.authority.pin], for: "example.com")
        let fourth = try TLSPair(server, pinned, session: later)
        fourth.run()
        #expect(fourth.client.isResumed)
        #expect(fourth.outcome == .done)

        // Another process of the server does not know the session.
        let fifth = try TLSPair(try realm.server(version: version), realm.settings, session: session)
        fifth.run()
        #expect(fifth.outcome == .done)
        #expect(fifth.client.wasSessionRefused)
    }

    // MARK: - The end

    @Test("wire WR-30 tells an announced end from one that only the connection has", arguments: [true, false])
    func ends(isAnnounced: Bool) throws {
        let realm = try Realm()
        let pair = try TLSPair(try realm.server(), realm.settings)
        pair.run()
        pair.write("all", from: pair.server)
        if isAnnounced { pair.server.close() }
        pair.run()
        #expect(pair.text == "all")
        #expect(pair.lastRead == (isAnnounced ? .ended : .wantsInput))
    }

    @Test("wire WR-31 announces its own end")
    func closes() throws {
        let realm = try Realm()
        let pair = try TLSPair(try realm.server(), realm.settings)
        pair.client.close()
        #expect(pair.client.outputCount == 0)
        pair.run()
        pair.client.close()
        let before = pair.client.outputCount
        #expect(before > 0)
        pair.client.close()
        #expect(pair.client.outputCount == before)
    }

    @Test("wire WR-32 tickets and key updates are no bytes, and memory comes back after a rest")
    func idle() throws {
        let realm = try Realm()
        let server = try realm.server(version: TLS1_3_VERSION)
        let ssl = try #require(SSL_new(server.context))
        SSL_set_accept_state(ssl)
        let client = try TLSPair(server, realm.settings).client
        let pair = TLSPair(client: client, server: try #require(TLSLayer(ssl)))
        pair.run()
        _ = pair.client.takeSessions()
        pair.client.rest()
        SSL_new_session_ticket(ssl)
        SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED)
        pair.write("", from: pair.server)
        SSL_do_handshake(ssl)
        pair.run()
        #expect(pair.received.isEmpty)
        #expect(pair.lastRead == .wantsInput)
        #expect(!pair.client.takeSessions().isEmpty)
        pair.client.rest()
        pair.write("ping", from: pair.client)
        pair.write("pong", from: pair.server)
        pair.run()
        #expect(pair.text == "pong")
        #expect(String(decoding: pair.serverReceived, as: UTF8.self) == "ping")
    }
}
