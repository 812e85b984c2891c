#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The keys of a model, whose values are decoded by the rules below.
///
/// A model declares its properties with their values for a missing key, and its keys as an enumeration that conforms to
/// this protocol. Its synthesized initialiser then calls the functions below for each type with a rule of its own:
///
/// | type | missing | null | another type |
/// | --- | --- | --- | --- |
/// | `String`, `[T]` | empty, or an error in strict decoding | the same | error |
/// | `Bool`, numbers | false, 0 | false, 0 | a number for a boolean and the reverse; error otherwise |
/// | `Date?`, `Day?` | nil | nil | error; a text that is not a date is nil |
/// | `[T]?` | nil | nil | error; null elements are dropped |
/// | ``CatalogueWord`` | `none` | the fallback | error; an unknown text is the fallback |
/// | anything else | nil | nil | error |
protocol JSONKey: CodingKey {}

/// Strict decoding alone checks why a value is missing.
extension CodingUserInfoKey {
    static let isStrict = make("lade.catalogue.strict")
    static let mappingDate = make("lade.catalogue.date")
    static let toleratesFacets = make("lade.catalogue.facets")

    private static func make(_ name: String) -> CodingUserInfoKey {
        guard let key = CodingUserInfoKey(rawValue: name) else { preconditionFailure("\(name) is no key") }
        return key
    }
}

// The container's original functions, which the rules for `JSONKey` build on.
extension KeyedDecodingContainer {
    @inline(__always)
    fileprivate func plain<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T? {
        try decodeIfPresent(type, forKey: key)
    }

    @inline(__always)
    fileprivate func plainText(_ key: Key) throws -> String? { try decodeIfPresent(String.self, forKey: key) }

    fileprivate func bool(_ key: Key) throws -> Bool? {
        do {
            return try decodeIfPresent(Bool.self, forKey: key)
        } catch {
            guard let number = try? decode(Double.self, forKey: key) else { throw error }
            return number != 0
        }
    }

    fileprivate func number(_ key: Key) throws -> Double? {
        do {
            return try decodeIfPresent(Double.self, forKey: key)
        } catch {
            guard let flag = try? decode(Bool.self, forKey: key) else { throw error }
            return flag ? 1 : 0
        }
    }

    @inline(__always)
    fileprivate func integer(_ key: Key) throws -> Int? {
        do {
            return try decodeIfPresent(Int.self, forKey: key)
        } catch {
            // The value is a fraction, a number beyond 64 bits, or a Boolean.
            return try number(key).map { Int(saturating: $0) }
        }
    }

    @inline(__always)
    fileprivate func date(_ key: Key) throws -> Date? {
        do {
            return try decodeIfPresent(Date.self, forKey: key)
        } catch {
            // Rare cases: fractional seconds, a text that is not a date, or a decoder with another date strategy.
            return try plainText(key).flatMap { Date(catalogueText: $0) }
        }
    }

    fileprivate func url(_ key: Key) throws -> URL? {
        do {
            return try decodeIfPresent(URL.self, forKey: key)
        } catch {
            // An empty text counts as a missing address, not as a malformed one.
            guard try plainText(key)?.isEmpty == true else { throw error }
            return nil
        }
    }

    @inline(__always)
    fileprivate func list<T: Decodable>(_ type: T.Type, _ key: Key) throws -> [T]? {
        do {
            return try decodeIfPresent([T].self, forKey: key)
        } catch DecodingError.valueNotFound {
            return try decodeIfPresent(Sparse<T>.self, forKey: key)?.elements
        }
    }

    /// Throws in strict decoding, where the key must have a value.
    fileprivate func requireTolerance(_ key: Key) throws {
        // This gives access to the decoder's settings; it is only called for missing values.
        guard try superDecoder().userInfo[.isStrict] != nil else { return }
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "The value is mandatory.")
        throw DecodingError.keyNotFound(key, context)
    }
}

// The models' synthesized initialisers call these functions, because they are more specific than the container's own.
extension KeyedDecodingContainer where Key: JSONKey {
    @inline(__always)
    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        if let text = try plainText(key) { return text }
        try requireTolerance(key)
        return ""
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try bool(key) ?? false }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try bool(key) }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(key) ?? 0 }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integer(key) }

    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(key).map { UInt(clamping: $0) } ?? 0 }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try number(key) ?? 0 }

    /// Decodes a duration in milliseconds.
    func decode(_ type: Duration.Type, forKey key: Key) throws -> Duration { .milliseconds(try integer(key) ?? 0) }

    @inline(__always)
    func decodeIfPresent(_ type: Date.Type, forKey key: Key) throws -> Date? { try date(key) }

    func decodeIfPresent(_ type: Day.Type, forKey key: Key) throws -> Day? { try plainText(key).flatMap { Day($0) } }

    func decodeIfPresent(_ type: URL.Type, forKey key: Key) throws -> URL? { try url(key) }

    func decodeIfPresent(_ type: Locale.Type, forKey key: Key) throws -> Locale? {
        try plainText(key).map { Locale(identifier: $0) }
    }

    func decode(_ type: AspectRatio.Type, forKey key: Key) throws -> AspectRatio {
        try plainText(key).map { AspectRatio($0) } ?? .undefined
    }

    func decode(_ type: RGBColor.Type, forKey key: Key) throws -> RGBColor {
        try plainText(key).map { RGBColor(hex: $0) } ?? .black
    }

    func decodeIfPresent(_ type: RGBColor.Type, forKey key: Key) throws -> RGBColor? {
        try plainText(key).map { RGBColor(hex: $0) }
    }

    func decode(_ type: Displayable.Type, forKey key: Key) throws -> Displayable {
        guard contains(key) else { return .absent }
        // Any other value hides the part.
        guard let flag = try? bool(key) else { return .no }
        return flag ? .yes : .no
    }

    @inline(__always)
    func decode<Word: CatalogueWord>(_ type: Word.Type, forKey key: Key) throws -> Word {
        if let word = try plain(type, key) { return word }
        return contains(key) ? .fallback : .none
    }

    func decode<T: Decodable>(_ type: [T].Type, forKey key: Key) throws -> [T] {
        if let list = try list(T.self, key) { return list }
        try requireTolerance(key)
        return []
    }

    @inline(__always)
    func decodeIfPresent<T: Decodable>(_ type: [T].Type, forKey key: Key) throws -> [T]? { try list(T.self, key) }

    func decodeIfPresent(_ type: [String: String].Type, forKey key: Key) throws -> [String: String]? {
        do {
            return try plain(type, key)
        } catch DecodingError.valueNotFound {
            return try plain([String: String?].self, key)?.compactMapValues { $0 }
        }
    }

    @inline(__always)
    func decode<T: Decodable>(_ type: Boxed<T>.Type, forKey key: Key) throws -> Boxed<T> {
        Boxed(wrappedValue: try plain(T.self, key))
    }
}

/// A list with its null elements removed.
struct Sparse<Element: Decodable>: Decodable {
    var elements: [Element] = []

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        while !list.isAtEnd {
            if let element = try list.decodeIfPresent(Element.self) { elements.append(element) }
        }
    }
}

extension Int {
    /// Makes the integer part of a number, clamped to the range; 0 for NaN.
    fileprivate init(saturating number: Double) {
        self = Int(exactly: number.rounded(.towardZero)) ?? (number > 0 ? .max : number < 0 ? .min : 0)
    }
}

extension Date {
    /// Makes a date from `yyyy-MM-dd'T'HH:mm:ss` with `Z` or an offset, with or without fractional seconds; nil
    /// otherwise.
    init?(catalogueText text: String) {
        // The errors say only that the text has another form.
        let exact = try? Date.ISO8601FormatStyle().parse(text)
        guard let date = exact ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)) else {
            return nil
        }
        self = date
    }
}
