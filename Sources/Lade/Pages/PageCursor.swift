import LadeCore
import LadeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A cursor, and where a request has it.
package struct PageCursor: Hashable, Sendable {
    let target: Pages.Rule.CursorTarget
    /// The cursor as JSON: a string, a number, or whatever the response had.
    let json: String

    /// Writes the cursor into a request.
    func write(into request: inout Request) throws(PageError.Cause) {
        switch target {
        case .query(let name): request.url = request.url.settingQuery(name, text)
        // A text that is no value of a field makes the request invalid.
        case .header(let name): request.headers.set(name, text)
        case .body(let pointer):
            guard case .bytes(let bytes) = request.body?.content, var body = JSONBody(Array(bytes)),
                body.set(Array(json.utf8), at: pointer)
            else {
                let reason = "a cursor is written to \(pointer) in the body of the request, which has no such place"
                throw .loading(
                    LoadingError(.invalidSetting(name: "rules", reason: reason), LoadingError.Context(request))
                )
            }
            request.body = .bytes(Data(body.bytes), contentType: request.body?.contentType)
        }
    }

    /// The text of a string, or the digits of a number.
    private var text: String { JSONValue(tolerant: Data(json.utf8))?.string ?? json }
}

extension PageCursor: Codable {
    private enum CodingKeys: String, CodingKey {
        case query, header, body, json
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        json = try container.decode(String.self, forKey: .json)
        if let name = try container.decodeIfPresent(String.self, forKey: .query) {
            target = .query(name)
        } else if let name = try container.decodeIfPresent(String.self, forKey: .header) {
            target = .header(name)
        } else {
            target = .body(try JSONPointer(try container.decode(String.self, forKey: .body)))
        }
        guard JSONValue.isValid(json) else {
            throw DecodingError.dataCorruptedError(forKey: .json, in: container, debugDescription: "no cursor")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(json, forKey: .json)
        switch target {
        case .query(let name): try container.encode(name, forKey: .query)
        case .header(let name): try container.encode(name, forKey: .header)
        case .body(let pointer): try container.encode(pointer.description, forKey: .body)
        }
    }
}

extension Pages.Rule.CursorTarget {
    /// Whether a cursor may be an array or object.
    var keepsTypes: Bool {
        if case .body = self { true } else { false }
    }
}
