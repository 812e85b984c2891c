#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Why a text is no address that a request can be sent to: the part at fault, its place, and what to write.
///
/// The one rule that refuses and names (RFC 3986, and what HTTP adds). Positions count the characters of the text as written,
/// from 1. No letter or digit of it is shown, for it may be a part of a secret.
package enum AddressFault: Error, Equatable {
    /// A clause that completes “it cannot be used as an address:”.
    case reason(String)
    /// A protocol that is no HTTP, and that only a transport of the program could have.
    case scheme(String)

    /// The clause.
    package var clause: String {
        switch self {
        case .reason(let clause): clause
        case .scheme(let scheme): LoadingError.RequestCause.unsupportedScheme(scheme).description
        }
    }

    /// The address of a text.
    ///
    /// - Parameters:
    ///   - text: The address as written.
    ///   - allowsAll: Whether an address of another protocol than HTTP is none of its faults.
    /// - Returns: The address, with the host in A-labels.
    /// - Throws: The fault of the text.
    package static func address(_ text: String, ofAnyProtocol allowsAll: Bool = false) throws(AddressFault) -> URL {
        if let fault = Scan(text, encodes: false, allowsAll).fault() { throw fault }
        guard let url = URL(string: text.withASCIIHost, encodingInvalidCharacters: false) else {
            throw .reason("it cannot be parsed")
        }
        return url
    }

    /// The first fault of a text.
    ///
    /// - Parameters:
    ///   - text: The address as written.
    ///   - encodes: Whether characters that path, query and fragment cannot have are encoded before it is used.
    /// - Returns: The fault; nil when there is none.
    package static func first(in text: String, encoding encodes: Bool = false) -> AddressFault? {
        Scan(text, encodes: encodes, false).fault()
    }

    /// The protocols besides HTTP that people write addresses of.
    ///
    /// A name that is not among them may be the program's own scheme (`Service.Settings.transportsByScheme`).
    private static let otherProtocols: Set<String> = [
        "about", "blob", "ftp", "ftps", "git", "gopher", "imap", "imaps", "irc", "javascript", "ldap", "ldaps",
        "mailto",
        "pop3", "pop3s", "rtmp", "rtsp", "scp", "sftp", "smb", "smtp", "smtps", "ssh", "tel", "telnet", "tftp", "ws",
        "wss",
    ]

    /// Whether a text that may begin with a scheme begins with a host and a port instead: `localhost:8080/x`.
    static func beginsWithHost(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex,
            text.utf8[..<colon].allSatisfy({ $0.isHostNameByte || $0 == UInt8(ascii: ".") })
        else { return false }
        let rest = text.utf8[colon...].dropFirst()
        let port = rest.prefix { $0.isDigit }
        guard (1...5).contains(port.count) else { return false }
        return port.count == rest.count || "/?#".utf8.contains(rest[port.endIndex])
    }

    // MARK: - Words

    /// An address that lacks its scheme, as it is to be written.
    static func withScheme(_ text: String) -> AddressFault {
        let shown = Redaction.standard.unparsable(text).escapedForDisplay()
        return .reason("it has no scheme, such as https:// before the host: write http://\(shown) or https://\(shown)")
    }

    /// The parts of an address that have rules of their own.
    private enum Part {
        case host
        case path
        case query
        case fragment
    }

    private struct Scan {
        private let text: String
        private let scalars: [Unicode.Scalar]
        private let encodes: Bool
        private let allowsAll: Bool

        init(_ text: String, encodes: Bool, _ allowsAll: Bool) {
            (self.text, self.encodes, self.allowsAll) = (text, encodes, allowsAll)
            scalars = Array(text.unicodeScalars)
        }

        func fault() -> AddressFault? {
            guard !scalars.isEmpty else { return .reason("it is empty") }
            if AddressFault.beginsWithHost(text) { return AddressFault.withScheme(text) }
            let head = scalars.prefix { !"/?#".unicodeScalars.contains($0) }
            guard let colon = head.firstIndex(of: ":") else { return withoutScheme(head) }
            guard colon > 0 else { return .reason("character 1 is a colon, before which the scheme is missing") }
            // Before a colon that follows such a character stands a host, not a scheme: `[::1]:80`, `a_b:80`, `user@h:80`.
            for (index, scalar) in scalars[..<colon].enumerated() where !Self.isSchemeScalar(scalar, index) {
                if scalar == " " || scalar.value < 0x20 || scalar.value == 0x7F { return wrong(index, .host) }
                return AddressFault.withScheme(text)
            }
            let scheme = String(String.UnicodeScalarView(scalars[..<colon])).asciiLowercased
            if !allowsAll, AddressFault.otherProtocols.contains(scheme) { return .scheme(scheme) }
            let hasAuthority = scalars[(colon + 1)...].starts(with: "//".unicodeScalars)
            guard scheme == "http" || scheme == "https" else {
                return hasAuthority ? authority(from: colon + 3, isHTTP: false) : rest(from: colon + 1)
            }
            guard hasAuthority else {
                return .reason("it has no host: two slashes and the host follow “\(scheme):”")
            }
            return authority(from: colon + 3, isHTTP: true)
        }

        private func withoutScheme(_ head: ArraySlice<Unicode.Scalar>) -> AddressFault {
            if let index = head.firstIndex(where: { $0 == " " || $0.value < 0x20 || $0.value == 0x7F }) {
                return wrong(index, .host)
            }
            guard !head.isEmpty else {
                return .reason("it has no scheme and no host: begin it with https:// and the host")
            }
            return AddressFault.withScheme(text)
        }

        // MARK: - Host and port

        private func authority(from start: Int, isHTTP: Bool) -> AddressFault? {
            let end = scalars[start...].firstIndex { "/?#".unicodeScalars.contains($0) } ?? scalars.endIndex
            var host = scalars[start..<end]
            if let at = host.lastIndex(of: "@") {
                guard !isHTTP else { return .reason("it has a user name, which belongs into an authoriser") }
                if let fault = characters(start..<at, .host, besides: ":") { return fault }
                host = scalars[(at + 1)..<end]
            }
            if host.first == "[" {
                guard let bracket = host.firstIndex(of: "]") else {
                    return .reason("the bracket at character \(host.startIndex + 1) is not closed")
                }
                if let fault = literal((host.startIndex + 1)..<bracket) { return fault }
                let behind = bracket + 1
                if behind < end {
                    guard scalars[behind] == ":" else {
                        return .reason("character \(behind + 1) stands between the host and the port")
                    }
                    if let fault = port(behind..<end) { return fault }
                }
                host = scalars[host.startIndex..<behind]
            } else if let colon = host.firstIndex(of: ":") {
                if host[(colon + 1)...].contains(":") {
                    let isAddress = NormalHost(bytes: Array(Self.bytes(host))) != nil
                    let advice =
                        isAddress ? ": an IPv6 address is written in brackets" : ", after the one at \(colon + 1)"
                    let second = host[(colon + 1)...].firstIndex(of: ":") ?? colon
                    return .reason("character \(second + 1) is a second colon in the host\(advice)")
                }
                if let fault = characters(host.startIndex..<colon, .host) ?? port(colon..<end) { return fault }
                host = scalars[host.startIndex..<colon]
            } else if let fault = characters(host.indices, .host) {
                return fault
            }
            if isHTTP {
                guard !host.isEmpty else { return .reason("it has no host") }
                if let fault = name(host) { return fault }
            }
            return rest(from: end)
        }

        /// The address between brackets.
        private func literal(_ range: Range<Int>) -> AddressFault? {
            characters(range, .host, besides: ":")
        }

        private func port(_ range: Range<Int>) -> AddressFault? {
            let digits = scalars[range].dropFirst()
            if let wrong = digits.firstIndex(where: { !("0"..."9").contains($0) }) {
                return .reason("character \(wrong + 1) is no digit, and a port has only digits")
            }
            guard
                digits.isEmpty
                    || (1...65_535).contains(digits.reduce(0) { min($0 * 10 + Int($1.value - 0x30), 65_536) })
            else { return .reason("the port after character \(range.lowerBound + 1) is not within 1 to 65535") }
            return nil
        }

        private func name(_ host: ArraySlice<Unicode.Scalar>) -> AddressFault? {
            let bytes = Self.bytes(host)
            guard NormalHost(bytes: bytes) == nil else { return nil }
            guard bytes.allSatisfy({ $0 < 0x80 }) else {
                return .reason("its host is no name of any script, or mixes what no name may mix")
            }
            let shown = String(decoding: bytes, as: UTF8.self).escapedForDisplay(limit: 64)
            return .reason("“\(shown)” cannot be a host")
        }

        private static func bytes(_ scalars: ArraySlice<Unicode.Scalar>) -> [UInt8] {
            Array(String(String.UnicodeScalarView(scalars)).utf8)
        }

        // MARK: - Characters

        /// Path, query and fragment.
        private func rest(from start: Int) -> AddressFault? {
            guard !encodes else { return nil }
            let hash = scalars[start...].firstIndex(of: "#") ?? scalars.endIndex
            let mark = scalars[start..<hash].firstIndex(of: "?") ?? hash
            if let fault = characters(start..<mark, .path, besides: ":@/") { return fault }
            if mark < hash, let fault = characters((mark + 1)..<hash, .query, besides: ":@/?") { return fault }
            guard hash < scalars.endIndex else { return nil }
            return characters((hash + 1)..<scalars.endIndex, .fragment, besides: ":@/?")
        }

        /// The first character of a range that is neither unreserved, nor a delimiter within a part, nor one of `others`.
        private func characters(_ range: Range<Int>, _ part: Part, besides others: StaticString = "") -> AddressFault? {
            for index in range {
                let scalar = scalars[index]
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": continue
                case "!", "$", "&", "'", "(", ")", "*", "+", ",", ";", "=": continue
                case "%":
                    let digits = scalars[(index + 1)..<range.upperBound].prefix(2)
                    guard digits.count == 2, digits.allSatisfy(\.properties.isASCIIHexDigit) else {
                        let sign = "the percent sign at character \(index + 1)"
                        let advice = part == .host ? "" : "; a percent sign itself is written as %25"
                        return .reason("\(sign) is not followed by two hexadecimal digits\(advice)")
                    }
                case _ where scalar.isASCII && others.withUTF8Buffer { $0.contains(UInt8(scalar.value)) }: continue
                // Letters of all scripts may be in a name; whether they are one is decided for the whole name.
                case _ where part == .host && !scalar.isASCII: continue
                default: return wrong(index, part)
                }
            }
            return nil
        }

        private func wrong(_ index: Int, _ part: Part) -> AddressFault {
            let scalar = scalars[index]
            let written = Self.bytes(scalars[index...index]).percentEncoded { _ in false }
            let code = String(decoding: written, as: UTF8.self)
            let advice = part == .host ? "which no host has" : "which is written as \(code)"
            let kind =
                switch scalar {
                case " ": "a space"
                case _ where scalar.value < 0x20 || scalar.value == 0x7F: "a control character"
                case _ where scalar.isASCII: "“\(scalar)”"
                default: "not ASCII"
                }
            // A letter in a query may be a part of a secret.
            guard scalar.isASCII || part == .path else {
                return .reason("character \(index + 1) is not ASCII, and is written as its bytes in UTF-8, each as %NN")
            }
            return .reason("character \(index + 1) is \(kind), \(advice)")
        }

        private static func isSchemeScalar(_ scalar: Unicode.Scalar, _ index: Int) -> Bool {
            switch scalar {
            case "a"..."z", "A"..."Z": true
            case "0"..."9", "+", "-", ".": index > 0
            default: false
            }
        }
    }
}
