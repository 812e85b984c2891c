#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Endpoint {
    /// The endpoint with one more processor, after the existing ones.
    public func processing<Processor: Service.Processor<Value, NewValue>, NewValue: Sendable>(
        with processor: Processor
    ) -> Endpoint<NewValue> {
        adding(["\(Processor.self)"]) { try processor.process($0, of: $1) }
    }

    private func adding<NewValue: Sendable>(
        _ names: [String],
        _ step: @escaping @Sendable (Value, Response) throws -> NewValue
    ) -> Endpoint<NewValue> {
        let convert = self.convert
        var copy = Endpoint<NewValue>(
            request: request,
            acceptableStatuses: acceptableStatuses,
            decorators: decorators,
            processorNames: processorNames + names
        ) { data, response in
            try step(convert(data, response), response)
        }
        copy.decoder = decoder
        copy.failureModel = failureModel
        return copy
    }

    /// The endpoint with a list of processors, composed at run time and in order, after the existing ones.
    ///
    /// The types are checked when the processors run. Where they are known, ``processing(with:)-(Processor)`` checks them at
    /// compile time.
    ///
    /// - Parameters:
    ///   - processors: The processors; each receives the value of the one before.
    ///   - type: The type of the last value. A result of another type is ``ProcessingError/wrongOutput(expected:found:)``. An
    ///     input that a processor does not take is ``ProcessingError/wrongInput(expected:found:)``.
    /// - Returns: The changed copy.
    public func processing<NewValue: Sendable>(
        with processors: [any Service.Processor],
        as type: NewValue.Type = NewValue.self
    ) -> Endpoint<NewValue> {
        let chain = ProcessorChain(processors)
        return adding(processors.map { "\(Swift.type(of: $0))" }) { value, response in
            let last = try chain.value(of: value, response)
            guard let result = last as? NewValue else {
                throw ProcessingError.wrongOutput(expected: "\(NewValue.self)", found: "\(Swift.type(of: last as Any))")
            }
            return result
        }
    }

    /// The endpoint with its value transformed by a closure.
    public func map<NewValue: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> NewValue
    ) -> Endpoint<NewValue> {
        processing(with: Service.processor { value, _ in try transform(value) })
    }
}

extension Endpoint where Value == Data {
    /// The endpoint with a value decoded from the body.
    ///
    /// An empty body is an error; ``decodingIfPresent(_:decoder:)`` returns nil for it.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: The decoder; nil, the default, selects the decoder of the ``API`` that made the endpoint, otherwise
    ///     JSON.
    /// - Returns: The changed copy.
    public func decoding<Decoded: Decodable & Sendable>(
        _ type: Decoded.Type,
        decoder: (any BodyDecoder)? = nil
    ) -> Endpoint<Decoded> {
        processing(with: DecodingProcessor(type, decoder: decoder ?? self.decoder))
    }

    /// The endpoint with a value decoded from the body; nil when the body is empty.
    public func decodingIfPresent<Decoded: Decodable & Sendable>(
        _ type: Decoded.Type,
        decoder: (any BodyDecoder)? = nil
    ) -> Endpoint<Decoded?> {
        let processor = DecodingProcessor(type, decoder: decoder ?? self.decoder)
        return processing(
            with: Service.processor { data, response in
                data.isEmpty ? nil : try processor.process(data, of: response)
            }
        )
    }

    /// The endpoint with any JSON value of the body, fragments included; nil when the body is empty.
    public func json() -> Endpoint<JSONValue?> {
        processing(with: Service.JSONProcessor())
    }

    /// The endpoint with a JSON object; anything else is an error.
    public func jsonObject() -> Endpoint<[String: JSONValue]> {
        json().map { value in
            guard let value else { throw ProcessingError.emptyBody }
            guard case .object(let members) = value else {
                throw ProcessingError.wrongKind(expected: "an object", found: value.kind)
            }
            return members.dictionary
        }
    }

    /// The endpoint with a JSON array; anything else is an error.
    public func jsonArray() -> Endpoint<[JSONValue]> {
        json().map { value in
            guard let value else { throw ProcessingError.emptyBody }
            guard case .array(let elements) = value else {
                throw ProcessingError.wrongKind(expected: "an array", found: value.kind)
            }
            return elements
        }
    }

    /// The endpoint with the body as text, in the character set that the response names, UTF-8 by default.
    public func text() -> Endpoint<String> {
        processing(with: TextProcessor())
    }

    /// The endpoint with an image; nil when the bytes cannot be decoded.
    ///
    /// - Parameter decode: Decodes the bytes; returns nil or throws when they are not an image.
    /// - Returns: The changed copy.
    public func image<Image: Sendable>(
        _ decode: @escaping @Sendable (Data) throws -> Image?
    ) -> Endpoint<Image?> {
        processing(with: Service.ImageProcessor(decode))
    }

    /// The endpoint with an image; bytes that cannot be decoded are an error.
    ///
    /// - Parameter decode: Decodes the bytes; returns nil or throws when they are not an image.
    /// - Returns: The changed copy.
    public func requiredImage<Image: Sendable>(
        _ decode: @escaping @Sendable (Data) throws -> Image?
    ) -> Endpoint<Image> {
        map { data in
            guard let image = try decode(data) else { throw ProcessingError.notAnImage }
            return image
        }
    }
}
