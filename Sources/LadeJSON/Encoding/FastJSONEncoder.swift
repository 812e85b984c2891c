#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Encodes instances of `Encodable` types as JSON, several times as fast as Foundation's `JSONEncoder`.
///
/// It has the same options, writes the same bytes and throws the same errors with the same coding paths. Without
/// `.sortedKeys` members are in the order in which they were encoded, where Foundation's order changes from run to run.
/// The few other differences are listed in <doc:DifferencesFromFoundation>.
///
/// ```swift
/// var encoder = FastJSONEncoder()
/// encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
/// let body = try encoder.encode(page)
/// ```
///
/// It is a value without shared state: one encoder can be used by any number of tasks together. Encoding takes the calling
/// thread as long as it needs, and does not look at cancellation.
public struct FastJSONEncoder: Sendable {
    /// How the text is laid out; on one line, with escaped slashes, by default.
    public var outputFormatting: JSONEncoder.OutputFormatting = []
    /// How dates are encoded; Foundation's own choices, `.deferredToDate` by default.
    public var dateEncodingStrategy = JSONEncoder.DateEncodingStrategy.deferredToDate
    /// How `Data` is encoded; as Base64 by default.
    public var dataEncodingStrategy = JSONEncoder.DataEncodingStrategy.base64
    /// How infinity and NaN are encoded; they are refused by default.
    public var nonConformingFloatEncodingStrategy = JSONEncoder.NonConformingFloatEncodingStrategy.throw
    /// How the names of coding keys become those of the document; unchanged by default.
    public var keyEncodingStrategy = JSONEncoder.KeyEncodingStrategy.useDefaultKeys
    /// What the encoded types find in their encoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Makes an encoder with the default options.
    public init() {}

    /// Encodes a value.
    ///
    /// - Parameter value: The value.
    /// - Returns: The document in UTF-8.
    /// - Throws: `EncodingError` for a number that JSON does not have, a value that encodes nothing, and more than 511 arrays and
    ///   objects within one another; or what a type throws.
    public func encode<T: Encodable>(_ value: T) throws -> Data {
        try encode(value) { try $0.write(single: value, isDocument: true) }
    }

    /// Encodes a value of a type that needs a configuration.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - configuration: What the type's method is given.
    /// - Returns: The document in UTF-8.
    /// - Throws: As ``encode(_:)``.
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
    ///   - configuration: The type that provides what the type's method is given.
    /// - Returns: The document in UTF-8.
    /// - Throws: As ``encode(_:)``.
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
        // What is written to an encoder that was kept comes too late.
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
