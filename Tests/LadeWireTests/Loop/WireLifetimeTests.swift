import CProcess
import Foundation
import LadeConformance
import LadeCore
import LadeTesting
import LadeWire
import SharedDoubles
import Testing

/// Calls on real sockets that end in every way, thousands at a time and one after the other.
///
/// There are 10,000 at once and 100,000 in a row in `make soak`, and a few hundred in `make test`.
@Suite("Random lifetimes on WireTransport", .serialized, .timeLimit(.minutes(30)))
struct WireLifetimeTests {
    /// How the server is reached.
    enum Way: String, Codable, CaseIterable {
        case clear
        case tls
        case http2
        case tunnel
        case socks

        /// The server, and the proxy before it.
        var peers: (server: String, proxy: String?) {
            switch self {
            case .clear: ("nginxHTTP", nil)
            case .tls: ("nginxTLSHTTP1", nil)
            case .http2: ("nginxTLS", nil)
            case .tunnel: ("nginxTLSHTTP1", "proxyHTTP")
            case .socks: ("nginxHTTP", "proxySOCKS5")
            }
        }

        func origin() throws -> String {
            let port = try ConformancePeers.fromEnvironment().port(peers.server)
            return peers.server == "nginxHTTP" ? "http://127.0.0.1:\(port)" : "https://localhost:\(port)"
        }

        func transport() throws -> WireTransport {
            let found = ConformancePeers.fromEnvironment()
            var settings = TransportSettings()
            settings.tls.authorities = [.file(try found.text("ca"))]
            settings.proxy = .direct
            if let proxy = peers.proxy {
                let kind: TransportSettings.ProxyChoice.Proxy.Kind = self == .socks ? .socks5 : .http
                settings.proxy = .proxy(
                    TransportSettings.ProxyChoice.Proxy(kind, host: "127.0.0.1", port: try found.port(proxy))
                )
            }
            return try WireTransport(settings: settings)
        }
    }

    @Test("calls that end in every way leave no descriptor, thread, byte or call", arguments: Way.allCases)
    func nothingIsLeft(way: Way) async throws {
        do {
            _ = try way.transport()
        } catch {
            if ProcessInfo.processInfo.environment["CI"] == "true" { Issue.record("\(error)") }
            try Test.cancel("\(error)")
        }
        await #expect(processExitsWith: .success) { [way] in
            let soak = Soak.current
            // What the process keeps for good is there after this.
            try await Lives(way, seed: 1).live(atOnce: 100, inARow: 100)
            let before = Leftovers()
            // The transport is released with the lives, and its buffers with it.
            try await Lives(way, seed: soak.seed(for: "lifetimes over \(way)"))
                .live(atOnce: soak.rounds(of: 10_000, few: 200), inARow: soak.rounds(of: 100_000, few: 300))
            #expect(CallSink.open == 0, "calls that did not end or whose sinks are retained")
            let after = before.settled()
            #expect(after.descriptors == before.descriptors)
            #expect(after.threads <= before.threads)
            // A sanitizer has a heap of its own.
            if ProcessInfo.processInfo.environment["LADE_SANITIZER"] == nil {
                #expect(after.heap - before.heap < 1 << 20, "\(after.heap - before.heap) bytes are left")
            }
        }
    }

    @Test(
        "a transport whose settings cannot be used leaves no descriptor, thread or byte",
        .disabled(
            if: ProcessInfo.processInfo.environment["LADE_SANITIZER"] != nil,
            "a sanitizer has a heap of its own"
        )
    )
    func refusedSettings() async {
        await #expect(processExitsWith: .success) {
            var settings = TransportSettings()
            settings.tls.authorities = [.pem(Data("no certificate".utf8))]
            var before: Leftovers?
            for round in 0...100 {
                #expect(throws: LoadingError.self) { try WireTransport(settings: settings) }
                // What the process keeps for good is there after the first.
                if round == 0 { before = Leftovers() }
            }
            let start = try #require(before)
            let after = start.settled()
            #expect(after.descriptors == start.descriptors)
            #expect(after.threads <= start.threads)
            #expect(after.heap - start.heap < 1 << 20, "\(after.heap - start.heap) bytes are left")
        }
    }
}

/// What a process has open.
private struct Leftovers {
    let descriptors: Int
    let threads: Int
    let heap: Int

    init() {
        let manager = FileManager.default
        let names = (try? manager.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        // The timer of Swift's runtime comes and goes.
        descriptors =
            names.compactMap { try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
            .count { $0.hasPrefix("socket:") || $0.contains("[event") }
        threads = (try? manager.contentsOfDirectory(atPath: "/proc/self/task"))?.count ?? 0
        heap = lade_heap_bytes()
    }

    /// The same once the system has ended the threads; the kernel notifies of nothing here.
    func settled() -> Leftovers {
        var now = Leftovers()
        for _ in 0..<6_000 where now.threads > threads || now.descriptors > descriptors {
            usleep(5_000)
            now = Leftovers()
        }
        return now
    }
}

/// Counts the ends of a call; all open ones are counted too.
private final class CallSink: Call.Observer {
    private static let count = Locked(0)
    static var open: Int { count.withLock { $0 } }

    private let ends = Locked(0)

    init() { Self.count.withLock { $0 += 1 } }
    deinit { Self.count.withLock { $0 -= 1 } }

    var endings: Int { ends.withLock { $0 } }

    func record(_ event: Call.Event, of _: Call) {
        switch event {
        case .exchangeFinished, .exchangeFailed: ends.withLock { $0 += 1 }
        default: break
        }
    }
}

/// The calls of one transport.
private struct Lives {
    private let transport: WireTransport
    private let origin: String
    private let random: SeededRandom
    private let content: Data

    init(_ way: WireLifetimeTests.Way, seed: UInt64) throws {
        transport = try way.transport()
        origin = try way.origin()
        random = SeededRandom(seed: seed)
        let folder = try ConformancePeers.fromEnvironment().text("www")
        content = try Data(contentsOf: URL(filePath: folder).appending(path: "small.json"))
    }

    /// Makes the calls, and shuts down the transport while the last of them are in flight.
    func live(atOnce: Int, inARow: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<atOnce {
                let plan = random.next()
                group.addTask { try await life(plan) }
            }
            try await group.waitForAll()
        }
        for _ in 0..<inARow { try await life(random.next()) }
        let last = (0..<20).map { _ in
            let plan = random.next()
            return Task { try await life(plan, mayFail: true) }
        }
        await transport.shutDown()
        for task in last { try await task.value }
    }

    /// Makes one call, which ends in the way that the plan says.
    private func life(_ plan: UInt64, mayFail: Bool = false) async throws {
        let sink = CallSink()
        var request = try Request(.get, origin + "/small.json")
        if plan % 10 >= 6 { request.delivery = .streamed }
        if plan % 10 == 9 { request.timeouts.whole = .milliseconds(Int64(plan / 10 % 5) + 1) }
        // A reader that leaves takes the body with it.
        let isAbandoned = plan % 10 == 7
        let work = Task { [request] in
            let response = try await transport.send(request, call: Call(events: [sink]))
            var bytes = Data()
            for try await chunk in response.body {
                bytes.append(chunk)
                if isAbandoned { break }
            }
            return bytes
        }
        if plan % 10 == 8 {
            for _ in 0..<(plan / 10 % 40) { await Task.yield() }
            work.cancel()
        }
        switch await work.result {
        case .success(let bytes):
            #expect(isAbandoned ? content.starts(with: bytes) : bytes == content)
        case .failure(let error as LoadingError):
            switch (plan % 10, error.kind) {
            case (8, .cancelled), (9, .timedOut(.whole)), (9, .deadlineExceeded): break
            default: #expect(mayFail, "\(plan): \(error)")
            }
        case .failure(let error): Issue.record("\(error)")
        }
        // A body that is left ends its exchange a moment later.
        if !isAbandoned { #expect(sink.endings <= 1) }
    }
}
