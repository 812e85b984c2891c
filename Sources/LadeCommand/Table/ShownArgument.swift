import Lade

extension String {
    /// The argument as every error shows it, without the parts that may be secret.
    ///
    /// | argument | shown |
    /// | --- | --- |
    /// | `--user=ann:pw`, `-uann:pw` | `--user=…`, `-u…` |
    /// | `https://ann:pw@host/x?token=t` | `https://host/x` |
    /// | `ann:pw@host` | `…@host` |
    /// | `password=pw`, `Authorization:Bearer t` | `password=…`, `Authorization:…` |
    /// | `fetch`, `host:8080/x` | unchanged |
    var asArgument: String {
        let bytes = Array(utf8)
        if bytes.first == UInt8(ascii: "-"), bytes.count > 1 { return shownOption(bytes) }
        let marks: Set<UInt8> = [UInt8(ascii: "="), UInt8(ascii: "@"), UInt8(ascii: ";"), 0x20, 0x09]
        if let colon = bytes.firstRange(of: Array("://".utf8))?.lowerBound,
            bytes[..<colon].allSatisfy({ !marks.contains($0) && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "?") })
        {
            return Address(self).shown.escapedForDisplay()
        }
        // A port or a path follows the colon of an address; anything else follows the colon of a header field.
        var end = bytes.firstIndex(where: marks.contains) ?? bytes.count
        if let colon = bytes[..<end].firstIndex(of: UInt8(ascii: ":")) {
            let rest = bytes[(colon + 1)...].drop { (0x30...0x39).contains($0) }
            if !rest.isEmpty, rest.first != UInt8(ascii: "/") { end = colon }
        }
        if let query = bytes[..<end].firstIndex(of: UInt8(ascii: "?")) { end = query }
        guard end < bytes.count else { return escapedForDisplay() }
        if bytes[end] != UInt8(ascii: "="), !bytes.contains(UInt8(ascii: "=")),
            let at = bytes.lastIndex(of: UInt8(ascii: "@")), at + 1 < bytes.count
        {
            return ("…" + String(decoding: bytes[at...], as: UTF8.self)).escapedForDisplay()
        }
        var separator = bytes[end...].prefix { ":=@;?".utf8.contains($0) }
        if separator.isEmpty { separator = bytes[end..<end] }
        let shown = String(decoding: bytes[..<end] + separator, as: UTF8.self)
        return (shown + (end + separator.count < bytes.count ? "…" : "")).escapedForDisplay()
    }

    private func shownOption(_ bytes: [UInt8]) -> String {
        let isLong = bytes.starts(with: "--".utf8)
        let end = isLong ? bytes.firstIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? bytes.count : 2
        let shown = String(decoding: bytes[..<min(end, bytes.count)], as: UTF8.self)
        return (shown + (end < bytes.count ? "…" : "")).escapedForDisplay()
    }
}
