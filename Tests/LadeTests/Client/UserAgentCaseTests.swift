#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("User agents", .timeLimit(.minutes(5)))
struct UserAgentCaseTests {
    private let platform = UserAgent.Platform(model: "x86_64", system: "iPhone OS", systemVersion: "9.1")

    @Test("client CD-04 names application, machine and this library")
    func standard() {
        let agent = UserAgent(application: .init("MyApplication", version: "1.0.0"), platform: platform)
        #expect(agent.text == "MyApplication/1.0.0 (x86_64; iPhone OS 9.1) Lade/\(UserAgent.LibraryVersion.number)")
    }

    @Test("client CD-05 names a library between")
    func library() {
        let agent = UserAgent(
            application: .init("MyApplication", version: "1.0.0"),
            platform: platform,
            libraries: [.init("MyLibrary", version: "1.0.0")]
        )
        let client = "Lade/\(UserAgent.LibraryVersion.number)"
        #expect(agent.text == "MyApplication/1.0.0 (x86_64; iPhone OS 9.1) MyLibrary/1.0.0 \(client)")
    }

    @Test("client CD-06 is a text exactly as it is given")
    func string() {
        #expect(UserAgent.string("X").text == "X")
        #expect(UserAgent.string("X") == UserAgent("X"))
    }

    @Test(
        "client CD-08 keeps only what a token may have",
        arguments: [
            ("My Player (beta)", "MyPlayerbeta"), ("Ärzte", "rzte"), ("a/b:c", "abc"), ("a\r\nB: 1", "aB1"),
            ("ok-1.0_~!", "ok-1.0_~!"),
        ]
    )
    func sanitising(_ name: String, _ token: String) {
        #expect(UserAgent.sanitised(name) == token)
    }

    @Test("client CD-09 client D-10 has valid tokens in a program without a bundle, and none without a name")
    func noBundle() {
        let text = UserAgent.application.text
        #expect(!text.contains("null"))
        #expect(text.hasSuffix(" Lade/\(UserAgent.LibraryVersion.number)"))
        #expect(text.contains(" ("))
        #expect(UserAgent(application: .init("Name"), platform: platform).text.hasPrefix("Name (x86_64;"))
        #expect(UserAgent(application: .init("()"), platform: platform).text.hasPrefix("(x86_64;"))
    }

    @Test("finding SF-14 a request has a user agent, which replaces that of the service")
    func ofRequest() async throws {
        let rig = Rig { $0.userAgent = .string("Service/1") }
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        #expect(request.userAgent == nil)

        request.userAgent = .string("Request/2")
        _ = try await rig.loader.load(request)
        #expect(request.userAgent == .string("Request/2"))
        request.userAgent = nil
        _ = try await rig.loader.load(request)

        #expect(rig.transport.requests.map { $0.headers["User-Agent"] } == ["Request/2", "Service/1"])
    }

    @Test("client D-11 has the version of the release, three numbers")
    func version() {
        let parts = UserAgent.LibraryVersion.number.split(separator: ".").compactMap { Int($0) }
        #expect(parts.count == 3)
    }

    /// The agents that arrive when the service has one and the endpoint may have another.
    private func agents(_ change: (Endpoint<Data>) -> Endpoint<Data>) async throws -> [String]? {
        let rig = Rig { $0.userAgent = .string("service") }
        rig.transport.onAnyRequest().respond(.text("ok"))
        _ = try await rig.loader.load(change(rig.endpoint()))
        return rig.transport.requests.first?.headers.all("User-Agent")
    }

    @Test("client CD-07 prefers the request's agent to the service's")
    func precedence() async throws {
        #expect(try await agents { $0 } == ["service"])
        #expect(try await agents { $0.header("User-Agent", "own") } == ["own"])
    }

    @Test("client CD-41 sends the caller's own field alone, whatever its case")
    func ownField() async throws {
        #expect(try await agents { $0.header("user-agent", "own") } == ["own"])
    }

    @Test("client CD-37 gives each of two services on one transport its own agent")
    func twoServices() async throws {
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.text("ok"))
        for name in ["A", "B"] {
            var settings = Service.Settings.still
            settings.userAgent = .string(name)
            _ = try await Service(settings, transport: transport).anonymous.makeLoader()
                .load(Endpoint("https://svc.example.com/"))
        }
        #expect(transport.requests.map { $0.headers["User-Agent"] } == ["A", "B"])
    }
}
