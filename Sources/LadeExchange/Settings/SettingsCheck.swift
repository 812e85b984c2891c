#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCore

/// Checks of settings that every transport makes when it is made; they throw `LoadingError.Kind.invalidSetting`.
package enum SettingsCheck {
    /// Checks that no limit is below 1.
    package static func limits(_ settings: TransportSettings) throws(LoadingError) {
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

    /// Checks host and port of a proxy.
    package static func proxy(_ proxy: TransportSettings.ProxyChoice.Proxy) throws(LoadingError) {
        guard (1...65_535).contains(proxy.port) else {
            throw LoadingError(.invalidSetting(name: "proxy", reason: "port \(proxy.port) is not within 1 to 65535"))
        }
        let allowed = proxy.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F && $0 != 0x40 }
        guard !proxy.host.isEmpty, allowed else {
            let shown = proxy.host.escapedForDisplay()
            throw LoadingError(.invalidSetting(name: "proxy", reason: "“\(shown)” is no host"))
        }
    }

    /// The proxies of the environment, that of the process by default; nil when there are none.
    package static func environmentProxies(
        _ settings: TransportSettings,
        _ environment: [String: String]? = nil
    ) throws(LoadingError) -> EnvironmentProxies? {
        let replaced = try settings.environmentExceptions.map { list throws(LoadingError) in
            try ProxyExceptions(list)
        }
        let proxies = EnvironmentProxies(environment ?? ProcessInfo.processInfo.environment, exceptions: replaced)
        return proxies.isEmpty ? nil : proxies
    }

    // MARK: - Certificates

    /// The paths at which Linux distributions keep the bundle of trusted authorities.
    ///
    /// `SSL_CERT_FILE` takes precedence, as in OpenSSL.
    private static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// The first bundle of the system that can be read; nil without one.
    package static func systemBundle() -> String? {
        let named = ProcessInfo.processInfo.environment["SSL_CERT_FILE"].map { [$0] } ?? []
        return (named + systemBundles).first { FileManager.default.isReadableFile(atPath: $0) }
    }

    // Revocation lists are the largest of these files; those of public authorities have some MiB.
    package static let fileLimit = 64 << 20

    /// Reads a PEM file and checks that it has the content that the setting needs.
    @discardableResult
    package static func pem(_ path: String, _ kind: String, setting: String) throws(LoadingError) -> Data {
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
        try pem(bytes, kind, setting: setting, source: "the file \(path)")
        return bytes
    }

    /// Checks that bytes have the form that the setting needs, in PEM.
    package static func pem(
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
