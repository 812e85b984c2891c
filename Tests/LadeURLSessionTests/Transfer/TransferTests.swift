import Foundation
import LadeCore
import LadeTesting
import Testing

@testable import LadeURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Lets bytes arrive between the decision to end an exchange and the end of its task.
private final class LateBytes: Call.Observer {
    let transfer = Locked<Transfer?>(nil)

    func record(_ event: Call.Event, of call: Call) {
        guard case .waitEnded(.connectivity, _) = event else { return }
        transfer.withLock { $0 }?.bytesArrived(Data("late".utf8))
    }
}

/// Virtual time that counts the sleeps until an instant that has passed, and ends a loop of them by moving on.
private final class CountingTime: TimeSource {
    let virtual = VirtualTime()
    let lateSleeps = Locked(0)

    var now: Instant { virtual.now }
    var date: Date { virtual.date }

    func sleep(until deadline: Instant) async throws(LoadingError) {
        if deadline <= now {
            lateSleeps.withLock { $0 += 1 }
            virtual.advance(by: .seconds(1))
        }
        try await virtual.sleep(until: deadline)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct TransferTests {
    private let driver: SessionDriver

    init() throws { driver = try SessionDriver(.ephemeral, settings: TransportSettings()) }

    private func transfer(_ request: Request, call: Call = Call()) throws -> Transfer {
        Transfer(request, platform: try PlatformRequest(request), limits: .init(), driver: driver, call: call)
    }

    @Test("an exchange that is cancelled ends its task, whatever arrives meanwhile")
    func bytesWhileEnding() async throws {
        defer { driver.shutDown() }
        let server = try LoopbackServer(script: [.readRequest, .stall])
        let request = try server.request()
        let late = LateBytes()
        let transfer = try transfer(request, call: Call(events: [late]))
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

    @Test("an exchange that is cancelled before it begins fails immediately")
    func cancelledBefore() async throws {
        defer { driver.shutDown() }
        let transfer = try transfer(Request("http://127.0.0.1:1/"))
        transfer.cancel()
        let error = await #expect(throws: LoadingError.self) { try await transfer.run(through: HostGate(limit: 1)) }
        #expect(error?.isCancellation == true)
    }

    @Test(
        "the deadline of the call ends the exchange when it is reached, with and without time-outs",
        arguments: [nil, .seconds(60)] as [Duration?]
    )
    func deadline(_ idle: Duration?) async throws {
        defer { driver.shutDown() }
        let server = try LoopbackServer(script: [.readRequest, .stall])
        let time = CountingTime()
        var request = try server.request()
        request.timeouts.idle = idle
        var call = Call(time: time)
        call.deadline = time.now.advanced(by: .seconds(9))
        let transfer = try transfer(request, call: call)
        let sender = Task { try await transfer.run(through: HostGate(limit: 1)) }
        try await server.requests(atLeast: 1)
        try #require(try await time.virtual.nextSleeper().remaining == .seconds(9))

        time.virtual.advance(by: .seconds(9))

        let error = await #expect(throws: LoadingError.self) { try await sender.value }
        guard case .deadlineExceeded = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(time.lateSleeps.withLock { $0 } == 0)
        try await server.connectionClosed(at: 0)
    }

    #if canImport(FoundationNetworking)
        @Test("an exchange that ends leaves its slot, stops its timer and cancels the writer of its body")
        func ending() async throws {
            defer { driver.shutDown() }
            let time = VirtualTime()
            let never = Signal()
            let isWriterCancelled = Locked(false)
            let body = Request.Body.writer { _ in
                try await withTaskCancellationHandler {
                    try await never.wait()
                } onCancel: {
                    isWriterCancelled.withLock { $0 = true }
                }
            }
            var request = try Request(.post, "http://127.0.0.1:1/", body: body)
            request.timeouts.idle = .seconds(7)
            let transfer = try transfer(request, call: Call(time: time))
            let gate = HostGate(limit: 1)
            let sender = Task { try await transfer.run(through: gate) }
            try await never.arrivals(atLeast: 1)
            _ = try await time.nextSleeper()
            let next = Task.immediate {
                _ = try await gate.enter(request.url.authority, context: LoadingError.Context())
            }

            transfer.cancel()

            #expect(time.sleepers.isEmpty)
            #expect(isWriterCancelled.withLock { $0 })
            // A waiter that has its slot already is not cancelled by this.
            next.cancel()
            await #expect(throws: Never.self) { try await next.value }
            never.raise()
            let error = await #expect(throws: LoadingError.self) { try await sender.value }
            #expect(error?.isCancellation == true)
            withExtendedLifetime(transfer) {}
        }
    #endif

    @Test(
        "destinations differ by host and port, with the port of the scheme where there is none",
        arguments: [
            ("http://Example.com/a", "example.com:80"), ("https://example.com", "example.com:443"),
            ("HTTPS://example.com", "example.com:443"), ("https://example.com:80", "example.com:80"),
        ]
    )
    func authorities(_ address: String, _ expected: String) throws {
        #expect(try #require(URL(string: address)).authority == expected)
    }
}
