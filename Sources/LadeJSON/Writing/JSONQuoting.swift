/// Writes strings and objects as JSON text, for lines assembled from parts that are already JSON.
///
/// Characters that control a terminal are escaped, and members keep the given order.
package enum JSONQuoting {
    /// A text as a JSON string, including the quotation marks.
    package static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value): result += escaped(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// A scalar as one `\u` escape, or as two above the basic multilingual plane.
    package static func escaped(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.reduce(into: "") { result, unit in
            let digits = String(unit, radix: 16, uppercase: true)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    /// An object with its members in order; each value is already JSON.
    package static func object(_ members: [(name: String, value: String)]) -> String {
        "{" + members.map { "\(string($0.name)):\($0.value)" }.joined(separator: ",") + "}"
    }
}
