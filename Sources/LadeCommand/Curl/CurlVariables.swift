#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The variables of a curl command line: `--variable` sets them, and options with `--expand-` before their names use them.
///
/// Values are octets.
struct CurlVariables {
    private var values: [String: [UInt8]] = [:]

    // As with curl.
    private static let nameLimit = 127
    private static let failedDecoding = Array("[64dec-fail]".utf8)

    /// Sets a variable: `NAME=TEXT`, `NAME@FILE`, `NAME[2-5]@FILE`, or `%NAME` for a variable of the environment, behind
    /// which a default may stand.
    ///
    /// - Throws: A usage error for another text and for a variable of the environment that is not set, a local error for
    ///   a file.
    mutating func set(_ argument: [UInt8]) throws(CommandError) {
        var rest = argument[...]
        let isImported = rest.first == UInt8(ascii: "%")
        if isImported { rest.removeFirst() }
        let name = rest.prefix(while: Self.isNameByte)
        rest = rest.dropFirst(name.count)
        guard (1...Self.nameLimit).contains(name.count) else { throw Self.malformed }
        let range = try Self.range(&rest)
        let text = String(decoding: name, as: UTF8.self)
        if isImported, let value = try Environment.value(named: text) {
            values[text] = Self.part(range, of: Array(value.utf8))
            return
        }
        switch rest.popFirst() {
        case UInt8(ascii: "="): values[text] = Self.part(range, of: Array(rest))
        case UInt8(ascii: "@"):
            guard let path = String(validating: rest, as: UTF8.self) else {
                throw CurlReader.wrong("--variable names a file by bytes that are no text in UTF-8")
            }
            values[text] = Self.part(range, of: try ArgumentFile.bytes(path, of: "--variable"))
        case nil where isImported:
            throw CurlReader.wrong("the variable \(text) of the environment is not set")
        default: throw Self.malformed
        }
    }

    /// A text with the variables in it replaced, such as `{{name}}` and `{{name:trim:url}}`; `\{{` stands for `{{`.
    ///
    /// A variable that is not set is empty. Braces around a text that is no name stay as they are.
    ///
    /// - Throws: A usage error for an unknown function, and for a value with a NUL.
    func expanded(_ text: [UInt8], of option: String) throws(CommandError) -> [UInt8] {
        var result: [UInt8] = []
        var rest = text[...]
        var isReplaced = false
        while let open = rest.firstRange(of: Self.open) {
            let before = rest[..<open.lowerBound]
            rest = rest[open.upperBound...]
            if before.last == UInt8(ascii: "\\") {
                result += before.dropLast() + Self.open
                continue
            }
            result += before
            guard let close = rest.firstRange(of: Self.close) else {
                result += Self.open
                break
            }
            let inside = rest[..<close.lowerBound]
            rest = rest[close.upperBound...]
            let parts = inside.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            let name = parts[0]
            guard (1...Self.nameLimit).contains(name.count), name.allSatisfy(Self.isNameByte) else {
                result += Self.open + inside + Self.close
                continue
            }
            var value = values[String(decoding: name, as: UTF8.self)] ?? []
            for function in parts.dropFirst() { value = try Self.apply(function, to: value) }
            guard !value.contains(0) else { throw CurlReader.wrong("--\(option) gets a value with a NUL") }
            result += value
            isReplaced = true
        }
        // curl leaves a backslash in a text without a variable.
        return isReplaced ? result + rest : text
    }

    private static let open = Array("{{".utf8)
    private static let close = Array("}}".utf8)
    private static let malformed = CurlReader.wrong("--variable is neither NAME=TEXT nor NAME@FILE")

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The offsets in brackets behind a name; nil for none.
    private static func range(_ rest: inout ArraySlice<UInt8>) throws(CommandError) -> (first: Int, last: Int)? {
        guard rest.first == UInt8(ascii: "[") else { return nil }
        guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { throw malformed }
        let parts = rest[..<end].dropFirst().split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        rest = rest[(end + 1)...]
        guard parts.count == 2, let first = Int(String(decoding: parts[0], as: UTF8.self)),
            let last = parts[1].isEmpty ? .max : Int(String(decoding: parts[1], as: UTF8.self)), first <= last
        else { throw malformed }
        return (first, last)
    }

    private static func part(_ range: (first: Int, last: Int)?, of value: [UInt8]) -> [UInt8] {
        guard let range else { return value }
        guard range.first < value.count else { return [] }
        return Array(value[range.first...min(range.last, value.count - 1)])
    }

    private static func apply(_ function: ArraySlice<UInt8>, to value: [UInt8]) throws(CommandError) -> [UInt8] {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        switch String(decoding: function, as: UTF8.self) {
        case "trim":
            let start = value.drop(while: isSpace)
            return Array(start.prefix(start.count - start.reversed().prefix(while: isSpace).count))
        case "json": return value.flatMap(escapedInJSON)
        case "url": return Array(value.percentEncoded().utf8)
        case "b64": return Array(Data(value).base64EncodedString().utf8)
        case "64dec": return Data(base64Encoded: Data(value)).map(Array.init) ?? failedDecoding
        case let name: throw CurlReader.wrong("a variable has no function “\(name.asArgument)”")
        }
    }

    /// An octet as it stands in a string of JSON.
    static func escapedInJSON(_ byte: UInt8) -> [UInt8] {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return [UInt8(ascii: "\\"), byte]
        case 0x08: return Array("\\b".utf8)
        case 0x09: return Array("\\t".utf8)
        case 0x0A: return Array("\\n".utf8)
        case 0x0C: return Array("\\f".utf8)
        case 0x0D: return Array("\\r".utf8)
        case ..<0x20:
            let digits = String(byte, radix: 16)
            return Array(("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8)
        default: return [byte]
        }
    }
}
