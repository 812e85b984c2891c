#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The hosts that are connected to directly although there is a proxy: one grammar for settings and for `no_proxy`.
///
/// | entry | excepts |
/// | --- | --- |
/// | `*` | every host |
/// | `example.com`, `.example.com` | this name and all names below it |
/// | `*.example.com` | all names below it |
/// | `192.0.2.7`, `2001:db8::7`, `[2001:db8::7]` | this address, in any notation |
/// | `192.0.2.0/24`, `2001:db8::/32` | these addresses |
/// | `192.0.2.` | the addresses that begin so |
/// | `example.com:8080`, `192.0.2.7:8080`, `[2001:db8::7]:8080` | the same, at this port only |
///
/// A name is not resolved: an entry for an address excepts only URLs with that address.
package struct ProxyExceptions: Sendable, Hashable {
    private enum Target: Sendable, Hashable {
        case all
        case name(String, isItself: Bool)
        case address(String)
        case network([UInt8], bits: Int)
    }

    private struct Entry: Sendable, Hashable {
        var target: Target
        var port: Int?
    }

    private var entries: [Entry] = []

    /// No exception.
    package init() {}

    /// The exceptions of the settings.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for an entry that is none of the grammar.
    package init(_ texts: [String]) throws(LoadingError) {
        for text in texts {
            guard let entry = Self.entry(text) else {
                throw LoadingError(
                    .invalidSetting(
                        name: "proxy.exceptions",
                        reason: "“\(text.escapedForDisplay(limit: 80))” is no name, address, network or *"
                    )
                )
            }
            entries.append(entry)
        }
    }

    /// The exceptions of a variable of the environment, separated by commas or spaces.
    ///
    /// - Parameter text: The value of the variable.
    /// - Returns: The exceptions, and the entries that are none of the grammar.
    package static func reading(_ text: String) -> (exceptions: ProxyExceptions, ignored: [String]) {
        var exceptions = ProxyExceptions()
        var ignored: [String] = []
        for part in list(text) {
            if let entry = entry(part) { exceptions.entries.append(entry) } else { ignored.append(part) }
        }
        return (exceptions, ignored)
    }

    /// The entries of a text that separates them by commas or spaces.
    package static func list(_ text: String) -> [String] {
        text.utf8.split { $0 == UInt8(ascii: ",") || $0 == 0x20 || $0 == 0x09 }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Whether there is none.
    package var isEmpty: Bool { entries.isEmpty }

    /// Whether a host is connected to directly.
    ///
    /// - Parameters:
    ///   - host: The host, an IPv6 address with or without brackets.
    ///   - port: The port that is connected to.
    /// - Returns: Whether an entry excepts it.
    package func covers(_ host: String, port: Int) -> Bool {
        guard !entries.isEmpty, let host = NormalHost(host) else { return false }
        return entries.contains { entry in
            guard entry.port.map({ $0 == port }) ?? true else { return false }
            switch entry.target {
            case .all: return true
            case .address(let text): return host.isAddress && host.text == text
            case .name(let name, let isItself):
                guard host.kind == .name else { return false }
                return host.text == name ? isItself : host.text.hasSuffix("." + name)
            case .network(let bytes, let bits):
                guard let own = Self.bytes(host), own.count == bytes.count else { return false }
                return Self.prefix(own, bits) == Self.prefix(bytes, bits)
            }
        }
    }

    // MARK: - Reading

    private static func entry(_ text: String) -> Entry? {
        var bytes = Array(text.utf8)[...]
        guard !bytes.elementsEqual("*".utf8) else { return Entry(target: .all) }
        var port: Int?
        let colons = bytes.count { $0 == UInt8(ascii: ":") }
        let end = bytes.lastIndex(of: UInt8(ascii: "]"))
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colons == 1 || end == colon - 1 {
            guard let number = Whole.count(String(decoding: bytes[(colon + 1)...], as: UTF8.self)),
                (1...65_535).contains(number), bytes[colon...].dropFirst().first != 0x20
            else { return nil }
            port = Int(number)
            bytes = bytes[..<colon]
        }
        return target(bytes).map { Entry(target: $0, port: port) }
    }

    private static func target(_ bytes: ArraySlice<UInt8>) -> Target? {
        if let slash = bytes.firstIndex(of: UInt8(ascii: "/")) {
            guard let base = NormalHost(bytes: bytes[..<slash]), let address = Self.bytes(base),
                let bits = Whole.count(String(decoding: bytes[(slash + 1)...], as: UTF8.self)),
                bits <= address.count * 8
            else { return nil }
            return .network(address, bits: Int(bits))
        }
        if let start = beginning(bytes) {
            return .network(start + Array(repeating: 0, count: 4 - start.count), bits: start.count * 8)
        }
        if bytes.starts(with: "*.".utf8) {
            guard let name = NormalHost(bytes: bytes.dropFirst(2)), name.kind == .name else { return nil }
            return .name(name.text, isItself: false)
        }
        let rest = bytes.first == UInt8(ascii: ".") ? bytes.dropFirst() : bytes
        guard let host = NormalHost(bytes: rest) else { return nil }
        guard host.isAddress else { return .name(host.text, isItself: true) }
        guard bytes.last != UInt8(ascii: ".") else { return nil }
        return rest.count == bytes.count ? .address(host.text) : nil
    }

    /// The bytes of `192.0.2.`; nil for anything else.
    private static func beginning(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        guard bytes.last == UInt8(ascii: "."), bytes.contains(where: { $0 != UInt8(ascii: ".") }) else { return nil }
        let parts = bytes.dropLast().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        let numbers = parts.compactMap { part in
            part.allSatisfy(\.isDigit)
                ? Whole.count(String(decoding: part, as: UTF8.self)).flatMap { UInt8(exactly: $0) } : nil
        }
        return numbers.count == parts.count ? numbers : nil
    }

    /// The bytes of an address; nil for a name.
    private static func bytes(_ host: NormalHost) -> [UInt8]? {
        guard host.isAddress else { return nil }
        var bytes = [UInt8](repeating: 0, count: host.kind == .ipv4 ? 4 : 16)
        // A zone says nothing about the address.
        let text = String(host.text.prefix { $0 != "%" })
        return inet_pton(host.kind == .ipv4 ? AF_INET : AF_INET6, text, &bytes) == 1 ? bytes : nil
    }

    private static func prefix(_ bytes: [UInt8], _ bits: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let kept = min(8, max(0, bits - 8 * index))
            return kept == 0 ? 0 : byte & (0xFF << (8 - UInt8(kept)))
        }
    }
}

/// The proxies that the environment names, as curl reads them.
///
/// `http_proxy` in lower case only, because a CGI client can set `HTTP_PROXY` with a field; `https_proxy`, `all_proxy` and
/// `no_proxy` in lower case, then in upper case. An empty variable counts as unset.
package struct EnvironmentProxies: Sendable, Hashable {
    /// The proxy for a request.
    package struct Found: Sendable, Hashable {
        /// The value of the variable.
        package let address: Secret
        /// The name of the variable.
        package let variable: String

        /// Host and port, without a user name and a password, and where they come from.
        package var name: String {
            let text = address.reveal()
            let bytes = Array(text.utf8)
            let start = bytes.firstRange(of: Array("://".utf8))?.upperBound ?? 0
            let authority = bytes[start...].prefix { $0 != UInt8(ascii: "/") }
            let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
            return String(decoding: host, as: UTF8.self).escapedForDisplay(limit: 100) + " (from \(variable))"
        }
    }

    private var variables: [String: String] = [:]
    /// The variable with the exceptions; nil without one.
    package private(set) var exceptionsVariable: String?
    /// The hosts that are connected to directly.
    package private(set) var exceptions = ProxyExceptions()
    /// The exceptions that are not understood.
    package private(set) var ignored: [String] = []

    /// Reads the variables.
    ///
    /// - Parameters:
    ///   - environment: The variables of the environment.
    ///   - replaced: Exceptions in place of those of `no_proxy`; nil for those.
    package init(_ environment: [String: String], exceptions replaced: ProxyExceptions? = nil) {
        for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            if let value = environment[name], !value.isEmpty { variables[name] = value }
        }
        if let replaced {
            exceptions = replaced
            return
        }
        exceptionsVariable = ["no_proxy", "NO_PROXY"].first { environment[$0]?.isEmpty == false }
        (exceptions, ignored) = ProxyExceptions.reading(exceptionsVariable.flatMap { environment[$0] } ?? "")
    }

    /// Whether there is no proxy for any request.
    package var isEmpty: Bool { variables.isEmpty }

    /// The proxy for an address; nil for none.
    ///
    /// This machine is connected to directly.
    package func proxy(isSecure: Bool, host: String, port: Int) -> Found? {
        guard !isEmpty else { return nil }
        let names = (isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]) + ["all_proxy", "ALL_PROXY"]
        guard let variable = names.first(where: { variables[$0] != nil }), let address = variables[variable],
            NormalHost(host)?.isLoopback != true, !exceptions.covers(host, port: port)
        else { return nil }
        return Found(address: Secret(address), variable: variable)
    }
}
