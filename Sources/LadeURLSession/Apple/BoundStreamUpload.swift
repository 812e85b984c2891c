#if canImport(Darwin)
    import CoreFoundation
    import Foundation
    import LadeCore

    /// A pipe from a body that writes chunks to the input stream that the platform sends.
    ///
    /// The pipe holds 64 KiB. A writer waits while it is full, which carries the backpressure of the connection. This
    /// file is for Apple platforms; Linux builds do not compile it.
    final class BoundStreamUpload: NSObject, StreamDelegate, @unchecked Sendable {
        // Sendable: everything except `input`, which only the platform uses, is accessed only on `queue`.
        let input: InputStream
        private let output: OutputStream
        private let queue = DispatchQueue(label: "LadeURLSession.upload")
        private let context: LoadingError.Context
        private var writer = ChunkWriter<CheckedContinuation<Bool, Never>>()

        /// Makes and opens the pipe.
        ///
        /// - Throws: ``LoadingError/Kind/requestBodyFailed`` when the platform cannot create the streams.
        init(_ context: LoadingError.Context) throws(LoadingError) {
            var input: InputStream?
            var output: OutputStream?
            Stream.getBoundStreams(withBufferSize: 64 << 10, inputStream: &input, outputStream: &output)
            guard let input, let output else {
                throw LoadingError(.requestBodyFailed, context, underlyingError: URLError(.unknown))
            }
            self.input = input
            self.output = output
            self.context = context
            super.init()
            queue.sync {
                output.delegate = self
                CFWriteStreamSetDispatchQueue(output as CFWriteStream, queue)
                output.open()
            }
        }

        /// Writes a body into the pipe, and closes it.
        ///
        /// - Throws: ``LoadingError/Kind/requestBodyFailed`` for an error of the body. The end of the exchange is not
        ///   such an error: the platform reports it.
        func send(_ body: Request.Body) async throws(LoadingError) {
            guard case .stream(let produce) = body.content else { return }
            var count: Int64 = 0
            var isCutOff = false
            do {
                try await produce { (chunk) async throws(LoadingError) in
                    guard !Task.isCancelled, await self.write(chunk) else {
                        isCutOff = true
                        throw LoadingError(.cancelled, self.context)
                    }
                    count += Int64(chunk.count)
                }
            } catch {
                close()
                if isCutOff { return }
                throw LoadingError(.requestBodyFailed, context, underlyingError: error)
            }
            close()
            if let length = body.length, length != count {
                throw LoadingError(.invalidRequest(.contentLength(written: String(length), actual: count)), context)
            }
        }

        /// Waits until the pipe has accepted the chunk; false when the other end is closed.
        private func write(_ chunk: Data) async -> Bool {
            guard !chunk.isEmpty else { return true }
            return await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    queue.async {
                        self.writer.begin(chunk, continuation)
                        self.pump()
                    }
                }
            } onCancel: {
                queue.async { self.breakOff() }
            }
        }

        private func close() {
            queue.async {
                self.breakOff()
                self.output.delegate = nil
                self.output.close()
            }
        }

        private func pump() {
            while true {
                switch writer.next(hasSpace: output.hasSpaceAvailable) {
                case .wait: return
                case .end(let continuation, let isAccepted): continuation.resume(returning: isAccepted)
                case .write(let rest):
                    let count = rest.withUnsafeBytes { bytes -> Int in
                        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return 0 }
                        return output.write(start, maxLength: bytes.count)
                    }
                    writer.wrote(count)
                }
            }
        }

        private func breakOff() {
            writer.breakOff()
            pump()
        }

        func stream(_ stream: Stream, handle event: Stream.Event) {
            switch event {
            case .hasSpaceAvailable: pump()
            case .errorOccurred, .endEncountered: breakOff()
            default: break
            }
        }
    }
#endif
