import Foundation
import Lade
import LadeCallbacks
import LadeTesting
import Testing

// The code of Documentation/ComingFromSPTDataLoader.md, run with a loopback server.

@Suite("Coming from SPTDataLoader", .timeLimit(.minutes(5)))
struct ComingFromSPTDataLoaderTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer { request in
            switch request.path {
            case "/me": request["Authorization"] == "Bearer My Token" ? .text("me") : .status(401)
            case "/preview": .chunks(["ab", "cd", "ef"])
            default: .text("thing")
            }
        }
    }

    /// The host of the server under a name, and its address.
    private func named(_ path: String) -> String { "http://spotify.localhost:\(server.port)\(path)" }

    private func service() throws -> Service {
        let (port, thing) = (Int(server.port), named("/thing/thing"))
        var settings = try Service.Settings.dataLoader()
        settings.userAgent = .product("Player", version: "1.0")
        settings.hosts.setAddresses([HostDirectory.Address("127.0.0.1", port: port)], for: "spotify.localhost")
        try settings.rateLimiter?.setRate(1_000, for: ServiceKey(Request(thing)))
        return try Service(settings)
    }

    @Test("finding SF-15 a loader of an account sends authorised requests with the agent of its service")
    func authorised() async throws {
        let service = try service()
        var scope = try Authorisation.Scope(named("/"))
        scope.allowsInsecure = true
        let authoriser = Authorisation.Bearer(token: Secret("My Token"), scope: scope)
        let account = service.account(authorisers: [authoriser])
        let loader = account.makeLoader()

        var request = try Request(named("/me"))
        request.sourceIdentifier = "playlists"
        let response = try await loader.load(request)

        #expect(try response.text == "me")
        #expect(server.requests.first?["User-Agent"]?.contains("Player/1.0") == true)
        #expect(server.requests.first?["Host"] == "spotify.localhost:\(server.port)")
        await account.signOut()
    }

    @Test("finding SF-15 a streamed request gives its chunks, and an observer its traffic")
    func chunks() async throws {
        let service = try service()
        let traffic = Signal()
        let consumption = ConsumptionObserver { total in
            if total.bytesReceived > 6, total.bytesSent > 0 { traffic.raise() }
        }
        let observation = service.observe(with: consumption)
        let loader = service.anonymous.makeLoader()

        var request = try Request(named("/preview"))
        request.delivery = .streamed
        let text = try await loader.withResponse(to: request) { response in
            var text = ""
            for try await chunk in response.body { text += String(decoding: chunk, as: UTF8.self) }
            return text
        }

        #expect(text == "abcdef")
        try await traffic.wait()
        observation.end()
    }

    @Test("finding SF-15 a timer grows with jitter, and from nothing it does not grow")
    func timer() {
        let random = SeededRandom(seed: 1)
        var timer = ExponentialTimer(initial: .seconds(1), maximum: .seconds(1_000))
        let delays = (1...5).map { _ in timer.takeAndAdvance(random) }
        var still = ExponentialTimer(initial: .zero, maximum: .seconds(10))

        #expect(delays.first == .seconds(1) && delays.last ?? .zero > .seconds(5))
        #expect((1...1_000).allSatisfy { _ in still.takeAndAdvance(random) == .zero })
    }
}
