import Foundation
import LadeCore
import LadeTesting
import Testing

@testable import LadeURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)))
struct SessionDriverTests {
    private let driver: SessionDriver
    private let gate = HostGate(limit: 6)
    /// A separate session, for tasks that belong to no exchange.
    private let session = URLSession(configuration: .ephemeral)

    init() throws { driver = try SessionDriver(.ephemeral, settings: TransportSettings()) }

    private func transfer(_ request: Request, events: EventRecorder? = nil) throws -> Transfer {
        Transfer(
            request,
            platform: try PlatformRequest(request),
            limits: .init(),
            driver: driver,
            call: Call(events: events.map { [$0] } ?? [])
        )
    }

    private func strayTask() throws -> URLSessionDataTask {
        session.dataTask(with: try #require(URL(string: "https://svc.example.com/")))
    }

    @Test(
        "service SV-04 gives the tasks of a session with a configuration of one's own the priority of their request",
        arguments: [
            (Request.Priority.low, URLSessionTask.lowPriority), (.normal, URLSessionTask.defaultPriority),
            (.high, URLSessionTask.highPriority),
        ]
    )
    func priority(_ priority: Request.Priority, _ expected: Float) throws {
        defer { driver.shutDown() }
        var request = try Request("https://svc.example.com/")
        request.priority = priority
        #expect(driver.makeTask(in: session, for: try transfer(request), .none).priority == expected)
    }

    @Test("service SV-05 cancels a task that belongs to no exchange")
    func strayResponse() throws {
        defer { driver.shutDown() }
        let dispositions = Locked<[URLSession.ResponseDisposition]>([])
        let url = try #require(URL(string: "https://svc.example.com/"))
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
        driver.urlSession(session, dataTask: try strayTask(), didReceive: response) { disposition in
            dispositions.withLock { $0.append(disposition) }
        }
        #expect(dispositions.withLock { $0 } == [.cancel])
    }

    @Test("finding FT-15 keeps no entry of a task whose end is reported while its exchange takes it over")
    func endsWhileAttached() throws {
        defer { driver.shutDown() }
        let task = try strayTask()
        let transfer = try transfer(Request("https://svc.example.com/"))
        let isAdopted = driver.adopt(task, for: transfer) { task in
            let isAttached = transfer.attach(task)
            // The exchange is cancelled on another thread, and the platform reports the end of the task.
            driver.urlSession(session, task: task, didCompleteWithError: URLError(.cancelled))
            return isAttached
        }
        #expect(isAdopted)
        #expect(driver.taskCount == 0)
    }

    @Test("finding FT-15 keeps no entry of a task that comes after the end of its exchange")
    func comesTooLate() throws {
        defer { driver.shutDown() }
        let task = try strayTask()
        let transfer = try transfer(Request("https://svc.example.com/"))
        transfer.cancel()
        #expect(!driver.adopt(task, for: transfer, attach: transfer.attach))
        #expect(driver.taskCount == 0)
    }

    private final class Sender: NSObject, URLAuthenticationChallengeSender, @unchecked Sendable {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }

    /// How often and how a challenge for a task without an exchange is answered.
    private func answers(host: String, method: String) throws -> [(URLSession.AuthChallengeDisposition, Bool)] {
        let space = URLProtectionSpace(
            host: host,
            port: 443,
            protocol: "https",
            realm: "x",
            authenticationMethod: method
        )
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space,
            proposedCredential: nil,
            previousFailureCount: 0,
            failureResponse: nil,
            error: nil,
            sender: Sender()
        )
        let answers = Locked<[(URLSession.AuthChallengeDisposition, Bool)]>([])
        driver.urlSession(session, task: try strayTask(), didReceive: challenge) { disposition, credential in
            answers.withLock { $0.append((disposition, credential != nil)) }
        }
        return answers.withLock { $0 }
    }

    @Test("service SV-24 answers a challenge that no exchange waits for, once")
    func strayChallenge() throws {
        defer { driver.shutDown() }
        let answers = try answers(host: "svc.example.com", method: NSURLAuthenticationMethodDefault)
        #expect(answers.map(\.0) == [.cancelAuthenticationChallenge])
    }

    @Test(
        "service TP-08 refuses a challenge without a host, without a trust to check, or for a password",
        arguments: [
            ("", NSURLAuthenticationMethodDefault), ("svc.example.com", NSURLAuthenticationMethodDefault),
            ("svc.example.com", NSURLAuthenticationMethodHTTPBasic),
        ]
    )
    func otherChallenges(host: String, method: String) throws {
        defer { driver.shutDown() }
        let answers = try answers(host: host, method: method)
        #expect(answers.map(\.0) == [.cancelAuthenticationChallenge])
        #expect(answers.map(\.1) == [false])
    }

    /// Runs a number of concurrent exchanges, each with a different response; true for each that received its own
    /// completely.
    private func exchanges(_ count: Int) async throws -> [Bool] {
        @Sendable func text(_ number: Int) -> String { String(repeating: "\(number) ", count: 20_000) }
        let server = try LoopbackServer { request in
            .text(text(Int(request.target.dropFirst()) ?? 0))
        }
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<count {
                let transfer = try transfer(server.request(.get, "/\(number)"))
                group.addTask { [gate] in
                    try await transfer.run(through: gate).body.bytes == Data(text(number).utf8)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(
        "service D-15 is called back one call after the other, so that bodies of 32 concurrent exchanges arrive whole"
    )
    func serialCallbacks() async throws {
        defer { driver.shutDown() }
        #expect(driver.callbacks.maxConcurrentOperationCount == 1)
        #expect(try await exchanges(32) == Array(repeating: true, count: 32))
    }

    @Test("service D-18 has its sessions before the first exchange, and no more of them for many concurrent ones")
    func sessions() async throws {
        let expected = SessionDriver.Lane.canWait ? 2 : 1
        try #require(driver.sessionCount == expected)
        _ = try await exchanges(32)
        try #require(driver.sessionCount == expected)
        driver.shutDown()
        await driver.ended()
        #expect(driver.sessionCount == 0)
    }

    @Test("a request may wait for a network where the platform has it, and none has to", arguments: [false, true])
    func lanes(_ waits: Bool) throws {
        defer { driver.shutDown() }
        var request = try Request("https://svc.example.com/")
        request.waitsForConnectivity = waits
        let lane = SessionDriver.Lane.of(try PlatformRequest(request))
        #expect(lane == (waits && SessionDriver.Lane.canWait ? .patient : .prompt))
    }

    @Test("a wait for a network that the platform reports is an event of its exchange", .timeLimit(.minutes(5)))
    func waiting() async throws {
        defer { driver.shutDown() }
        let server = try LoopbackServer { _ in .text("ok") }
        let events = EventRecorder()
        var request = try server.request(.get, "/")
        request.waitsForConnectivity = true
        let transfer = try transfer(request, events: events)
        transfer.waitsForConnectivity()
        #expect(try await transfer.run(through: gate).status == 200)
        #expect(
            events.story.filter { $0.hasPrefix("wait") } == [
                "wait started: a network", "wait ended: a network",
            ]
        )
        #expect(events.story.last == "exchange finished")
    }
}
