#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What makes values of a body: `JSONDecoder`, `PropertyListDecoder`, or your own.
public protocol BodyDecoder: Sendable {
    /// What an ``API`` sends as `Accept` for answers that it decodes; nil, the default, sends none.
    var acceptedMediaTypes: String? { get }
    /// Decodes a value.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension BodyDecoder {
    /// Nil: no `Accept` is sent.
    public var acceptedMediaTypes: String? { nil }
}

extension JSONDecoder: BodyDecoder {
    /// JSON, and problems in JSON (RFC 9457).
    public var acceptedMediaTypes: String? { "application/json, application/problem+json" }
}

extension PropertyListDecoder: BodyDecoder {}

/// What makes a body of a value: `JSONEncoder`, `PropertyListEncoder`, or your own.
public protocol BodyEncoder: Sendable {
    /// The `Content-Type` of the bodies.
    var contentType: String { get }
    /// Encodes a value.
    func encode<Value: Encodable>(_ value: Value) throws -> Data
}

extension JSONEncoder: BodyEncoder {
    /// `application/json`.
    public var contentType: String { "application/json" }
}

extension PropertyListEncoder: BodyEncoder {
    /// `application/x-plist`.
    public var contentType: String { "application/x-plist" }
}

/// Decodes a `Decodable` value; an empty body is an error.
public struct DecodingProcessor<Output: Decodable & Sendable>: ResponseProcessor {
    private let decoder: any BodyDecoder

    /// Makes a processor for a type.
    public init(_ type: Output.Type, decoder: any BodyDecoder = JSONDecoder()) {
        self.decoder = decoder
    }

    /// Decodes the value.
    ///
    /// - Throws: ``ProcessingFault/emptyBody`` without bytes, otherwise what the decoder throws.
    public func process(_ input: Data, of response: Response) throws -> Output {
        guard !input.isEmpty else { throw ProcessingFault.emptyBody }
        return try decoder.decode(Output.self, from: input)
    }
}

/// Parses JSON, fragments included; an empty body is no value, not an error.
public struct JSONProcessor: ResponseProcessor {
    /// Makes the processor.
    public init() {}

    /// Parses the bytes; nil when there are none.
    ///
    /// - Throws: ``JSONFault`` saying where the text is no JSON.
    public func process(_ input: Data, of response: Response) throws -> JSONValue? {
        input.isEmpty ? nil : try JSONValue(parsing: input)
    }
}

/// Makes text of the body, in the character set that `Content-Type` names; UTF-8 without one.
public struct TextProcessor: ResponseProcessor {
    /// Makes the processor.
    public init() {}

    /// Makes the text.
    ///
    /// UTF-8 with errors in it is read as ISO-8859-1 when no character set was named.
    ///
    /// - Throws: ``ProcessingFault/notText(characterSet:)`` for bytes that do not belong to the set, or an unknown one.
    public func process(_ input: Data, of response: Response) throws -> String {
        guard let name = response.headers["Content-Type"].flatMap(Self.characterSet) else {
            if let text = String(bytes: input, encoding: .utf8) { return text }
            return String(String.UnicodeScalarView(input.map { Unicode.Scalar($0) }))
        }
        guard let encoding = Self.encodings[name.lowercased()], let text = String(bytes: input, encoding: encoding)
        else { throw ProcessingFault.notText(characterSet: name) }
        return text
    }

    private static func characterSet(of contentType: String) -> String? {
        // A content type that cannot be read names no character set.
        (try? MediaType(contentType))?.charset
    }

    private static let encodings: [String: String.Encoding] = [
        "utf-8": .utf8, "utf8": .utf8, "us-ascii": .ascii, "ascii": .ascii, "iso-8859-1": .isoLatin1,
        "latin1": .isoLatin1, "utf-16": .utf16, "utf-16le": .utf16LittleEndian, "utf-16be": .utf16BigEndian,
        "utf-32": .utf32, "utf-32le": .utf32LittleEndian, "utf-32be": .utf32BigEndian,
    ]
}

/// Makes an image by a closure; what cannot be decoded is no value, not an error.
public struct ImageProcessor<Image: Sendable>: ResponseProcessor {
    private let decode: @Sendable (Data) throws -> Image?

    /// Makes a processor of a decoder.
    public init(_ decode: @escaping @Sendable (Data) throws -> Image?) {
        self.decode = decode
    }

    /// Makes the image; nil when the decoder gives none or throws.
    public func process(_ input: Data, of response: Response) throws -> Image? {
        // That the bytes are no image is told by nil, as the brief has it.
        (try? decode(input)) ?? nil
    }
}
