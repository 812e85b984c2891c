import LadeCore
import LadeTesting
import Testing

@Suite("The scope of a call", .timeLimit(.minutes(5)))
struct CallScopeTests {
    @Test("runs every handler once, in the order they came, and none that was taken back")
    func handlers() throws {
        let scope = Call.Scope()
        let ran = Locked<[Int]>([])
        for number in 1...4 {
            let registration = try #require(scope.add { ran.withLock { $0.append(number) } })
            if number == 2 { scope.remove(registration) }
        }

        scope.cancel()
        scope.cancel()

        #expect(ran.withLock { $0 } == [1, 3, 4])
        #expect(scope.isCancelled)
    }

    @Test("accepts no handler after it was cancelled")
    func late() {
        let scope = Call.Scope()
        scope.cancel()

        #expect(scope.add { Issue.record("a refused handler ran") } == nil)
    }

    @Test("a call that has ended counts, and cannot be cancelled any more; a cancelled one does not count")
    func ending() throws {
        let ended = Call.Scope()
        _ = try #require(ended.add { Issue.record("the handler of an ended call ran") })
        #expect(ended.end())
        ended.cancel()
        #expect(!ended.isCancelled)

        let givenUp = Call.Scope()
        givenUp.cancel()
        #expect(!givenUp.end())
    }

    @Test("a handler may take itself back")
    func reentrancy() throws {
        let scope = Call.Scope()
        let own = Locked<Call.Scope.Registration?>(nil)
        let registration = try #require(
            scope.add { if let registration = own.withLock({ $0 }) { scope.remove(registration) } }
        )
        own.withLock { $0 = registration }

        scope.cancel()

        #expect(scope.isCancelled)
    }
}

@Suite("A call with a scope", .timeLimit(.minutes(5)))
struct ScopedCallTests {
    private func scopedCall(_ time: any TimeSource = VirtualTime()) -> (Call, Call.Scope) {
        let scope = Call.Scope()
        var call = Call(time: time)
        call.scope = scope
        return (call, scope)
    }

    @Test("ends a wait immediately when it is cancelled, and does not cancel the task", arguments: [false, true])
    func wait(isEarly: Bool) async throws {
        let time = VirtualTime()
        let (call, scope) = scopedCall(time)
        if isEarly { scope.cancel() }
        let task = Task {
            do throws(LoadingError) {
                try await call.wait(until: call.time.now.advanced(by: .seconds(60)), for: .backoff(attempt: 2))
                return (false, Task.isCancelled)
            } catch {
                return (error.isCancellation, Task.isCancelled)
            }
        }
        if !isEarly { _ = try await time.sleepers(atLeast: 1) }

        scope.cancel()

        let (isCancellation, isTaskCancelled) = await task.value
        #expect(isCancellation)
        #expect(!isTaskCancelled)
        #expect(call.isCancelled)
    }

    @Test("runs a part that supports tasks alone in a task that ends with it; the call inside has no scope")
    func inTask() async {
        let (call, scope) = scopedCall()
        let started = Signal()
        let task = Task {
            do throws(LoadingError) {
                return try await call.inTask { (inner) async throws(LoadingError) -> Bool in
                    started.raise()
                    let never = Signal()
                    // Only cancellation ends it.
                    try? await never.wait()
                    return Task.isCancelled && inner.scope == nil
                }
            } catch {
                return false
            }
        }
        try? await started.wait()

        scope.cancel()

        #expect(await task.value)
    }

    @Test("what runs in a task of its own finds it cancelled when the scope was over before")
    func overBefore() async throws {
        let (call, scope) = scopedCall()
        scope.cancel()

        let isCancelled = try await call.inTask { (_) async throws(LoadingError) in Task.isCancelled }

        #expect(isCancelled)
    }

    @Test("the task's own cancellation reaches what runs in a task of its own")
    func taskCancellation() async {
        let (call, _) = scopedCall()
        let started = Signal()
        let task = Task {
            do throws(LoadingError) {
                return try await call.inTask { (_) async throws(LoadingError) -> Bool in
                    started.raise()
                    // Only cancellation ends it.
                    try? await Signal().wait()
                    return Task.isCancelled
                }
            } catch {
                return false
            }
        }
        try? await started.wait()

        task.cancel()

        #expect(await task.value)
    }

    @Test("a handler is called for the scope's cancellation and for the task's", arguments: [false, true])
    func handler(byScope: Bool) async {
        let (call, scope) = scopedCall()
        let (started, ended) = (Signal(), Signal())
        let task = Task {
            await call.withCancellationHandler {
                started.raise()
                // The handler ends it; its task may be cancelled or not.
                await Task { try? await ended.wait() }.value
            } onCancel: {
                ended.raise()
            }
        }
        try? await started.wait()

        if byScope { scope.cancel() } else { task.cancel() }

        await task.value
        #expect(ended.isRaised)
    }

    @Test("a chain with a part that does not support scopes runs in a task of its own", arguments: 0..<3)
    func chain(_ kind: Int) async throws {
        let (call, scope) = scopedCall()
        let transport = ScriptedTransport(answering: .stalls)
        let chain =
            switch kind {
            case 0: Chain(transport: transport)
            case 1: Chain([Plain()], transport: transport)
            default: Chain(transport: Foreign(base: transport))
            }
        let request = try Request("https://svc.example.com/")
        let task = Task {
            do throws(LoadingError) {
                _ = try await chain.send(request, call: call)
                return (false, Task.isCancelled)
            } catch {
                return (error.isCancellation, Task.isCancelled)
            }
        }
        _ = try await transport.request(at: 0)

        scope.cancel()

        let (isCancellation, isTaskCancelled) = await task.value
        #expect(isCancellation)
        #expect(!isTaskCancelled)
        #expect(transport.cancellations == 1)
    }
}

/// An app's interceptor that does not observe scopes.
private struct Plain: Interceptor {
    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        try await next(request)
    }
}

/// An app's transport that does not observe scopes.
private struct Foreign: Transport {
    let base: ScriptedTransport

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        #expect(call.scope == nil)
        return try await base.send(request, call: call)
    }
}
