extension AddressParts {
    /// Why an address that `URL` cannot parse is none, with the position of the first character at fault.
    ///
    /// A letter of it is never shown, for it may be a part of a secret (RFC 3986 §2).
    package static func fault(in address: String) -> String {
        let allowed = Set("!#$&'()*+,/:;=?@[]-._~%".unicodeScalars)
        let scalars = Array(address.unicodeScalars)
        guard !scalars.isEmpty else { return "it is empty" }
        let host = Array(
            address.utf8.dropFirst(AddressParts(address).host.lowerBound).prefix(AddressParts(address).host.count)
        )
        if host.contains(where: { $0 >= 0x80 }), NormalHost(bytes: host) == nil {
            return "its host is no name of any script, or mixes what no name may mix"
        }
        for (index, scalar) in scalars.enumerated() {
            let position = "character \(index + 1)"
            switch scalar {
            case "%":
                let digits = scalars[(index + 1)...].prefix(2)
                if digits.count < 2 || !digits.allSatisfy(\.properties.isASCIIHexDigit) {
                    return "the percent sign at \(position) is not followed by two hexadecimal digits"
                }
            case "a"..."z", "A"..."Z", "0"..."9": continue
            case " ": return "\(position) is a space, which is written as %20"
            case _ where allowed.contains(scalar): continue
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: return "\(position) is a control character"
            case _ where scalar.isASCII: return "\(position) is “\(scalar)”, which must be percent-encoded"
            default: return "\(position) is not ASCII and must be percent-encoded"
            }
        }
        guard address.cut(at: "://") != nil else { return "it has no scheme, such as https:// before the host" }
        return "it cannot be parsed"
    }
}
