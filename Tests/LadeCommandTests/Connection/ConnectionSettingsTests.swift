import Lade
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct ConnectionSettingsTests {
    private func settings(_ arguments: String...) throws(CommandError) -> ConnectionSettings {
        let parser = ArgumentParser(command: "lade get", rows: GetSettings.rows)
        guard case .run(let settings) = try parser.parse(["http://h/"] + arguments) else { throw .usage("help") }
        return settings.connection
    }

    @Test("leaves the library's defaults alone when nothing is said")
    func defaults() throws {
        let settings = try settings()
        let transport = try settings.transportSettings()
        var request = try Request("http://h/")
        settings.apply(to: &request)
        #expect(request.timeouts == Request.Timeouts())
        #expect(request.destination == nil)
        #expect(transport.proxy == .environment)
        #expect(transport.tls.trustsSystemAuthorities)
        #expect(transport.tls.verification == .full)
        #expect(transport.decodesContent)
    }

    @Test("puts each option where the library has it")
    func options() throws {
        let pin = "sha256/" + String(repeating: "A", count: 43) + "="
        let other = String(repeating: "B", count: 43) + "="
        let settings = try settings(
            "-m",
            "10",
            "--connect-timeout",
            "200ms",
            "--idle-timeout=2m",
            "--connect-to",
            "[::1]:81",
            "--http1.1",
            "--cacert",
            "ca.pem",
            "-E",
            "me.pem",
            "--key",
            "me.key",
            "-k",
            "--raw",
            "--pin",
            "H.example=\(pin)",
            "--pin",
            "h.example=\(other)"
        )
        var request = try Request("http://h/")
        settings.apply(to: &request)
        #expect(request.timeouts.whole == .seconds(10))
        #expect(request.timeouts.connect == .milliseconds(200))
        #expect(request.timeouts.idle == .seconds(120))
        #expect(request.destination == .host("::1", port: 81))
        #expect(request.version == .http1_1)
        let transport = try settings.transportSettings()
        #expect(transport.tls.authorities == [.file("ca.pem")])
        #expect(!transport.tls.trustsSystemAuthorities)
        #expect(transport.tls.clientIdentity == .init(certificateFile: "me.pem", keyFile: "me.key"))
        #expect(transport.tls.verification == .unsafelyAcceptEveryCertificate)
        #expect(transport.tls.pins.pins(for: "h.example") == [String(pin.dropFirst(7)), other])
        #expect(!transport.decodesContent)
    }

    @Test(
        "refuses what needs another option, and what names no host",
        arguments: [
            (["--key", "me.key"], "--key without --cert"), (["--noproxy", "a, b*"], "--noproxy"),
            (["--pin", "=sha256/x"], "names no host"), (["-x", "ftp://p"], "no proxy speaks"),
        ]
    )
    func refuses(arguments: [String], part: String) throws {
        let parser = ArgumentParser(command: "lade get", rows: GetSettings.rows)
        let error = try #require(throws: CommandError.self) { try parser.parse(["http://h/"] + arguments) }
        #expect(error.code == .usage, "\(error.what)")
        #expect(error.what.contains(part), "\(error.what)")
    }

    @Test("keeps the pins of each host apart")
    func pins() throws {
        let pin = String(repeating: "A", count: 43) + "="
        let other = String(repeating: "B", count: 42) + "A="
        let pins = try settings("--pin", "h=\(pin)", "--pin", "i=\(other)").pinSet()
        #expect(pins.pins(for: "h") == [pin] && pins.pins(for: "i") == [other])
    }

    @Test("refuses a pin that is none, when the settings are made")
    func pin() throws {
        let settings = try settings("--pin", "h=sha256/abc")
        let error = #expect(throws: CommandError.self) { try settings.transportSettings() }
        #expect(error?.code == .usage)
    }

    @Test(
        "reads proxies",
        arguments: [
            ("http://p:3128", .http, "p", 3_128), ("p", .http, "p", 1_080), ("socks5://[::1]:1", .socks5, "::1", 1),
            ("SOCKS5h://p/", .socks5, "p", 1_080),
        ] as [(String, TransportSettings.ProxyChoice.Proxy.Kind, String, Int)]
    )
    func proxies(text: String, kind: TransportSettings.ProxyChoice.Proxy.Kind, host: String, port: Int) throws {
        let transport = try settings("-x", text, "--noproxy", "a, .b").transportSettings()
        #expect(transport.proxy == .proxy(.init(kind, host: host, port: port, exceptions: ["a", ".b"])))
    }

    @Test(
        "reads a proxy's credentials and never shows them",
        arguments: [("me:p%40w", "p@w"), ("me:p@w", "p@w"), ("me:p:w", "p:w"), ("me", "")]
    )
    func credentials(text: String, password: String) throws {
        let transport = try settings("-x", "http://\(text)@p:1").transportSettings()
        let credentials = TransportSettings.ProxyChoice.Proxy.Credentials(user: "me", password: Secret(password))
        #expect(transport.proxy == .proxy(.init(.http, host: "p", port: 1, credentials: credentials)))
        let error = #expect(throws: CommandError.self) { try settings("-x", "http://me:secret@p:x") }
        #expect(error?.lines.contains("secret") == false)
    }

    @Test("goes direct when the proxy is empty or no host is to be proxied")
    func direct() throws {
        #expect(try settings("-x", "").transportSettings().proxy == .direct)
        #expect(try settings("-x", "", "--noproxy", "a").transportSettings().proxy == .direct)
        #expect(try settings("--noproxy", "*").transportSettings().proxy == .direct)
        let others = try settings("--noproxy", "a,.b").transportSettings()
        #expect(others.proxy == .environment)
        #expect(others.environmentExceptions == ["a", ".b"])
    }
}
