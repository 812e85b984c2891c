/// How much of a request's body was given to the transport.
public struct UploadProgress: Sendable, Hashable {
    /// The bytes of this sending so far.
    public var sent: Int64
    /// The bytes in all; nil when that is not known.
    public var total: Int64?
}

extension RequestBody {
    /// The body, telling how far its sending is.
    ///
    /// - Parameter report: Called after each piece, from 64 KiB on, in the task that sends; a body that is sent again
    ///   starts anew. It must be quick.
    /// - Returns: A body with the same bytes.
    public func reportingProgress(_ report: @escaping @Sendable (UploadProgress) -> Void) -> RequestBody {
        let original = self
        var body = RequestBody.writer(length: length, isReplayable: isReplayable, contentType: contentType) { write in
            try await original.send(to: write, report)
        }
        body.trailers = trailers
        return body
    }

    private func send(to write: ChunkWriter, _ report: @Sendable (UploadProgress) -> Void) async throws {
        var progress = UploadProgress(sent: 0, total: length)
        try await self.write(to: { (chunk) throws(LoadingError) in
            try await write(chunk)
            progress.sent += Int64(chunk.count)
            report(progress)
        })
    }
}
