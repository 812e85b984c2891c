#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import Lade

/// The closures that receive what one performed call reports, from its head to its ending.
package struct CallReports: Sendable {
    /// Receives the head of a streamed response.
    package var head: @Sendable (Response, LoadHandle) -> Void
    /// Receives a chunk of a streamed body, with the head.
    package var chunk: @Sendable (Data, Response, LoadHandle) -> Void
    /// Returns the body again for another sending; nil when bodies are sent only once.
    package var newBody: (@Sendable (LoadHandle) async -> RequestBody?)?
    /// Receives the ending.
    package var ending: @Sendable (Result<Response, LoadingError>, LoadHandle) -> Void

    /// Makes reports from their closures.
    package init(
        head: @escaping @Sendable (Response, LoadHandle) -> Void,
        chunk: @escaping @Sendable (Data, Response, LoadHandle) -> Void,
        newBody: (@Sendable (LoadHandle) async -> RequestBody?)?,
        ending: @escaping @Sendable (Result<Response, LoadingError>, LoadHandle) -> Void
    ) {
        self.head = head
        self.chunk = chunk
        self.newBody = newBody
        self.ending = ending
    }

    /// Reports the head and the chunks of a streamed response, unless the call is cancelled.
    ///
    /// - Returns: The response with an empty body, or the error that ended the body.
    fileprivate func stream(
        _ response: Response,
        of handle: LoadHandle,
        on executor: CompletionExecutor
    ) async -> Result<Response, LoadingError> {
        var ended = response
        ended.body = ResponseBody()
        let head = ended
        await executor.run { if handle.isExpected { self.head(head, handle) } }
        do throws(LoadingError) {
            var iterator = response.body.makeAsyncIterator()
            while let bytes = try await iterator.next(isolation: #isolation) {
                await executor.run { if handle.isExpected { chunk(bytes, head, handle) } }
            }
        } catch {
            return .failure(error)
        }
        ended.body = ResponseBody(Data(), trailers: response.trailers, metrics: response.metrics)
        return .success(ended)
    }
}

extension Loader {
    /// Makes a call that reports its course and its ending on an executor, until the loader is released.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - executor: Where to report.
    ///   - acceptsChunks: Whether a streamed body can be reported; otherwise the call fails and nothing is sent.
    ///   - reports: The closures to call.
    /// - Returns: A handle that can cancel the call.
    package func perform(
        _ request: Request,
        on executor: CompletionExecutor,
        acceptsChunks: Bool,
        _ reports: CallReports
    ) -> LoadHandle {
        start(request, on: executor) { handle, sending in
            guard request.delivery != .streamed || acceptsChunks else { return .failure(.chunksRefused(request)) }
            var request = request
            if let newBody = reports.newBody, let body = request.body, !body.isReplayable {
                request.body = body.reopened { handle.isExpected ? await newBody(handle) : nil }
            }
            let result = await sending.response(to: request)
            guard case .success(let response) = result, response.body.bytes == nil else { return result }
            return await reports.stream(response, of: handle, on: executor)
        } completion: { handle, result in
            reports.ending(result, handle)
        }
    }
}

extension LoadingError {
    fileprivate static func chunksRefused(_ request: Request) -> LoadingError {
        let clause =
            "The request is streamed, and the delegate does not accept chunks: return true from "
            + "loaderSupportsChunks(_:), or leave the delivery buffered"
        return LoadingError(.invalidRequest(.streamedBody(clause)), ErrorContext(request))
    }
}
