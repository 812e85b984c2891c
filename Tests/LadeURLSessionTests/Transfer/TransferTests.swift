import Foundation
import LadeCore
import LadeTesting
import Testing

@testable import LadeURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Lets bytes arrive between the decision to end an exchange and the end of its task.
private final class LateBytes: EventSink {
    let transfer = Locked<Transfer?>(nil)

    func record(_ event: Event, of call: Call) {
        guard case .waitEnded(.connectivity, _) = event else { return }
        transfer.withLock { $0 }?.bytesArrived(Data("late".utf8))
    }
}

@Suite(.timeLimit(.minutes(5)))
struct TransferTests {
    @Test("an exchange that is cancelled ends its task, whatever arrives meanwhile")
    func bytesWhileEnding() async throws {
        let driver = try SessionDriver(.ephemeral, settings: TransportSettings())
        defer { driver.shutDown() }
        let server = try LoopbackServer(script: [.readRequest, .stall])
        let request = try server.request()
        let late = LateBytes()
        let transfer = Transfer(
            request,
            platform: try PlatformRequest(request),
            limits: .init(),
            driver: driver,
            call: Call(events: [late])
        )
        late.transfer.withLock { $0 = transfer }
        let sender = Task { try await transfer.run(through: HostGate(limit: 1)) }
        try await server.requests(atLeast: 1)
        // The end of this wait is reported just before the task is ended.
        transfer.waitsForConnectivity()

        transfer.cancel()

        let error = await #expect(throws: LoadingError.self) { try await sender.value }
        #expect(error?.isCancellation == true)
        try await server.connectionClosed(at: 0)
        late.transfer.withLock { $0 = nil }
    }
}
