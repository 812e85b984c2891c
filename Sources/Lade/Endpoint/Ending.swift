#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What becomes of an answer once it is there.
struct Ending<Output: Sendable>: Sendable {
    /// Makes the result of an answer with an acceptable status.
    let make: @Sendable (Response) throws(LoadingError) -> Output
    /// Adds to the error of an answer with another status what its body says.
    let inspect: @Sendable (Response, inout ErrorContext) -> Void
    /// The statuses that reach ``make``, in place of those that the request or the service names; nil for theirs.
    ///
    /// A form of call that checks the status by itself widens them here and not in the request: what a request accepts is
    /// never sent again, so the retries would end with the first refusal.
    var acceptable: StatusSet?

    /// The result of an answer, its status checked first.
    ///
    /// - Throws: ``LoadingError/unacceptableStatus(_:_:)`` when it is none of those that count as success.
    @inline(never)
    func output(of response: Response, acceptable: StatusSet) throws(LoadingError) -> Output {
        // What did not come over HTTP has no status of its own (client D-15).
        let isHTTP = response.version != nil || response.request.isHTTP
        guard !isHTTP || acceptable.contains(response.status.code) else {
            var context = ErrorContext(response)
            inspect(response, &context)
            throw .unacceptableStatus(response.status, context)
        }
        return try make(response)
    }
}

extension Ending<Response> {
    /// The answer as it is.
    static var response: Ending { Ending(make: { response throws(LoadingError) in response }, inspect: { _, _ in }) }
    /// The answer as it is, whatever its status.
    static var anyResponse: Ending {
        var ending = Ending.response
        ending.acceptable = StatusSet(0..<1_000)
        return ending
    }
}

extension Endpoint {
    /// The processors of the service over the body, then those of the endpoint.
    func ending(after processors: [any ResponseProcessor<Data, Data>]) -> Ending<LoadedValue<Value>> {
        Ending { response throws(LoadingError) in
            let processed = try response.processed(by: processors)
            return LoadedValue(value: try value(from: processed), response: processed)
        } inspect: { response, context in
            if let failureModel {
                return Self.decode(failureModel, decoder, response, processors, &context)
            }
            guard !processors.isEmpty || !processorNames.isEmpty else { return }
            do throws(LoadingError) {
                context.processedBody = try value(from: try response.processed(by: processors))
            } catch {
                if case .decoding(let error, _) = error {
                    context.processingError = error
                } else {
                    context.processingError = error
                }
            }
        }
    }
}

extension Endpoint {
    private static func decode(
        _ model: FailureModel,
        _ decoder: any BodyDecoder,
        _ response: Response,
        _ processors: [any ResponseProcessor<Data, Data>],
        _ context: inout ErrorContext
    ) {
        do {
            let processed = try response.processed(by: processors)
            context.processedBody = try model.decode(processed.body.bytes ?? Data(), decoder)
        } catch {
            context.processingError = error
        }
    }
}

extension Response {
    /// The answer with its body as the service's processors make it.
    fileprivate func processed(by processors: [any ResponseProcessor<Data, Data>]) throws(LoadingError) -> Response {
        guard !processors.isEmpty, var bytes = body.bytes else { return self }
        do {
            for processor in processors { bytes = try processor.process(bytes, of: self) }
        } catch let error as LoadingError {
            throw error
        } catch {
            throw .decoding(error, ErrorContext(self))
        }
        var copy = self
        copy.body = ResponseBody(bytes, trailers: body.trailers, metrics: body.metrics)
        return copy
    }
}
