#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Encodes instances of `Encodable` types as JSON, several times as fast as Foundation's `JSONEncoder`.
///
/// It has the same options, writes the same bytes, and throws the same errors with the same coding paths. Without
/// `.sortedKeys`, members keep the order in which they were encoded, whereas Foundation's order varies from run to run.
/// The other differences are listed in <doc:DifferencesFromFoundation>.
///
/// ```swift
/// var encoder = FastJSONEncoder()
/// encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
/// let body = try encoder.encode(page)
/// ```
///
/// The encoder is a value without shared state, so any number of tasks can use the same one. Encoding runs on the
/// calling thread and does not check for cancellation. Where a deeply nested value may not fit, it runs on a thread
/// with a larger stack, while the calling thread waits.
public struct FastJSONEncoder: Sendable {
    /// The format of the text; by default on one line, with escaped slashes.
    public var outputFormatting: JSONEncoder.OutputFormatting = []
    /// The strategy for dates, with Foundation's choices; `.deferredToDate` by default.
    public var dateEncodingStrategy = JSONEncoder.DateEncodingStrategy.deferredToDate
    /// The strategy for `Data`; Base64 by default.
    public var dataEncodingStrategy = JSONEncoder.DataEncodingStrategy.base64
    /// The strategy for infinity and NaN; they are rejected by default.
    public var nonConformingFloatEncodingStrategy = JSONEncoder.NonConformingFloatEncodingStrategy.throw
    /// The strategy for converting coding keys to the document's names; unchanged by default.
    public var keyEncodingStrategy = JSONEncoder.KeyEncodingStrategy.useDefaultKeys
    /// Values that the encoded types can read from their encoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Makes an encoder with the default options.
    public init() {}

    /// Encodes a value.
    ///
    /// - Parameter value: The value.
    /// - Returns: The document in UTF-8.
    /// - Throws: `EncodingError` for a number that JSON cannot represent, for a value that encodes nothing, and for
    ///   more than 511 levels of nesting. An error of an encoded type is thrown, too.
    public func encode<T: Encodable>(_ value: T) throws -> Data {
        try encode(value) { try $0.write(single: value, isDocument: true) }
    }

    /// Encodes a value of a type that needs a configuration.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - configuration: The configuration for the type's method.
    /// - Returns: The document in UTF-8.
    /// - Throws: The same errors as ``encode(_:)``.
    public func encode<T: EncodableWithConfiguration>(
        _ value: T,
        configuration: T.EncodingConfiguration
    ) throws -> Data {
        try encode(value) { try value.encode(to: $0, configuration: configuration) }
    }

    /// Encodes a value of a type whose configuration another type provides.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - configuration: The type that provides the configuration.
    /// - Returns: The document in UTF-8.
    /// - Throws: The same errors as ``encode(_:)``.
    public func encode<T, C>(_ value: T, configuration: C.Type) throws -> Data
    where
        T: EncodableWithConfiguration, C: EncodingConfigurationProviding,
        T.EncodingConfiguration == C.EncodingConfiguration
    {
        try encode(value, configuration: C.encodingConfiguration)
    }

    @inline(__always)
    private func encode<T>(_ value: T, _ body: (EncodedPart) throws -> Void) throws -> Data {
        let part = EncodedPart(EncodingSession(self))
        // Writes to an encoder that was kept have no effect any more.
        defer { part.output.pointee.current = nil }
        do {
            try body(part)
        } catch is EncodingSession.TooDeep {
            throw Self.tooDeep(value)
        }
        guard part.state.pointee.kind != .none else {
            throw EncodingError.invalidValue(
                value,
                .init(codingPath: [], debugDescription: "Top-level \(T.self) did not encode any values.")
            )
        }
        part.finish()
        guard !part.output.pointee.isTooDeep else { throw Self.tooDeep(value) }
        return Data(buffer: part.output.pointee.written)
    }

    private static func tooDeep<T>(_ value: T) -> any Error {
        EncodingError.invalidValue(
            value,
            .init(codingPath: [], debugDescription: "Unable to encode the given top-level value to JSON.")
        )
    }
}
