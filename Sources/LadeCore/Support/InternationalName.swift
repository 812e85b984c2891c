#if canImport(CIDN2)
    import CIDN2
#else
    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif
#endif

/// Names of hosts in any script (RFC 5890): A-labels for the network, U-labels for people.
///
/// `bücher.example` is `xn--bcher-kva.example`. The mapping follows UTS 46 without its transitional form. On Linux libidn2
/// does it, whose rules about scripts and directions apply, on Apple platforms Foundation's `URL`.
enum InternationalName {
    /// The name in A-labels and lower case; nil when there is none.
    static func ascii(_ name: [UInt8]) -> [UInt8]? {
        // A C string ends at a NUL. A name that is longer than this has too many letters in any form.
        guard let text = String(validating: name, as: UTF8.self), !name.contains(0),
            name.count <= 4 * NormalHost.nameLimit
        else { return nil }
        #if canImport(CIDN2)
            guard let ascii = lade_idn2_to_ascii(text) else { return nil }
            defer { lade_idn2_free(ascii) }
            return String(cString: ascii).utf8.map(\.lowercasedASCII)
        #else
            // Only letters of a name: nothing may end the host within the address.
            guard name.allSatisfy({ $0 >= 0x80 || $0.isHostNameByte || $0 == 0x2E }) else { return nil }
            guard let host = URL(string: "http://\(text)/")?.host(percentEncoded: false), !host.isEmpty else {
                return nil
            }
            return host.utf8.map(\.lowercasedASCII)
        #endif
    }

    /// The name in U-labels; nil for a name without A-labels, or with ones that mean nothing.
    static func unicode(_ name: String) -> String? {
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.contains(where: { $0.prefix(4).map(\.lowercasedASCII).elementsEqual("xn--".utf8) }) else {
            return nil
        }
        #if canImport(CIDN2)
            guard let unicode = lade_idn2_to_unicode(name) else { return nil }
            defer { lade_idn2_free(unicode) }
            let text = String(cString: unicode)
            // A name that would not become the same name again is not shown.
            guard text != name,
                ascii(Array(text.utf8)).map({ $0.elementsEqual(name.utf8.map(\.lowercasedASCII)) }) == true
            else { return nil }
            return text
        #else
            return nil
        #endif
    }
}

extension String {
    /// A host for messages: a name in another script in both forms, `bücher.example (xn--bcher-kva.example)`.
    package var hostInBothForms: String {
        guard let unicode = InternationalName.unicode(self) else { return self }
        return "\(unicode.escapedForDisplay(limit: 253)) (\(self))"
    }

    /// The address with a host in another script written in A-labels; the same text when it has none.
    package var withASCIIHost: String {
        guard utf8.contains(where: { $0 >= 0x80 }) else { return self }
        let range = AddressParts(self).host
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        let end = utf8.index(start, offsetBy: range.count)
        let written = utf8[start..<end]
        guard written.contains(where: { $0 >= 0x80 }), let host = NormalHost(bytes: written)?.inURL else { return self }
        return String(self[..<start]) + host + self[end...]
    }
}
