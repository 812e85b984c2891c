import LadeCore
import LadeCurl
import LadeTesting
import Testing

@Suite struct ScopeTests {
    @Test("an exchange ends with its call's scope, and leaves the task alone", arguments: [false, true])
    func givenUp(isEarly: Bool) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readRequest()
            try connection.stall()
        }
        var settings = TransportSettings()
        settings.proxy = .direct
        let transport = try CurlTransport(settings: settings)
        let request = try server.request(.get, "/")
        let scope = CallScope(request)
        var call = Call()
        call.scope = scope
        if isEarly { scope.cancel() }
        let task = Task { [call] in
            do throws(LoadingError) {
                _ = try await transport.send(request, call: call)
                return (false, Task.isCancelled)
            } catch {
                return (error.isCancellation, Task.isCancelled)
            }
        }
        if !isEarly { try await server.requests(atLeast: 1) }

        scope.cancel()

        let (isCancellation, isTaskCancelled) = await task.value
        #expect(isCancellation)
        #expect(!isTaskCancelled)
        if !isEarly { _ = try await server.connectionClosed(at: 0) }
        await transport.shutDown()
    }
}
