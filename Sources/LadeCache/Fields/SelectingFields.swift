import LadeCore

/// Comparing the fields of two requests that `Vary` names (RFC 9111 §4.1).
package enum SelectingFields {
    /// The form of a field's lines in which equal requests have equal bytes; nil without a line.
    ///
    /// Lines are joined, and blanks around commas outside of quoted strings are dropped. Unless `isExact`, three more
    /// differences do not count in `Accept`, `Accept-Language` and `Accept-Encoding`: case, `q=1`, and the order within equal
    /// weight.
    ///
    /// | name | lines | form |
    /// | --- | --- | --- |
    /// | `X-A` | `1 , 2` | `1,2` |
    /// | `X-A` | `1`, `2` | `1,2` |
    /// | `Accept` | `b;q=0.5, A` | `a,b;` and the weight in thousandths |
    package static func normalise(_ name: String, _ lines: [[UInt8]], isExact: Bool = false) -> [UInt8]? {
        guard !lines.isEmpty else { return nil }
        if lines.count == 1, isNormal(lines[0], isExact || !weighted.contains(name)) { return lines[0] }
        let line = Array(lines.joined(separator: ", ".utf8))
        let members = FieldMembers.split(line, at: UInt8(ascii: ","))
        guard !isExact, weighted.contains(name) else { return joined(members) }
        let preferences = members.filter { !$0.isEmpty }.map(Preference.init).sorted()
        return joined(preferences.map(\.text))
    }

    /// Whether a value is its own form: one member, with nothing that the form changes.
    private static func isNormal(_ line: [UInt8], _ isExact: Bool) -> Bool {
        line.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: ","), UInt8(ascii: "\""), UInt8(ascii: ";"), 0x20, 0x09: false
            case 0x41...0x5A: isExact
            default: true
            }
        }
    }

    private static let weighted: Set<String> = ["accept", "accept-encoding", "accept-language"]

    private static func joined(_ members: [[UInt8]]) -> [UInt8] {
        Array(members.joined(separator: [UInt8(ascii: ",")]))
    }

    /// A member of a field with weights.
    private struct Preference: Comparable {
        /// The member in lower case; a weight other than 1 in thousandths at its end.
        let text: [UInt8]
        private let weight: Int

        init(_ member: [UInt8]) {
            var weight = 1_000
            var parts: [[UInt8]] = []
            for part in FieldMembers.split(member.lowercasedASCII, at: UInt8(ascii: ";")) {
                if let number = Self.weight(part) { weight = number } else { parts.append(part) }
            }
            // No field value contains a zero byte, so a malformed weight cannot look like one.
            if weight != 1_000 { parts.append([0] + Array(String(weight).utf8)) }
            self.weight = weight
            text = Array(parts.joined(separator: [UInt8(ascii: ";")]))
        }

        static func < (lhs: Self, rhs: Self) -> Bool {
            lhs.weight == rhs.weight ? lhs.text.lexicographicallyPrecedes(rhs.text) : lhs.weight > rhs.weight
        }

        /// Thousandths of `q=0.5`; nil for anything that is not a weight (RFC 9110 §12.4.2).
        private static func weight(_ part: [UInt8]) -> Int? {
            guard part.starts(with: "q=".utf8), let whole = part.dropFirst(2).first, whole == 0x30 || whole == 0x31
            else { return nil }
            let rest = part.dropFirst(3)
            guard rest.isEmpty || (rest.first == UInt8(ascii: ".") && rest.count <= 4),
                let digits = rest.isEmpty || rest.count == 1
                    ? 0 : FieldMembers.number(rest.dropFirst(), limit: 1_000)
            else { return nil }
            let scale = [1_000, 100, 10, 1][min(max(rest.count - 1, 0), 3)]
            let value = (whole == 0x31 ? 1_000 : 0) + Int(digits) * (rest.count <= 1 ? 0 : scale)
            return value <= 1_000 ? value : nil
        }
    }
}
