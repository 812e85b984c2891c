import LadeCore

extension ContentDisposition {
    /// A name under which the content can be stored in a folder of the user's choice; `nil` if none is left.
    ///
    /// See `safeFilename(from:)`.
    public var safeFilename: String? { filename.flatMap(Self.safeFilename(from:)) }

    /// The longest safe file name: 200 bytes of UTF-8.
    ///
    /// Most file systems allow 255; the difference leaves room for the suffix of a temporary name or a number.
    public static let safeFilenameLimit = 200

    /// Makes a harmless file name from a server's, which came in a field or at the end of a path.
    ///
    /// - Only the last part of a path is kept, whether separated by `/` or `\`, so that no name leaves its folder.
    /// - Control characters are removed, and so are invisible ones that reorder text and thereby hide an extension.
    /// - `< > : " | ? *`, which some file systems refuse or interpret, become `_`.
    /// - Dots and blanks are removed at the start (hidden files, `..`) and at the end (Windows drops them). A dash at
    ///   the start, which commands take for an option, becomes `_`.
    /// - Names of devices (`CON`, `nul.txt`, `COM1` …) get a `_` in front.
    /// - A name longer than `safeFilenameLimit` is cut before the extension, or at the end if there is no short one.
    ///
    /// - Returns: the name; `nil` if nothing remains.
    public static func safeFilename(from name: String) -> String? {
        let lastPart = name.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last
        var kept = String.UnicodeScalarView()
        for scalar in lastPart ?? Substring.UnicodeScalarView() where !isInvisible(scalar) {
            switch scalar {
            case "<", ">", ":", "\"", "|", "?", "*": kept.append("_")
            default: kept.append(scalar)
            }
        }
        var safe = trimmed(kept[...])
        if safe.utf8.first == UInt8(ascii: "-") { safe = "_" + String(safe.unicodeScalars.dropFirst()) }
        if isDeviceName(safe) { safe = "_" + safe }
        if safe.utf8.count > safeFilenameLimit { safe = trimmed(shortened(safe).unicodeScalars[...]) }
        return safe.isEmpty ? nil : safe
    }

    /// Control characters, line separators, marks that change the direction of text, joiners and the like, private-use
    /// and unassigned characters.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        // Most names are mostly printable ASCII, which needs no table.
        if (" "..."~").contains(scalar) { return false }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }

    private static func isBlankOrDot(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace
    }

    private static func trimmed(_ name: Substring.UnicodeScalarView) -> String {
        let start = name.drop(while: isBlankOrDot)
        let end = start.lastIndex { !isBlankOrDot($0) }.map { start.index(after: $0) } ?? start.startIndex
        return String(String.UnicodeScalarView(start[start.startIndex..<end]))
    }

    /// Windows reserves these in any case, with any extension, and with superscript digits too.
    private static func isDeviceName(_ name: String) -> Bool {
        let stem = String(name.unicodeScalars.prefix { $0 != "." }).asciiLowercased
        var scalars = Array(stem.unicodeScalars.prefix(8))
        while scalars.last == " " { scalars.removeLast() }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        let word = String(text)
        if ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"].contains(word) { return true }
        guard scalars.count == 4, word.hasPrefix("com") || word.hasPrefix("lpt") else { return false }
        return "0123456789¹²³".unicodeScalars.contains(scalars[3])
    }

    private static func shortened(_ name: String) -> String {
        var fileExtension = ""
        if let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), name.utf8[dot...].count <= 16 {
            fileExtension = String(name[dot...])
        }
        let room = safeFilenameLimit - fileExtension.utf8.count
        var stem = String.UnicodeScalarView()
        var size = 0
        for scalar in name.unicodeScalars.dropLast(fileExtension.unicodeScalars.count) {
            size += UTF8.width(scalar)
            if size > room { break }
            stem.append(scalar)
        }
        return String(stem) + fileExtension
    }
}
