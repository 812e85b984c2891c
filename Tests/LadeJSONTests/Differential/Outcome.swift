#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What came out of decoding, as text: the value, or the kind, type, path and explanation of the error.
enum Outcome {
    static func of<T>(_ body: () throws -> T) -> String {
        do {
            return "value " + describe(try body())
        } catch let error as DecodingError {
            return describe(error)
        } catch {
            // Foundation's own error, which only the outermost call turns into one that is public.
            return String(describing: type(of: error)) == "JSONError" ? invalid : "other \(error)"
        }
    }

    static let invalid = #"dataCorrupted [] "The given data was not valid JSON.""#

    private static func describe(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context): "typeMismatch \(type) \(describe(context))"
        case .valueNotFound(let type, let context): "valueNotFound \(type) \(describe(context))"
        case .keyNotFound(let key, let context): "keyNotFound \(describe(key)) \(describe(context))"
        case .dataCorrupted(let context): "dataCorrupted \(describe(context))"
        @unknown default: "unknown"
        }
    }

    private static func describe(_ context: DecodingError.Context) -> String {
        "[\(path(context.codingPath))] \"\(context.debugDescription)\""
    }

    static func path(_ keys: [any CodingKey]) -> String {
        keys.map(describe).joined(separator: ", ")
    }

    /// A key with its type; private types of the decoders have one common name.
    private static func describe(_ key: any CodingKey) -> String {
        let name = String(describing: type(of: key))
        let type = ["_CodingKey", "ElementKey", "MemberKey", "_DictionaryCodingKey"].contains(name) ? "key" : name
        return "\(type) \(key.stringValue) \(key.intValue.map { String($0) } ?? "-")"
    }

    /// A value with everything in it; dictionaries in the order of their keys.
    static func describe(_ value: Any) -> String {
        switch value {
        case let text as String:
            return "\"" + text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ") + "\""
        case let date as Date: return "date \(date.timeIntervalSinceReferenceDate.bitPattern)"
        case let number as Double: return number.isNaN ? "nan" : "\(number)"
        case let number as Float: return number.isNaN ? "nan" : "\(number)"
        case let data as Data: return "data \(Array(data))"
        case let url as URL: return "url \(url.absoluteString)"
        case let decimal as Decimal: return "decimal \(decimal)"
        case is any BinaryInteger, is Bool: return "\(value)"
        default: break
        }
        let mirror = Mirror(reflecting: value)
        let children = mirror.children.map { ($0.label.map { $0 + ":" } ?? "") + describe($0.value) }
        if mirror.displayStyle == .dictionary || mirror.displayStyle == .set {
            return "[" + children.sorted().joined(separator: " ") + "]"
        }
        return "\(type(of: value))(" + (children.isEmpty ? "\(value)" : children.joined(separator: " ")) + ")"
    }
}
