#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CCurl
import LadeCore
import LadeExchange

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
        try SettingsCheck.limits(settings)
        authorityFile = try Self.authorities(settings.tls, temporaryFiles)
        revocationFile = try Self.revocationLists(settings.tls, temporaryFiles)
        if let identity = settings.tls.clientIdentity {
            try SettingsCheck.pem(identity.certificateFile, "CERTIFICATE", setting: "client certificate")
            try SettingsCheck.pem(identity.keyFile ?? identity.certificateFile, "PRIVATE KEY", setting: "client key")
        }
        if case .proxy(let proxy) = settings.proxy {
            try SettingsCheck.proxy(proxy)
            exceptions = try ProxyExceptions(proxy.exceptions)
        } else {
            exceptions = ProxyExceptions()
        }
        if case .environment = settings.proxy {
            environment = try SettingsCheck.environmentProxies(settings)
        } else {
            environment = nil
        }
        guard settings.tls.pinScope == .leaf else {
            let reason = "libcurl compares the key of the server's own certificate only"
            throw LoadingError(.invalidSetting(name: "tls.pinScope", reason: reason))
        }
    }

    /// Merges all authorities into one file.
    ///
    /// libcurl caches a parsed trust store only for a single file. It parses a directory, or bytes in memory, again for
    /// every connection, which takes 17 ms.
    private static func authorities(
        _ tls: TransportSettings.TLS,
        _ temporaryFiles: TemporaryFiles
    ) throws(LoadingError) -> String? {
        let system = tls.trustsSystemAuthorities ? SettingsCheck.systemBundle() : nil
        guard !tls.authorities.isEmpty else { return system }
        if system == nil, tls.authorities.count == 1, case .file(let path) = tls.authorities[0] {
            try SettingsCheck.pem(path, "CERTIFICATE", setting: "authority")
            return path
        }
        // A system bundle that cannot be read is treated as missing.
        var bundle = Data()
        if let system, let bytes = try? FileContents.read(system, limit: SettingsCheck.fileLimit, kind: "PEM") {
            bundle = bytes
        }
        for authority in tls.authorities {
            switch authority {
            case .file(let path): bundle.append(try SettingsCheck.pem(path, "CERTIFICATE", setting: "authority"))
            case .pem(let bytes):
                try SettingsCheck.pem(bytes, "CERTIFICATE", setting: "authority", source: "the given bytes")
                bundle.append(bytes)
            }
            bundle.append(0x0A)
        }
        return try temporaryFiles.make(bundle, setting: "authority")
    }

    private static func revocationLists(
        _ tls: TransportSettings.TLS,
        _ temporaryFiles: TemporaryFiles
    ) throws(LoadingError) -> String? {
        guard !tls.revocationLists.isEmpty else { return nil }
        var lists = Data()
        for path in tls.revocationLists {
            lists.append(try SettingsCheck.pem(path, "X509 CRL", setting: "revocation list"))
            lists.append(0x0A)
        }
        return tls.revocationLists.count == 1
            ? tls.revocationLists[0] : try temporaryFiles.make(lists, setting: "revocation list")
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
