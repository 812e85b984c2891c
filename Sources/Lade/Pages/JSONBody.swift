#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON

/// A JSON text whose values are found and replaced in place, so that everything else stays as it is written.
struct JSONBody {
    private(set) var bytes: [UInt8]

    /// Makes a body from a text; nil when it is not JSON.
    init?(_ bytes: [UInt8]) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
        guard JSONValue.isValid(String(decoding: text, as: UTF8.self)) else { return nil }
        self.bytes = text
    }

    /// The text of the value at a pointer, in which `-` stands for the last element of an array; nil when there is none.
    func text(at pointer: JSONPointer) -> [UInt8]? {
        var reader = Reader(bytes: bytes)
        for token in pointer.tokens {
            guard let position = reader.child(token) else { return nil }
            reader.position = position
        }
        let start = reader.start
        reader.skip()
        return Array(bytes[start..<reader.position])
    }

    /// Replaces or adds the value at a pointer, with objects on the way where there is nothing or null.
    ///
    /// - Returns: False when something else than an object is on the way.
    mutating func set(_ value: [UInt8], at pointer: JSONPointer) -> Bool {
        var reader = Reader(bytes: bytes)
        for (depth, token) in pointer.tokens.enumerated() {
            if let position = reader.child(token) {
                reader.position = position
                continue
            }
            let rest = pointer.tokens[depth...]
            let start = reader.start
            switch bytes[start] {
            case UInt8(ascii: "{"):
                let isEmpty = reader.isEmpty
                let member = Self.nested(value, rest) + (isEmpty ? [] : [UInt8(ascii: ",")])
                bytes.insert(contentsOf: member, at: start + 1)
            case UInt8(ascii: "n"):
                reader.skip()
                bytes.replaceSubrange(start..<reader.position, with: [0x7B] + Self.nested(value, rest) + [0x7D])
            default: return false
            }
            return true
        }
        let start = reader.start
        reader.skip()
        bytes.replaceSubrange(start..<reader.position, with: value)
        return true
    }

    /// The member with a name and a value, which is in further objects.
    private static func nested(_ value: [UInt8], _ tokens: ArraySlice<String>) -> [UInt8] {
        guard let first = tokens.first else { return value }
        let rest = tokens.dropFirst()
        let inner = rest.isEmpty ? value : [UInt8(ascii: "{")] + nested(value, rest) + [UInt8(ascii: "}")]
        return Array(JSONQuoting.string(first).utf8) + [UInt8(ascii: ":")] + inner
    }
}

extension JSONBody {
    /// A position in a text that is valid JSON.
    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        private func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

        /// The position of the value that begins here.
        var start: Int { bytes[position...].firstIndex { !isSpace($0) } ?? bytes.count }

        /// Whether the object or array that begins here has nothing in it.
        var isEmpty: Bool {
            var inner = self
            inner.position = start + 1
            let next = inner.start
            return next == bytes.count || [UInt8(ascii: "}"), UInt8(ascii: "]")].contains(bytes[next])
        }

        /// Passes the value that begins here.
        mutating func skip() {
            position = start
            guard position < bytes.count else { return }
            switch bytes[position] {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                var depth = 0
                repeat {
                    switch bytes[position] {
                    case UInt8(ascii: "\""):
                        skipString()
                        continue
                    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                    case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                    default: break
                    }
                    position += 1
                } while depth > 0 && position < bytes.count
            default:
                let ends: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]")]
                position = bytes[position...].firstIndex { ends.contains($0) || isSpace($0) } ?? bytes.count
            }
        }

        private mutating func skipString() {
            position += 1
            while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
                position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
            }
            position += 1
        }

        /// The position of a member or element of the value that begins here; of equal names the last counts.
        func child(_ token: String) -> Int? {
            let start = start
            guard start < bytes.count, !isEmpty else { return nil }
            let isObject = bytes[start] == UInt8(ascii: "{")
            guard isObject || bytes[start] == UInt8(ascii: "[") else { return nil }
            let index = token == "-" ? Int.max : JSONPointer.index(token)
            var reader = self
            reader.position = start
            var (found, count) = (Int?.none, 0)
            while reader.position < bytes.count, ![0x7D, 0x5D].contains(bytes[reader.position]) {
                // Behind the bracket or the comma.
                reader.position += 1
                var isFound = index == count || index == .max
                if isObject {
                    let name = reader.start
                    reader.skip()
                    isFound = JSONBody.name(bytes[name..<reader.position]).utf8.elementsEqual(token.utf8)
                    // Behind the colon.
                    reader.position = reader.start + 1
                }
                if isFound { found = reader.position }
                reader.skip()
                reader.position = reader.start
                count += 1
            }
            return found
        }
    }

    private static func name(_ quoted: ArraySlice<UInt8>) -> String {
        let text = String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
        guard quoted.contains(UInt8(ascii: "\\")) else { return text }
        return JSONValue(tolerant: Data(quoted))?.string ?? text
    }
}
