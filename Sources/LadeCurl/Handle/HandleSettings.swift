#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CCurl
import LadeCore

/// The transport's settings in libcurl's form, checked once when the transport is made.
struct HandleSettings: Sendable {
    let settings: TransportSettings
    /// The file of trusted authorities; with nil no authority is trusted.
    let authorityFile: String?
    /// The file of all revocation lists.
    let revocationFile: String?
    /// The hosts that the proxy of the settings is not used for.
    let exceptions: ProxyExceptions
    /// The proxies of the environment; nil when there are none, and when the settings say which proxy is used.
    let environment: EnvironmentProxies?
    /// Files that were made for this transport and are deleted with it.
    let temporaryFiles: TemporaryFiles

    /// Checks the settings and makes the files libcurl needs.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` naming the setting.
    init(_ settings: TransportSettings) throws(LoadingError) {
        self.settings = settings
        temporaryFiles = TemporaryFiles()
        try Self.checkLimits(settings)
        authorityFile = try Self.authorities(settings.tls, temporaryFiles)
        revocationFile = try Self.revocationLists(settings.tls, temporaryFiles)
        if let identity = settings.tls.clientIdentity {
            try Self.checkPEM(identity.certificateFile, "CERTIFICATE", setting: "client certificate")
            try Self.checkPEM(identity.keyFile ?? identity.certificateFile, "PRIVATE KEY", setting: "client key")
        }
        if case .proxy(let proxy) = settings.proxy {
            try Self.check(proxy)
            exceptions = try ProxyExceptions(proxy.exceptions)
        } else {
            exceptions = ProxyExceptions()
        }
        if case .environment = settings.proxy {
            let replaced = try settings.environmentExceptions.map { list throws(LoadingError) in
                try ProxyExceptions(list)
            }
            let proxies = EnvironmentProxies(ProcessInfo.processInfo.environment, exceptions: replaced)
            environment = proxies.isEmpty ? nil : proxies
        } else {
            environment = nil
        }
        guard settings.tls.pinScope == .leaf else {
            let reason = "libcurl compares the key of the server's own certificate only"
            throw LoadingError(.invalidSetting(name: "tls.pinScope", reason: reason))
        }
    }

    private static func checkLimits(_ settings: TransportSettings) throws(LoadingError) {
        let positive = [
            ("connections.total", settings.connections.total), ("connections.perHost", settings.connections.perHost),
            ("connections.streamsPerHost", settings.connections.streamsPerHost),
            ("limits.headBytes", settings.limits.headBytes), ("limits.headFields", settings.limits.headFields),
            ("limits.decompressionRatio", settings.limits.decompressionRatio),
            ("limits.streamHighWater", settings.limits.streamHighWater),
        ]
        for (name, value) in positive where value < 1 {
            throw LoadingError(.invalidSetting(name: name, reason: "\(value) is less than 1"))
        }
    }

    private static func check(_ proxy: ProxySettings.Proxy) throws(LoadingError) {
        guard (1...65_535).contains(proxy.port) else {
            throw LoadingError(.invalidSetting(name: "proxy", reason: "port \(proxy.port) is not within 1 to 65535"))
        }
        let allowed = proxy.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F && $0 != 0x40 }
        guard !proxy.host.isEmpty, allowed else {
            let shown = proxy.host.escapedForDisplay()
            throw LoadingError(.invalidSetting(name: "proxy", reason: "“\(shown)” is no host"))
        }
    }

    // MARK: - Certificates

    /// The paths at which Linux distributions keep the bundle of trusted authorities.
    ///
    /// `SSL_CERT_FILE` takes precedence, as in OpenSSL.
    private static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    private static func systemBundle() -> String? {
        let named = ProcessInfo.processInfo.environment["SSL_CERT_FILE"].map { [$0] } ?? []
        return (named + systemBundles).first { FileManager.default.isReadableFile(atPath: $0) }
    }

    /// Merges all authorities into one file.
    ///
    /// libcurl caches a parsed trust store only for a single file. It parses a directory, or bytes in memory, again for
    /// every connection, which takes 17 ms.
    private static func authorities(
        _ tls: TLSSettings,
        _ temporaryFiles: TemporaryFiles
    ) throws(LoadingError) -> String? {
        let system = tls.trustsSystemAuthorities ? systemBundle() : nil
        guard !tls.authorities.isEmpty else { return system }
        if system == nil, tls.authorities.count == 1, case .file(let path) = tls.authorities[0] {
            try checkPEM(path, "CERTIFICATE", setting: "authority")
            return path
        }
        // A system bundle that cannot be read is treated as missing.
        var bundle = Data()
        if let system, let bytes = try? FileContents.read(system, limit: fileLimit, kind: "PEM") { bundle = bytes }
        for authority in tls.authorities {
            switch authority {
            case .file(let path): bundle.append(try checkPEM(path, "CERTIFICATE", setting: "authority"))
            case .pem(let bytes):
                try checkPEM(bytes, "CERTIFICATE", setting: "authority", source: "the given bytes")
                bundle.append(bytes)
            }
            bundle.append(0x0A)
        }
        return try temporaryFiles.make(bundle, setting: "authority")
    }

    private static func revocationLists(
        _ tls: TLSSettings,
        _ temporaryFiles: TemporaryFiles
    ) throws(LoadingError) -> String? {
        guard !tls.revocationLists.isEmpty else { return nil }
        var lists = Data()
        for path in tls.revocationLists {
            lists.append(try checkPEM(path, "X509 CRL", setting: "revocation list"))
            lists.append(0x0A)
        }
        return tls.revocationLists.count == 1
            ? tls.revocationLists[0] : try temporaryFiles.make(lists, setting: "revocation list")
    }

    // Revocation lists are the largest of these files; those of public authorities have some MiB.
    private static let fileLimit = 64 << 20

    @discardableResult
    private static func checkPEM(_ path: String, _ kind: String, setting: String) throws(LoadingError) -> Data {
        let bytes: Data
        do throws(LoadingError) {
            bytes = try FileContents.read(path, limit: fileLimit, kind: "PEM")
        } catch {
            guard case .file(let fault) = error.kind else { throw error }
            throw LoadingError(
                .invalidSetting(
                    name: setting,
                    reason: "the file \(path) cannot be read: \(fault.reason)"
                )
            )
        }
        try checkPEM(bytes, kind, setting: setting, source: "the file \(path)")
        return bytes
    }

    private static func checkPEM(
        _ bytes: Data,
        _ kind: String,
        setting: String,
        source: String
    ) throws(LoadingError) {
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.unicodeScalars.split { $0 == "\n" || $0 == "\r" }.map { Substring($0) }
        let begins = lines.firstIndex { $0.hasPrefix("-----BEGIN ") && $0.contains(kind) }
        guard let begins, let ends = lines[begins...].firstIndex(where: { $0.hasPrefix("-----END ") }) else {
            throw LoadingError(.invalidSetting(name: setting, reason: "\(source) has no \(kind) in PEM form"))
        }
        // Header lines of encrypted keys (RFC 1421) contain a colon; the remaining lines must be base64 of a DER
        // sequence.
        let body = lines[(begins + 1)..<ends].filter { !$0.contains(":") }.joined()
        guard let der = Data(base64Encoded: body), der.first == 0x30 || lines[begins].contains("ENCRYPTED") else {
            throw LoadingError(.invalidSetting(name: setting, reason: "the \(kind) in \(source) is damaged"))
        }
    }
}

/// Files that are deleted with their owner.
final class TemporaryFiles: Sendable {
    private let paths = Locked<[String]>([])

    deinit {
        // The file may have been deleted already.
        for path in paths.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Writes a file that only its owner can read.
    func make(_ bytes: Data, setting: String) throws(LoadingError) -> String {
        let name = "lade-" + UUID().uuidString + ".pem"
        let path = FileManager.default.temporaryDirectory.appending(path: name).path
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: path, contents: bytes, attributes: attributes) else {
            throw LoadingError(.invalidSetting(name: setting, reason: "a temporary file could not be written"))
        }
        paths.withLock { $0.append(path) }
        return path
    }
}
