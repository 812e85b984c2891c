#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a call makes its result from a response.
struct ResponseConversion<Output: Sendable>: Sendable {
    /// Makes the result of a response with an acceptable status.
    let make: @Sendable (Response) throws(LoadingError) -> Output
    /// Adds the description in the body to the error of a response with an unacceptable status.
    let inspect: @Sendable (Response, inout LoadingError.Context) -> Void

    /// The result of a response, after its status is checked.
    ///
    /// - Throws: ``LoadingError/Kind/unacceptableStatus(_:)`` when the status does not count as success.
    @inline(never)
    func output(of response: Response, isSuccess: Bool) throws(LoadingError) -> Output {
        guard isSuccess else {
            var context = LoadingError.Context(response)
            inspect(response, &context)
            throw LoadingError(.unacceptableStatus(response.status), context)
        }
        return try make(response)
    }
}

extension ResponseConversion<Response> {
    /// Returns the response unchanged.
    static var response: ResponseConversion {
        ResponseConversion(make: { response throws(LoadingError) in response }, inspect: { _, _ in })
    }
}

extension Endpoint {
    /// Runs the processors of the service on the body, then those of the endpoint.
    func conversion(after processors: [any Service.Processor<Data, Data>]) -> ResponseConversion<Loader.Loaded<Value>> {
        ResponseConversion { response throws(LoadingError) in
            guard !response.isUnrequestedPart else {
                throw LoadingError(.unacceptableStatus(response.status), LoadingError.Context(response))
            }
            let processed = try response.processed(by: processors)
            return Loader.Loaded(value: try value(from: processed), response: processed)
        } inspect: { response, context in
            if let failureModel {
                return Self.readFailure(failureModel, decoder, response, processors, &context)
            }
            guard !processors.isEmpty || !processorNames.isEmpty else { return }
            do throws(LoadingError) {
                context.processedBody = try value(from: try response.processed(by: processors))
            } catch {
                context.processingError = error.kind == .decoding ? error.underlyingError : error
            }
        }
    }
}

extension Endpoint {
    // Not `decode`: the compiler would report this function's parameters to a caller who guesses that name.
    private static func readFailure(
        _ model: FailureModel,
        _ decoder: any BodyDecoder,
        _ response: Response,
        _ processors: [any Service.Processor<Data, Data>],
        _ context: inout LoadingError.Context
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
    /// Whether the call succeeded: its status is acceptable, or has no meaning because the response was not received over HTTP.
    package func isSuccess(_ acceptable: Response.StatusSet) -> Bool {
        acceptable.contains(status.code) || version == nil && !request.isHTTP
    }

    /// The response with the body that the service's processors return.
    fileprivate func processed(by processors: [any Service.Processor<Data, Data>]) throws(LoadingError) -> Response {
        guard !processors.isEmpty, var bytes = body.bytes else { return self }
        do {
            for processor in processors { bytes = try processor.process(bytes, of: self) }
        } catch let error as LoadingError {
            throw error
        } catch {
            throw LoadingError(.decoding, LoadingError.Context(self), underlyingError: error)
        }
        var copy = self
        copy.body = Response.Body(bytes, trailers: body.trailers, metrics: body.metrics)
        return copy
    }
}
