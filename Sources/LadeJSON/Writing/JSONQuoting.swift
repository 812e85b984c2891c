/// Strings and objects as JSON text, for lines that are put together of parts that are JSON already.
///
/// Characters that control a terminal are escaped, and members keep the order given.
package enum JSONQuoting {
    /// A text as a JSON string, quotes included.
    package static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += escaped(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// A scalar as one or, above the basic plane, two `\u` escapes.
    package static func escaped(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.reduce(into: "") { result, unit in
            let digits = String(unit, radix: 16, uppercase: true)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    /// An object with its members in order; each value is JSON already.
    package static func object(_ members: [(name: String, value: String)]) -> String {
        "{" + members.map { "\(string($0.name)):\($0.value)" }.joined(separator: ",") + "}"
    }
}
