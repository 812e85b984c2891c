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
