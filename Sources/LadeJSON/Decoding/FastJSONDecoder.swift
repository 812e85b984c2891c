#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Decodes instances of `Decodable` types from JSON, several times as fast as Foundation's `JSONDecoder`.
///
/// It has the same options, produces the same values, and throws the same errors with the same coding paths. The
/// deliberate differences are listed in <doc:DifferencesFromFoundation>.
///
/// ```swift
/// var decoder = FastJSONDecoder()
/// decoder.dateDecodingStrategy = .iso8601
/// let page = try decoder.decode(Page.self, from: body)
/// ```
///
/// The decoder is a value without shared state, so any number of tasks can use the same one. Decoding runs on the
/// calling thread and does not check for cancellation. Where a deeply nested value may not fit, it runs on a thread
/// with a larger stack, while the calling thread waits.
public struct FastJSONDecoder: Sendable {
    /// The strategy for dates, with Foundation's choices; `.deferredToDate` by default.
    public var dateDecodingStrategy = JSONDecoder.DateDecodingStrategy.deferredToDate
    /// The strategy for `Data`; Base64 by default.
    public var dataDecodingStrategy = JSONDecoder.DataDecodingStrategy.base64
    /// The strategy for infinity and NaN; they are rejected by default.
    public var nonConformingFloatDecodingStrategy = JSONDecoder.NonConformingFloatDecodingStrategy.throw
    /// The strategy for converting the document's names to coding keys; unchanged by default.
    public var keyDecodingStrategy = JSONDecoder.KeyDecodingStrategy.useDefaultKeys
    /// Values that the decoded types can read from their decoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    /// Whether JSON5 is accepted; false by default.
    ///
    /// If set, Foundation's decoder decodes the document with the same options, at its own speed.
    public var allowsJSON5 = false
    /// Whether the braces around the whole document may be missing; false by default.
    ///
    /// If set, Foundation's decoder decodes the document with the same options, at its own speed.
    public var assumesTopLevelDictionary = false

    /// Makes a decoder with the default options.
    public init() {}

    /// Decodes a value of a type.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - data: The document, in UTF-8, UTF-16 or UTF-32 with or without a byte order mark.
    /// - Returns: The value.
    /// - Throws: `DecodingError` when the data is not JSON, with a ``JSONError`` as its underlying error, or when it
    ///   does not fit the type. An error of a decoded type's initialiser is thrown, too.
    public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
        if allowsJSON5 || assumesTopLevelDictionary { return try foundation.decode(type, from: data) }
        return try decode(data) { scope in try scope.value(type) }
    }

    /// Decodes a value of a type that needs a configuration.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - data: The document.
    ///   - configuration: The configuration for the type's initialiser.
    /// - Returns: The value.
    /// - Throws: The same errors as ``decode(_:from:)``.
    public func decode<T: DecodableWithConfiguration>(
        _ type: T.Type,
        from data: Data,
        configuration: T.DecodingConfiguration
    ) throws -> T {
        if allowsJSON5 || assumesTopLevelDictionary {
            return try foundation.decode(type, from: data, configuration: configuration)
        }
        return try decode(data) { scope in try T(from: scope, configuration: configuration) }
    }

    /// Decodes a value of a type whose configuration another type provides.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - data: The document.
    ///   - configuration: The type that provides the configuration.
    /// - Returns: The value.
    /// - Throws: The same errors as ``decode(_:from:)``.
    public func decode<T, C>(_ type: T.Type, from data: Data, configuration: C.Type) throws -> T
    where
        T: DecodableWithConfiguration, C: DecodingConfigurationProviding,
        T.DecodingConfiguration == C.DecodingConfiguration
    {
        try decode(type, from: data, configuration: C.decodingConfiguration)
    }

    /// Foundation's decoder with the same options.
    var foundation: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = dateDecodingStrategy
        decoder.dataDecodingStrategy = dataDecodingStrategy
        decoder.nonConformingFloatDecodingStrategy = nonConformingFloatDecodingStrategy
        decoder.keyDecodingStrategy = keyDecodingStrategy
        decoder.userInfo = userInfo
        decoder.allowsJSON5 = allowsJSON5
        decoder.assumesTopLevelDictionary = assumesTopLevelDictionary
        return decoder
    }

    @inline(__always)
    private func decode<T>(_ data: Data, _ body: (Scope) throws -> T) throws -> T {
        var document = Document.taken()
        defer { Document.put(back: &document) }
        do {
            return try data.withUnsafeBytes { buffer in
                // Decoders that were kept outlive the bytes.
                defer { if !isKnownUniquelyReferenced(&document) { document.own() } }
                let bytes = buffer.bindMemory(to: UInt8.self)
                if let encoding = TextEncoding.detected(bytes) {
                    return try document.decodeTranscoded(data, encoding, self, body)
                }
                let mark = TextEncoding.hasUTF8Mark(bytes) ? 3 : 0
                return try document.decode(UnsafeBufferPointer(rebasing: bytes[mark...]), self, markLength: mark, body)
            }
        } catch let fault as JSONError {
            throw DecodingError.dataCorrupted(.invalidDocument(fault))
        }
    }
}

extension DecodingError.Context {
    /// The context of Foundation's errors for a document that is not valid JSON.
    static func invalidDocument(_ fault: JSONError) -> Self {
        Self(codingPath: [], debugDescription: "The given data was not valid JSON.", underlyingError: fault)
    }
}
