#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeJSON
public import Lade

/// Decodes the answers of the catalogue.
///
/// Models are `Decodable` by any decoder; this one is the fastest for them, and its errors name the place.
public struct CatalogueDecoder: BodyDecoder {
    /// Whether texts and lists that regular answers always have may be missing.
    public enum Strictness: Sendable, Hashable {
        /// They are empty then.
        case tolerant
        /// Each of them missing is an error: every text and list that a model declares without `?`.
        case strict
    }

    /// What happens to aggregations and suggestions that cannot be decoded.
    public enum MalformedFacets: Sendable, Hashable {
        /// The whole answer fails.
        case fail
        /// They count as absent.
        case ignore
    }

    /// Whether mandatory values may be missing; tolerant by default.
    public var strictness = Strictness.tolerant
    /// What happens to malformed aggregations and suggestions; the answer fails by default.
    public var malformedFacets = MalformedFacets.fail
    /// Where the date comes from at which segments count as blocked while they are flattened.
    public var time: any TimeSource = SystemTime()

    /// Makes a decoder with the default settings.
    public init() {}

    /// Decodes a value.
    ///
    /// - Throws: ``MappingFault`` naming the place of what does not fit; `DecodingError` for what is no JSON.
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

/// A part of an answer that does not fit its model.
public struct MappingFault: Error, Sendable {
    /// Where it is (RFC 6901), as `/mediaList/0/title`; empty for the whole answer.
    public let path: Lade.JSONPointer
    /// What is wrong there.
    public let reason: String
    /// Whether there is nothing at the place.
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
            // A document that is no JSON has a fault of its own, with its place in the text.
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
    /// One plain clause with the place.
    public var description: String {
        "\(path.description.isEmpty ? "the answer" : path.description): \(reason)"
    }
}
