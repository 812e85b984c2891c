#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The grammar of RFC 8259 with the trailing commas that Foundation lets pass, written down a second time.
struct Grammar {
    private var rest: ArraySlice<UInt8>

    static func accepts(_ data: Data) -> Bool {
        var bytes = Array(data)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        var grammar = Grammar(rest: bytes[...])
        guard grammar.value(512) else { return false }
        grammar.space()
        return grammar.rest.isEmpty
    }

    private mutating func space() { rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) } }

    private mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    private mutating func value(_ depth: Int) -> Bool {
        space()
        switch rest.first {
        case UInt8(ascii: "{"): return list("{", "}", depth) { $0.string() && $0.colon() && $0.value(depth - 1) }
        case UInt8(ascii: "["): return list("[", "]", depth) { $0.value(depth - 1) }
        case UInt8(ascii: "\""): return string()
        default: return take("true") || take("false") || take("null") || number()
        }
    }

    private mutating func colon() -> Bool {
        space()
        return take(":")
    }

    private mutating func list(_ open: String, _ close: String, _ depth: Int, _ item: (inout Grammar) -> Bool) -> Bool {
        guard depth > 0, take(open) else { return false }
        space()
        if take(close) { return true }
        repeat {
            guard item(&self) else { return false }
            space()
            guard take(",") else { return take(close) }
            space()
        } while !take(close)
        return true
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return true }
            if byte < 0x20 { return false }
            guard byte == UInt8(ascii: "\\") else { continue }
            guard let kind = rest.popFirst() else { return false }
            if kind == UInt8(ascii: "u") {
                let digits = rest.prefix(4)
                guard digits.count == 4, digits.allSatisfy({ "0123456789abcdefABCDEF".utf8.contains($0) }) else {
                    return false
                }
                rest = rest.dropFirst(4)
            } else if !"\"\\/bfnrt".utf8.contains(kind) {
                return false
            }
        }
        return false
    }

    private mutating func number() -> Bool {
        _ = take("-")
        guard take("0") || digits() else { return false }
        if take("."), !digits() { return false }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            return digits()
        }
        return true
    }

    private mutating func digits() -> Bool {
        let count = rest.prefix { (0x30...0x39).contains($0) }.count
        rest = rest.dropFirst(count)
        return count > 0
    }
}
