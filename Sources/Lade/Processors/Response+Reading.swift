#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Response {
    /// The body as text, in the character set that `Content-Type` names, UTF-8 by default; empty for an empty body.
    ///
    /// ```swift
    /// print(try await loader.load(request).text)
    /// ```
    ///
    /// ``Endpoint/text()`` loads the same directly.
    ///
    /// - Throws: `LoadingError.Kind.decoding` for bytes that are invalid in the character set, or for an unknown one;
    ///   `LoadingError.Kind.invalidRequest` for a body that is streamed.
    public var text: String {
        get throws(LoadingError) { try read(by: TextProcessor()) }
    }

    /// The body as JSON.
    ///
    /// ```swift
    /// let title = try await loader.load(request).json["title"]?.string
    /// ```
    ///
    /// ``Endpoint/json()`` loads the same directly, and ``Endpoint/decoding(_:decoder:)`` a value of a type.
    ///
    /// - Throws: `LoadingError.Kind.decoding` for an empty body, and with the position at which the text is not JSON;
    ///   `LoadingError.Kind.invalidRequest` for a body that is streamed.
    public var json: JSONValue {
        get throws(LoadingError) { try read(by: RequiredJSONProcessor()) }
    }

    private func read<Value: Sendable>(by processor: some Service.Processor<Data, Value>) throws(LoadingError) -> Value
    {
        try Endpoint(request).processing(with: processor).value(from: self)
    }
}

extension Response.ServerSentEvent {
    /// Decodes a value from the data of the event, which is JSON by default.
    ///
    /// ```swift
    /// for try await event in loader.events(from: request) where event.type == "tick" {
    ///     let tick = try event.decode(Tick.self)
    ///     print(event.lastEventID, tick.number)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: The decoder of the data in UTF-8.
    /// - Returns: The value.
    /// - Throws: `LoadingError.Kind.decoding`, whose underlying error is that of the decoder.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        decoder: some BodyDecoder = FastJSONDecoder()
    ) throws(LoadingError) -> Value {
        do {
            return try decoder.decode(type, from: Data(data.utf8))
        } catch {
            throw LoadingError(.decoding, underlyingError: error)
        }
    }
}
