#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeFields

/// Decodes values from bodies: `FastJSONDecoder`, `JSONDecoder`, `PropertyListDecoder`, or a custom type.
public protocol BodyDecoder: Sendable {
    /// The `Accept` field that an ``API`` sends for responses decoded with it; nil, the default, sends none.
    var acceptedMediaTypes: String? { get }
    /// Decodes a value.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension BodyDecoder {
    /// Nil: no `Accept` is sent.
    public var acceptedMediaTypes: String? { nil }
}

extension FastJSONDecoder: BodyDecoder {
    /// JSON, and problems in JSON (RFC 9457).
    public var acceptedMediaTypes: String? { "application/json, application/problem+json" }
}

extension JSONDecoder: BodyDecoder {
    /// JSON, and problems in JSON (RFC 9457).
    public var acceptedMediaTypes: String? { "application/json, application/problem+json" }
}

extension PropertyListDecoder: BodyDecoder {}

/// Encodes values as bodies: `FastJSONEncoder`, `JSONEncoder`, `PropertyListEncoder`, or a custom type.
public protocol BodyEncoder: Sendable {
    /// The `Content-Type` of the bodies.
    var contentType: String { get }
    /// Encodes a value.
    func encode<Value: Encodable>(_ value: Value) throws -> Data
}

extension FastJSONEncoder: BodyEncoder {
    /// `application/json`.
    public var contentType: String { "application/json" }
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
package struct DecodingProcessor<Output: Decodable & Sendable>: Service.Processor {
    private let decoder: any BodyDecoder

    /// Makes a processor for a type.
    package init(_ type: Output.Type, decoder: any BodyDecoder = FastJSONDecoder()) {
        self.decoder = decoder
    }

    /// Decodes the value.
    ///
    /// - Throws: ``ProcessingError/emptyBody`` without bytes, otherwise the error of the decoder.
    package func process(_ input: Data, of response: Response) throws -> Output {
        guard !input.isEmpty else { throw ProcessingError.emptyBody }
        return try decoder.decode(Output.self, from: input)
    }
}

extension Service {
    /// Parses JSON, fragments included.
    ///
    /// The value of an empty body is nil, not an error.
    public struct JSONProcessor: Service.Processor {
        /// Makes the processor.
        public init() {}

        /// Parses the bytes; nil when there are none.
        ///
        /// - Throws: `JSONError` with the position at which the text is not JSON.
        public func process(_ input: Data, of response: Response) throws -> JSONValue? {
            input.isEmpty ? nil : try JSONValue(parsing: input)
        }
    }
}

/// Decodes the body as text, in the character set that `Content-Type` names; UTF-8 by default.
///
/// The names are the labels of the WHATWG Encoding Standard, in any case, and UTF-32:
///
/// - UTF-8, UTF-16, the ISO 8859 and Windows families, KOI8, IBM866, Macintosh;
/// - Shift_JIS, EUC-JP, ISO-2022-JP, GBK, GB18030, Big5 and EUC-KR.
///
/// As in browsers, `us-ascii` and `iso-8859-1` mean windows-1252, and a byte order mark of UTF-8 or UTF-16 has
/// precedence over the name. The platform decodes all but Unicode and windows-1252 (`iconv` on Linux). Its tables may
/// be missing in a minimal system.
package struct TextProcessor: Service.Processor {
    /// Makes the processor.
    package init() {}

    /// Decodes the text.
    ///
    /// Invalid UTF-8 is read as windows-1252 when no character set was named.
    ///
    /// - Throws: ``ProcessingError/notText(characterSet:)`` for bytes that are invalid in the character set,
    ///   ``ProcessingError/unknownCharacterSet(_:)`` for one that is not known, or not on this system.
    package func process(_ input: Data, of response: Response) throws -> String {
        guard let label = response.headers.value(.contentType).flatMap(Self.label) else {
            let text = Charset.utf8.text(of: input) ?? Charset.windows1252.text(of: input)
            return text ?? String(decoding: input, as: UTF8.self)
        }
        guard let charset = Charset(label: label) else { throw ProcessingError.unknownCharacterSet(label) }
        guard let text = charset.text(of: input) else { throw ProcessingError.notText(characterSet: label) }
        return text
    }

    private static func label(in contentType: String) -> String? {
        // A malformed content type names no character set.
        (try? MediaType(contentType))?.charset
    }
}

extension Service {
    /// Decodes an image by a closure.
    ///
    /// The value of an undecodable body is nil, not an error.
    public struct ImageProcessor<Image: Sendable>: Service.Processor {
        private let decode: @Sendable (Data) throws -> Image?

        /// Makes a processor from a decoding closure.
        public init(_ decode: @escaping @Sendable (Data) throws -> Image?) {
            self.decode = decode
        }

        /// Decodes the image; nil when the decoder returns nil or throws.
        public func process(_ input: Data, of response: Response) throws -> Image? {
            // Bytes that are not an image are reported as nil; ``Endpoint/requiredImage(_:)`` throws instead.
            (try? decode(input)) ?? nil
        }
    }
}

/// Parses JSON; an empty body is an error.
package struct RequiredJSONProcessor: Service.Processor {
    /// Makes the processor.
    package init() {}

    /// Parses the bytes as JSON.
    ///
    /// - Throws: ``ProcessingError/emptyBody`` when the body is empty; `JSONError` with the position at which the JSON
    ///   is invalid.
    package func process(_ input: Data, of response: Response) throws -> JSONValue {
        guard !input.isEmpty else { throw ProcessingError.emptyBody }
        return try JSONValue(parsing: input)
    }
}
