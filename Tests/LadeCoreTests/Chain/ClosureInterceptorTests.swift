import LadeCore
import LadeTesting
import Testing

@Suite("Closures as interceptors", .timeLimit(.minutes(5)))
struct ClosureInterceptorTests {
    private struct Fault: Error, Equatable { var code: Int }

    private func failure(_ body: @escaping @Sendable (Request, Chain.Next) async throws -> Response) async throws
        -> LoadingError?
    {
        let chain = Chain([Chain.interceptor(body)], transport: ScriptedTransport(answering: .text("ok")))
        let request = try Request("https://a.test/x")
        do throws(LoadingError) {
            _ = try await chain.send(request, call: Call())
            return nil
        } catch {
            return error
        }
    }

    @Test("an interceptor may be a closure that changes the request and the answer")
    func passes() async throws {
        let transport = ScriptedTransport(answering: .text("ok"))
        let interceptor = Chain.interceptor { request, next in
            var request = request
            request.headers["A"] = "1"
            var response = try await next(request)
            response.headers["B"] = "2"
            return response
        }
        let response = try await Chain([interceptor], transport: transport)
            .send(Request("https://a.test/x"), call: Call())
        #expect(response.headers["B"] == "2")
        #expect(transport.requests.map { $0.headers["A"] } == ["1"])
    }

    @Test("a closure that observes the scope runs without a child task", arguments: [false, true])
    func scope(isObserved: Bool) async throws {
        let hasScope = Locked<Bool?>(nil)
        let interceptor = Chain.interceptor(observesScope: isObserved) { request, next in
            hasScope.withLock { $0 = next.call.scope != nil }
            return try await next(request)
        }
        var call = Call()
        call.scope = Call.Scope()
        let chain = Chain([interceptor], transport: ScriptedTransport(answering: .text("ok")))
        _ = try await chain.send(Request("https://a.test/x"), call: call)
        // A child task is cancelled instead of the scope.
        #expect(hasScope.withLock { $0 } == isObserved)
    }

    @Test("what an interceptor's closure throws is wrapped, and kept as the cause")
    func wraps() async throws {
        let error = try await failure { _, _ in throw Fault(code: 7) }
        guard case .interceptionFailed? = error?.kind, let cause = error?.underlyingError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause as? Fault == Fault(code: 7))
        #expect(error?.underlyingError as? Fault == Fault(code: 7))
        #expect(error?.context.url == "https://a.test/x")
    }

    @Test("a closure's LoadingError stays as it is, and CancellationError is a cancellation")
    func keeps() async throws {
        let stored = try await failure { request, _ in throw LoadingError(.notStored, LoadingError.Context(request)) }
        guard case .notStored? = stored?.kind else {
            Issue.record("\(String(describing: stored))")
            return
        }
        #expect(try await failure { _, _ in throw CancellationError() }?.isCancellation == true)
    }
}
