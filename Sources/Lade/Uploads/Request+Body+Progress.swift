public import LadeCore

extension Request.Body {
    /// The body, reporting how much of it was given to the transport.
    ///
    /// - Parameters:
    ///   - time: The clock that keeps reports apart; the system's by default.
    ///   - report: Receives the progress, at most ten times a second and at the end, in the task that sends. It must be
    ///     quick. A body that is sent again starts anew.
    /// - Returns: A body with the same bytes.
    public func reportingProgress(
        time: any TimeSource = SystemTime(),
        _ report: @escaping @Sendable (Download.Progress) -> Void
    ) -> Request.Body {
        let original = self
        var body = Request.Body.writer(length: length, isReplayable: isReplayable, contentType: contentType) { write in
            try await original.send(to: write, ProgressThrottle(time, report))
        }
        body.trailers = trailers
        return body
    }

    private func send(to write: ChunkWriter, _ reports: ProgressThrottle) async throws {
        var reports = reports
        var progress = Download.Progress(completed: 0, total: length)
        try await self.write(to: { (chunk) throws(LoadingError) in
            try await write(chunk)
            progress.completed += Int64(chunk.count)
            reports.take(progress)
        })
        reports.finish(at: progress)
    }
}
