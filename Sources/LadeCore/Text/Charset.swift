/// A character set of text, by the labels of the WHATWG Encoding Standard (§4.2).
///
/// Every place that decodes text by a charset asks here. UTF-8, UTF-16, UTF-32 and windows-1252 are decoded by this
/// module, every other charset by the platform: `iconv` on Linux, Foundation on Apple platforms. The labels of ASCII and
/// ISO-8859-1 mean windows-1252, and those of ISO-8859-9 windows-1254, as in browsers.
package struct Charset: Sendable, Equatable {
    enum Form: Sendable, Equatable {
        case utf8
        /// With units of two or four bytes.
        case units(Int, isBigEndian: Bool)
        /// One byte for each character: the characters of the bytes 80 to FF.
        case table([Unicode.Scalar?])
        /// The platform's name.
        case platform(String)
    }

    /// The name in the standard, in lower case.
    package let name: String
    let form: Form

    private init(_ name: String, _ form: Form) {
        self.name = name
        self.form = form
    }

    /// UTF-8.
    package static let utf8 = Charset("utf-8", .utf8)
    /// windows-1252, which has a character for every byte.
    package static let windows1252 = Charset("windows-1252", .table(windows1252Table))
    static let utf16LittleEndian = Charset("utf-16le", .units(2, isBigEndian: false))
    static let utf16BigEndian = Charset("utf-16be", .units(2, isBigEndian: true))

    /// The charset of a label in any case, with blanks around it.
    ///
    /// It is nil for a label that is unknown, or whose charset the platform cannot decode.
    package init?(label: String) {
        let blanks: Set<UInt8> = [0x09, 0x0A, 0x0C, 0x0D, 0x20]
        let bytes = label.utf8.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
        let key = String(decoding: bytes.map(\.lowercasedASCII), as: UTF8.self)
        guard let name = CharsetLabels.names[key] else { return nil }
        switch name {
        case "utf-8": self = .utf8
        case "windows-1252": self = .windows1252
        case "utf-16le": self = .utf16LittleEndian
        case "utf-16be": self = .utf16BigEndian
        case "utf-32le": self.init(name, .units(4, isBigEndian: false))
        case "utf-32be": self.init(name, .units(4, isBigEndian: true))
        default:
            let platformName = CharsetLabels.platformNames[name] ?? name
            guard let converter = PlatformConverter(platformName) else { return nil }
            let isTable = !CharsetLabels.multiByte.contains(name)
            self.init(name, isTable ? .table(Self.table(name, converter)) : .platform(platformName))
        }
    }

    /// Whether text in the charset may contain zero bytes.
    package var hasZeroBytes: Bool { if case .units = form { true } else { false } }

    /// The text of some bytes; nil when they are not valid in the charset.
    ///
    /// A byte order mark of UTF-8 or UTF-16 has precedence over the charset, and is not part of the text.
    package func text(of bytes: some Collection<UInt8>) -> String? {
        if form == .utf8, bytes.first != 0xEF, let text = String(validating: bytes, as: UTF8.self) { return text }
        var decoder = CharsetDecoder(self)
        let text = decoder.decode(bytes) + decoder.end()
        return decoder.isMalformed ? nil : String(validating: text, as: UTF8.self)
    }

    /// The characters of the bytes 80 to FF.
    ///
    /// Where the platform has none for the bytes 80 to 9F, the standard has the control character of that number.
    private static func table(_ name: String, _ converter: PlatformConverter) -> [Unicode.Scalar?] {
        (0x80...0xFF).map { (byte: UInt8) in
            if let scalar = CharsetLabels.exceptions[name]?[byte] { return scalar }
            var rest = [byte]
            let converted = converter.convert(&rest, isLast: true)
            if !converted.isMalformed, let text = String(validating: converted.text, as: UTF8.self) {
                return text.unicodeScalars.first
            }
            return byte < 0xA0 ? Unicode.Scalar(byte) : nil
        }
    }

    private static let windows1252Table: [Unicode.Scalar?] =
        [
            "\u{20AC}", "\u{81}", "\u{201A}", "\u{192}", "\u{201E}", "\u{2026}", "\u{2020}", "\u{2021}", "\u{2C6}",
            "\u{2030}", "\u{160}", "\u{2039}", "\u{152}", "\u{8D}", "\u{17D}", "\u{8F}", "\u{90}", "\u{2018}",
            "\u{2019}", "\u{201C}", "\u{201D}", "\u{2022}", "\u{2013}", "\u{2014}", "\u{2DC}", "\u{2122}", "\u{161}",
            "\u{203A}", "\u{153}", "\u{9D}", "\u{17E}", "\u{178}",
        ] as [Unicode.Scalar] + (0xA0...0xFF).map { Unicode.Scalar(UInt8($0)) }
}
