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
    /// Whether mandatory texts and lists may be missing.
    public enum Strictness: Sendable, Hashable {
        /// Missing texts and lists are empty.
        case tolerant
        /// Each missing text or list is an error: all those that a model declares without `?`.
        case strict
    }

    /// The handling of malformed aggregations and suggestions.
    public enum MalformedFacets: Sendable, Hashable {
        /// Decoding fails for the whole response.
        case fail
        /// They are treated as absent.
        case ignore
    }

    /// Whether mandatory values may be missing; tolerant by default.
    ///
    /// The service omits what it does not have: a list after its last page, the URN of a third-party program, the title
    /// of a part of a page. The data provider therefore maps an empty object to an empty model, and applications rely
    /// on that. In strict decoding the first missing value is a ``MappingFault`` whose path names it, such as
    /// `/mediaList/0/urn`; use it in tests of a service, and for a service of your own.
    public var strictness = Strictness.tolerant
    /// The handling of malformed aggregations and suggestions; decoding fails by default.
    public var malformedFacets = MalformedFacets.fail
    /// The clock for deciding which segments are blocked when they are flattened.
    public var time: any TimeSource = SystemTime()

    /// Makes a decoder with the default settings.
    public init() {}

    /// Decodes a value.
    ///
    /// - Throws: ``MappingFault`` for a value that does not match the model; `DecodingError` for a body that is not
    ///   JSON.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        var decoder = FastJSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        decoder.userInfo[.mappingDate] = time.date
        if strictness == .strict { decoder.userInfo[.isStrict] = true }
        if malformedFacets == .ignore { decoder.userInfo[.toleratesFacets] = true }
        do {
            return try decoder.decode(type, from: data)
        } catch let error as DecodingError {
            throw MappingFault(error) ?? error
        }
    }
}

/// A part of a response that does not match its model.
public struct MappingFault: Error, Sendable {
    /// The path to the value (RFC 6901), such as `/mediaList/0/title`; empty for the whole response.
    public let path: Lade.JSONPointer
    /// What is wrong with the value.
    public let reason: String
    /// Whether the value is missing.
    public let isMissing: Bool

    init?(_ error: DecodingError) {
        let context: DecodingError.Context
        var missing: (any CodingKey)?
        switch error {
        case .keyNotFound(let key, let found):
            context = found
            missing = key
        case .typeMismatch(_, let found), .valueNotFound(_, let found): context = found
        case .dataCorrupted(let found):
            // The fault of a document that is not JSON already has its position in the text.
            guard found.underlyingError == nil else { return nil }
            context = found
        @unknown default: return nil
        }
        let keys = context.codingPath + (missing.map { [$0] } ?? [])
        path = Lade.JSONPointer(tokens: keys.map { $0.intValue.map(String.init) ?? $0.stringValue })
        reason = context.debugDescription
        isMissing = missing != nil
    }
}

extension MappingFault: CustomStringConvertible {
    /// The fault and its path as one clause.
    public var description: String {
        "\(path.description.isEmpty ? "the answer" : path.description): \(reason)"
    }
}

extension MappingFault: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var errorDescription: String? { description.asSentence }
}
