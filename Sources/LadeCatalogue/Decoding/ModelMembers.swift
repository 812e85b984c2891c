#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeJSON

/// The members of an object in a response, from which a model reads its properties.
///
/// Each call names a JSON key and the property for its value. A property keeps its initial value when the key is
/// missing or null, except where the table says otherwise.
///
/// | property | missing | null | another type |
/// | --- | --- | --- | --- |
/// | `String`, `[Model]` | initial value, or an error in strict decoding | the same | error |
/// | `Bool`, numbers, `Duration` | initial value | the same | a number for a boolean and the reverse; error otherwise |
/// | `Date?`, ``Catalogue/Day`` | nil | nil | error; a text that is not a date is nil |
/// | `URL?` | nil | nil | error, also for a malformed address; an empty text is nil |
/// | `[Model]?`, `[String: String]?` | nil | nil | error; null elements are dropped |
/// | ``CatalogueWord`` | initial value | the fallback | error; an unknown text is the fallback |
/// | anything else | initial value | the same | error |
///
/// An error has the path to the value (``CatalogueError/malformed(path:reason:isMissing:)``).
public struct ModelMembers: ~Copyable {
    private enum Source {
        /// An object that `FastJSONDecoder` decodes.
        case members(JSONMembers)
        /// An object that another decoder decodes, or `FastJSONDecoder` with a key strategy.
        case container(Container)
    }

    /// Stored by reference, so that the source is a single word.
    private final class Container {
        let members: KeyedDecodingContainer<MemberName>
        let decoder: any Decoder

        init(_ decoder: any Decoder) throws {
            members = try decoder.container(keyedBy: MemberName.self)
            self.decoder = decoder
        }
    }

    private let source: Source

    init(_ members: JSONMembers) { source = .members(members) }

    init(_ decoder: any Decoder) throws {
        source = .container(try Container(decoder))
    }

    // MARK: - Texts and numbers

    /// Reads a mandatory text.
    public func read(_ key: String, _ property: inout String) throws {
        if let text = try text(key) { property = text } else { try requireTolerance(key) }
    }

    /// Reads a text.
    public func read(_ key: String, _ property: inout String?) throws {
        if let text = try text(key) { property = text }
    }

    /// Reads a Boolean value.
    public func read(_ key: String, _ property: inout Bool) throws {
        if let flag = try flag(key) { property = flag }
    }

    /// Reads a Boolean value that may be missing.
    public func read(_ key: String, _ property: inout Bool?) throws {
        if let flag = try flag(key) { property = flag }
    }

    /// Reads an integer; a number outside its range is the nearest integer.
    public func read(_ key: String, _ property: inout Int) throws {
        if let number = try integer(key) { property = number }
    }

    /// Reads an integer that may be missing.
    public func read(_ key: String, _ property: inout Int?) throws {
        if let number = try integer(key) { property = number }
    }

    /// Reads an integer from 0; a negative number is 0.
    public func read(_ key: String, _ property: inout UInt) throws {
        if let number = try integer(key) { property = UInt(clamping: number) }
    }

    /// Reads a number.
    public func read(_ key: String, _ property: inout Double) throws {
        if let number = try number(key) { property = number }
    }

    // MARK: - Values made of texts and numbers

    /// Reads a duration in milliseconds.
    public func read(_ key: String, _ property: inout Duration) throws {
        if let number = try integer(key) { property = .milliseconds(number) }
    }

    /// Reads a date in the form of ISO 8601.
    public func read(_ key: String, _ property: inout Date?) throws {
        do {
            if let date = try value(Date.self, key, { try $0.read(Date.self) }) { property = date }
        } catch {
            // Rare cases: fractional seconds, a text that is not a date, or a decoder with another date strategy.
            property = try text(key).flatMap { Date(catalogueText: $0) }
        }
    }

    /// Reads a day.
    public func read(_ key: String, _ property: inout Catalogue.Day?) throws {
        if let text = try text(key) { property = Catalogue.Day(text) }
    }

    /// Reads an address.
    public func read(_ key: String, _ property: inout URL?) throws {
        do {
            if let url = try value(URL.self, key, { try $0.read(URL.self) }) { property = url }
        } catch {
            // An empty text counts as a missing address, not as a malformed one.
            guard try text(key)?.isEmpty == true else { throw error }
        }
    }

    /// Reads a locale.
    public func read(_ key: String, _ property: inout Locale?) throws {
        if let text = try text(key) { property = Locale(identifier: text) }
    }

    /// Reads an aspect ratio.
    public func read(_ key: String, _ property: inout Catalogue.AspectRatio) throws {
        if let text = try text(key) { property = Catalogue.AspectRatio(text) }
    }

    /// Reads a colour.
    public func read(_ key: String, _ property: inout Catalogue.RGBColor) throws {
        if let text = try text(key) { property = Catalogue.RGBColor(hex: text) }
    }

    /// Reads a colour that may be missing.
    public func read(_ key: String, _ property: inout Catalogue.RGBColor?) throws {
        if let text = try text(key) { property = Catalogue.RGBColor(hex: text) }
    }

    /// Reads a word.
    public func read<Word: CatalogueWord>(_ key: String, _ property: inout Word) throws {
        switch source {
        case .members(let members):
            guard var reader = members.reader(key) else { return }
            property = reader.isNull ? .fallback : try reader.read(Word.self)
        case .container(let container):
            let name = MemberName(key)
            guard container.members.contains(name) else { return }
            property = try container.members.decodeIfPresent(Word.self, forKey: name) ?? .fallback
        }
    }

    /// Reads texts by name.
    public func read(_ key: String, _ property: inout [String: String]?) throws {
        do {
            if let texts = try value([String: String].self, key, { try $0.read([String: String].self) }) {
                property = texts
            }
        } catch DecodingError.valueNotFound {
            property = try value([String: String?].self, key) { try $0.read([String: String?].self) }?
                .compactMapValues { $0 }
        }
    }

    func read(_ key: String, _ property: inout Displayable) throws {
        guard contains(key) else { return }
        // Any other value hides the part.
        let flag = try? flag(key)
        property = flag == true ? .yes : .no
    }

    // MARK: - Models

    /// Reads a model.
    public func read<Model: CatalogueModel>(_ key: String, _ property: inout Model?) throws {
        if let model = try value(Model.self, key, { try $0.read(Model.self) }) { property = model }
    }

    /// Reads a model that is stored by reference.
    public func read<Model: CatalogueModel>(_ key: String, _ property: inout Catalogue.Boxed<Model>) throws {
        if let model = try value(Model.self, key, { try $0.read(Model.self) }) {
            property = Catalogue.Boxed(wrappedValue: model)
        }
    }

    /// Reads a mandatory list of models.
    public func read<Model: CatalogueModel>(_ key: String, _ property: inout [Model]) throws {
        if let models = try models(key, of: Model.self) { property = models } else { try requireTolerance(key) }
    }

    /// Reads a list of models.
    public func read<Model: CatalogueModel>(_ key: String, _ property: inout [Model]?) throws {
        if let models = try models(key, of: Model.self) { property = models }
    }

    /// The list for a key with its null elements removed; nil when it is missing or null.
    func list<Element: Decodable>(_ key: String, of type: Element.Type) throws -> [Element]? {
        try value(Sparse<Element>.self, key) { try $0.read(Sparse<Element>.self) }?.elements
    }

    // MARK: - Settings

    /// The date for deciding which segments are blocked.
    ///
    /// Any decoder can decode the models; the catalogue's own has the date among its settings.
    var mappingDate: Date { userInfo[.mappingDate] as? Date ?? Date() }

    /// Throws in strict decoding, where the key must have a value.
    private func requireTolerance(_ key: String) throws {
        guard userInfo[.isStrict] != nil else { return }
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "The value is mandatory.")
        throw DecodingError.keyNotFound(MemberName(key), context)
    }

    private var userInfo: [CodingUserInfoKey: Any] {
        switch source {
        case .members(let members): members.userInfo
        case .container(let container): container.decoder.userInfo
        }
    }

    private var codingPath: [any CodingKey] {
        switch source {
        case .members(let members): members.path
        case .container(let container): container.members.codingPath
        }
    }

    // MARK: - Values of both sources

    private func contains(_ key: String) -> Bool {
        switch source {
        case .members(let members): members.contains(key)
        case .container(let container): container.members.contains(MemberName(key))
        }
    }

    /// The value for a key; nil when it is missing or null.
    @inline(__always)
    private func value<Value: Decodable>(
        _ type: Value.Type,
        _ key: String,
        _ read: (inout FastJSONDecoder.Reader) throws -> Value
    ) throws -> Value? {
        switch source {
        case .members(let members):
            guard var reader = members.reader(key), !reader.isNull else { return nil }
            return try read(&reader)
        case .container(let container):
            return try container.members.decodeIfPresent(type, forKey: MemberName(key))
        }
    }

    private func text(_ key: String) throws -> String? {
        try value(String.self, key) { try $0.read(String.self) }
    }

    private func flag(_ key: String) throws -> Bool? {
        do {
            return try value(Bool.self, key) { try $0.read(Bool.self) }
        } catch {
            guard let number = try? value(Double.self, key, { try $0.read(Double.self) }) else { throw error }
            return number != 0
        }
    }

    private func number(_ key: String) throws -> Double? {
        do {
            return try value(Double.self, key) { try $0.read(Double.self) }
        } catch {
            guard let flag = try? value(Bool.self, key, { try $0.read(Bool.self) }) else { throw error }
            return flag ? 1 : 0
        }
    }

    private func integer(_ key: String) throws -> Int? {
        do {
            return try value(Int.self, key) { try $0.read(Int.self) }
        } catch {
            // The value is a fraction, a number beyond 64 bits, or a Boolean.
            return try number(key).map { Int(saturating: $0) }
        }
    }

    private func models<Model: CatalogueModel>(_ key: String, of type: Model.Type) throws -> [Model]? {
        try value(Sparse<Model>.self, key) { reader in
            var models: [Model] = []
            models.reserveCapacity(reader.reservedCount)
            try reader.readElements { if !$0.isNull { models.append(try $0.read(Model.self)) } }
            return Sparse(models)
        }?
        .elements
    }
}

extension CodingUserInfoKey {
    static let isStrict = make("lade.catalogue.strict")
    static let mappingDate = make("lade.catalogue.date")
    static let toleratesFacets = make("lade.catalogue.facets")

    private static func make(_ name: String) -> CodingUserInfoKey {
        guard let key = CodingUserInfoKey(rawValue: name) else { preconditionFailure("\(name) is no key") }
        return key
    }
}

/// A list with its null elements removed.
struct Sparse<Element: Decodable>: Decodable {
    var elements: [Element] = []

    init(_ elements: [Element]) { self.elements = elements }

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        // The server states the count; memory for more elements is reserved as they are decoded.
        elements.reserveCapacity(min(list.count ?? 0, 1 << 16))
        while !list.isAtEnd {
            if let element = try list.decodeIfPresent(Element.self) { elements.append(element) }
        }
    }
}

/// The key of a member.
struct MemberName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
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
