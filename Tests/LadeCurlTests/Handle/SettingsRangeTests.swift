import LadeCore
import LadeTesting
import Testing

@testable import LadeCurl

@Suite("Settings at the ends of their ranges", .timeLimit(.minutes(5)))
struct SettingsRangeTests {
    @Test(
        "finding FT-12 no duration is too long or too short to be set",
        arguments: [.seconds(Int64.max), .seconds(Int64.min), .zero, .nanoseconds(1)] as [Duration]
    )
    func durations(duration: Duration) async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.idleLife = duration
        let transport = try CurlTransport(settings: settings)
        var request = try server.request()
        if duration > .seconds(1) {
            request.timeouts.connect = duration
            request.timeouts.idle = duration
            request.timeouts.whole = duration
        }

        #expect(try await transport.send(request, call: Call()).body.bytes?.count == 2)
        await transport.shutDown()
    }

    @Test(
        "finding FT-10 a read of a stream is no larger than its high-water mark",
        arguments: [
            (nil, 60 << 10), (.min, 16 << 10), (0, 16 << 10), (1, 16 << 10), (16 << 10, 16 << 10), (64 << 10, 64 << 10),
            (512 << 10, 512 << 10), (2 << 20, 512 << 10), (.max, 512 << 10),
        ] as [(Int?, Int)]
    )
    func readSizes(highWater: Int?, size: Int) {
        #expect(EasyHandle.readSize(highWater: highWater) == size)
    }

    @Test("finding FT-11 pins of a chain are refused, as libcurl compares the server's own key only")
    func pinScope() {
        var settings = TransportSettings()
        settings.tls.pinScope = .chain
        #expect {
            try CurlTransport(settings: settings)
        } throws: { error in
            guard case .invalidSetting("tls.pinScope", _)? = (error as? LoadingError)?.kind else { return false }
            return true
        }
    }
}
