import LadeCore
package import LadeTesting

extension VirtualTime {
    /// Runs `body` and everything that it started to the end, on one thread.
    ///
    /// Time advances only when nothing is left to do, so after a day every report has arrived: what was reported once
    /// by then is reported once.
    package func runToTheEnd<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await runAutomatically {
            let result = try await body()
            try await self.sleep(for: .seconds(86_400))
            return result
        }
    }
}
