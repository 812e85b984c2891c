#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeJSON
public import Lade

/// Decodes the responses of the catalogue.
///
/// Any decoder can decode the models. This one is the fastest for them, and its errors include the path to the value.
public struct CatalogueDecoder: BodyDecoder {
    /// Whether a missing text or list is an error: each that a model declares without `?`; false by default.
    ///
    /// The service omits missing values, such as a list after its last page, or the URN of a third-party program. The
    /// data provider therefore maps an empty object to an empty model, and applications rely on that.
    ///
    /// In strict decoding the first missing value is a ``CatalogueError/malformed(path:reason:isMissing:)``, whose path
    /// names it, such as `/mediaList/0/urn`. Use it in tests of a service, and for a service of your own.
    public var isStrict = false
    /// Whether malformed aggregations and suggestions count as absent; false by default, when decoding fails.
    public var ignoresMalformedFacets = false
    /// The clock for deciding which segments are blocked when they are flattened.
    public var time: any TimeSource = SystemTime()

    /// Makes a decoder with the default settings.
    public init() {}

    /// Decodes a value.
    ///
    /// - Throws: ``CatalogueError/malformed(path:reason:isMissing:)`` for a value that does not match the model;
    ///   `DecodingError` for a body that is not JSON.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        var decoder = FastJSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        decoder.userInfo[.mappingDate] = time.date
        if isStrict { decoder.userInfo[.isStrict] = true }
        if ignoresMalformedFacets { decoder.userInfo[.toleratesFacets] = true }
        do {
            return try decoder.decode(type, from: data)
        } catch let error as DecodingError {
            throw CatalogueError(error).map { $0 as any Error } ?? error
        }
    }
}

extension CatalogueError {
    /// The error for a value that does not match its model; nil for a body that is not JSON.
    init?(_ error: DecodingError) {
        let context: DecodingError.Context
        var missing: (any CodingKey)?
        switch error {
        case .keyNotFound(let key, let found):
            context = found
            missing = key
        case .typeMismatch(_, let found), .valueNotFound(_, let found): context = found
        case .dataCorrupted(let found):
            // The error of a document that is not JSON already has its position in the text.
            guard found.underlyingError == nil else { return nil }
            context = found
        @unknown default: return nil
        }
        let keys = context.codingPath + (missing.map { [$0] } ?? [])
        self = .malformed(
            path: Lade.JSONPointer(tokens: keys.map { $0.intValue.map(String.init) ?? $0.stringValue }),
            reason: context.debugDescription,
            isMissing: missing != nil
        )
    }
}
