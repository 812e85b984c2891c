#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// A value within a JSON text, found by a pointer (RFC 6901) and kept as it was written.
struct JSONSelection: Sendable, Equatable {
    /// Why no value was selected.
    enum Fault: Error, Equatable {
        /// The text is not JSON.
        case noJSON
        /// The document has no value at the pointer.
        case nothingThere
    }

    /// A selected part of the document.
    struct Part: Equatable {
        /// The text to write, with a line end.
        var text: String
        /// Whether the text is JSON; a string that is written without quotes is not.
        var isJSON: Bool
    }

    var pointer: JSONPointer
    /// Whether a string is written without quotes and escapes.
    var isRaw: Bool

    // Larger documents need tools that read streams.
    static let limit = 256 << 20

    /// The selected value.
    func part(of bytes: Data) throws(Fault) -> Part {
        guard let text = String(validating: bytes, as: UTF8.self)?.withoutMark, JSONValue.isValid(text) else {
            throw .noJSON
        }
        var walk = Walk(rest: text.utf8[...])
        walk.skipSpace()
        for token in pointer.tokens {
            guard let place = Self.place(of: token, in: walk) else { throw .nothingThere }
            walk = place
        }
        let value = String(Substring(walk.value()))
        if isRaw, value.begins(with: "\""), let string = Self.decoded(value) {
            return Part(text: string + "\n", isJSON: false)
        }
        return Part(text: value + "\n", isJSON: true)
    }

    /// Where the value of a member or an element starts; of members with the same name, the last.
    private static func place(of token: String, in container: Walk) -> Walk? {
        var walk = container
        let isObject = walk.take("{")
        guard isObject || walk.take("[") else { return nil }
        var found: Walk?
        var index = 0
        walk.skipSpace()
        if walk.rest.first == UInt8(ascii: "}") || walk.rest.first == UInt8(ascii: "]") { return nil }
        repeat {
            walk.skipSpace()
            var isWanted = token == String(index)
            if isObject {
                isWanted = decoded(String(Substring(walk.value()))) == token
                walk.skipSpace()
                _ = walk.take(":")
                walk.skipSpace()
            }
            if isWanted { found = walk }
            _ = walk.value()
            walk.skipSpace()
            index += 1
        } while walk.take(",")
        return found
    }

    /// Reads values from a text that is known to be valid JSON.
    private struct Walk {
        var rest: Substring.UTF8View

        mutating func skipSpace() {
            while let byte = rest.first, byte <= 0x20 { rest.removeFirst() }
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        /// Moves past a value and returns it.
        mutating func value() -> Substring.UTF8View {
            let start = rest
            var depth = 0
            repeat {
                guard let byte = rest.first else { break }
                switch byte {
                case UInt8(ascii: "\""): skipString()
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    rest.removeFirst()
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    rest.removeFirst()
                case UInt8(ascii: ","), UInt8(ascii: ":"), ...0x20: rest.removeFirst()
                default: rest = rest.drop { $0 > 0x20 && !",:]}".utf8.contains($0) }
                }
            } while depth > 0
            return start[..<rest.startIndex]
        }

        private mutating func skipString() {
            rest.removeFirst()
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                if byte == UInt8(ascii: "\\") { rest.removeFirst() }
            }
        }
    }

    private static func decoded(_ string: String) -> String? {
        // A string with half a surrogate pair cannot be decoded and matches no name.
        try? JSONDecoder().decode(String.self, from: Data(string.utf8))
    }
}

extension String {
    /// The text without a byte order mark.
    fileprivate var withoutMark: String { behind("\u{FEFF}").map(String.init) ?? self }
}

extension CommandError {
    /// The error for a selection without a result.
    static func selection(_ fault: JSONSelection.Fault, _ pointer: JSONPointer) -> CommandError {
        switch fault {
        case .noJSON:
            CommandError(what: "The response is no JSON.", advice: "Print it without --select.", code: .decoding)
        case .nothingThere:
            CommandError(
                what: "The response has nothing at \(pointer).",
                advice: "Print it without --select; names and numbers are separated by slashes.",
                code: .decoding
            )
        }
    }
}
