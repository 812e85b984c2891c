import Foundation
import LadeCatalogue

/// Decodes a text by the catalogue's decoder.
func decoded<Value: Decodable>(
    _ type: Value.Type,
    _ json: String,
    _ change: (inout CatalogueDecoder) -> Void = { _ in }
) throws -> Value {
    var decoder = CatalogueDecoder()
    change(&decoder)
    return try decoder.decode(type, from: Data(json.utf8))
}

/// A date from its text.
func date(_ text: String) throws -> Date {
    try Date.ISO8601FormatStyle().parse(text)
}

/// Where decoding fails; nil when it does not.
func faultPath<Value: Decodable>(_ type: Value.Type, _ json: String, strict: Bool = false) throws -> String? {
    do {
        _ = try decoded(type, json) { if strict { $0.isStrict = true } }
        return nil
    } catch CatalogueError.malformed(let path, _, _) {
        return path.description
    }
}
