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
            case _ where controlsDisplay(scalar): result += escaped(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// Whether a terminal, or a reader of lines, does more with a scalar than show it.
    ///
    /// That holds for C0, DEL, C1, the line and paragraph separators, and the bidirectional controls.
    private static func controlsDisplay(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
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
