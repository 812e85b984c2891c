#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import Testing

@testable import LadeCurl

@Suite("Settings that are checked when the transport is made", .timeLimit(.minutes(5)))
struct HandleSettingsTests {
    /// The smallest DER sequence, as a certificate in PEM form without a line end.
    private static func pem(_ kind: String = "CERTIFICATE", _ body: String = "MAA=") -> Data {
        Data("-----BEGIN \(kind)-----\n\(body)\n-----END \(kind)-----".utf8)
    }

    private static var direct: TransportSettings {
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.tls.trustsSystemAuthorities = false
        return settings
    }

    /// The name of the refused setting and the reason; nil when the settings are accepted.
    private func refusal(_ settings: TransportSettings) -> (name: String, reason: String)? {
        do throws(LoadingError) {
            _ = try HandleSettings(settings)
            return nil
        } catch {
            if case .invalidSetting(let name, let reason) = error.kind { return (name, reason) }
            return ("", "\(error)")
        }
    }

    @Test("authorities are merged into one file for the owner alone, which is deleted with the settings")
    func mergesAuthorities() throws {
        var settings = Self.direct
        settings.tls.authorities = [.pem(Self.pem()), .pem(Self.pem())]
        var made: HandleSettings? = try HandleSettings(settings)
        let path = try #require(made?.authorityFile)

        let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)

        #expect(attributes[.posixPermissions] as? Int == 0o600)
        // Each block ends its own line, although the given bytes do not.
        #expect(text.split(separator: "\n").filter { $0 == "-----BEGIN CERTIFICATE-----" }.count == 2)
        made = nil
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("the file of an authority is trusted alone, or beside the authorities of the system")
    func namedAuthority() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString).pem")
        try Self.pem().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var settings = Self.direct
        settings.tls.authorities = [.file(file.path)]
        #expect(try HandleSettings(settings).authorityFile == file.path)

        settings.tls.trustsSystemAuthorities = true
        let both = try HandleSettings(settings)
        let path = try #require(both.authorityFile)
        settings.tls.authorities = []
        let system = try HandleSettings(settings).authorityFile
        // A machine without authorities of its own has the given ones only.
        let expected = try (system.map { try Data(contentsOf: URL(filePath: $0)) } ?? Data()) + Self.pem()
        let trusted = try Data(contentsOf: URL(filePath: path))
        #expect(Self.lines(trusted) == Self.lines(expected))
        #expect((path == file.path) == (system == nil))
    }

    private static func lines(_ bundle: Data) -> [Substring] {
        String(decoding: bundle, as: UTF8.self).split(whereSeparator: \.isNewline)
    }

    @Test(
        "refuses what is no certificate, and names the setting",
        arguments: [
            (pem(), nil), (pem("X509 CRL"), "authority"), (pem("CERTIFICATE", "AAAA"), "authority"),
            (pem("CERTIFICATE", "%"), "authority"), (Data(pem().dropLast(25)), "authority"), (Data(), "authority"),
        ] as [(Data, String?)]
    )
    func checksAuthorities(bytes: Data, name: String?) {
        var settings = Self.direct
        settings.tls.authorities = [.pem(bytes)]

        #expect(refusal(settings)?.name == name)
    }

    @Test("refuses a client identity whose certificate or key cannot be read")
    func checksIdentity() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (certificate, key) = (folder + "/certificate", folder + "/key")
        try Self.pem().write(to: URL(filePath: certificate))
        try Self.pem("PRIVATE KEY").write(to: URL(filePath: key))
        var settings = Self.direct

        settings.tls.clientIdentity = .init(certificateFile: certificate, keyFile: key)
        #expect(refusal(settings) == nil)
        settings.tls.clientIdentity = .init(certificateFile: folder + "/none", keyFile: key)
        #expect(refusal(settings)?.name == "client certificate")
        // The file of the certificate has no key.
        settings.tls.clientIdentity = .init(certificateFile: certificate)
        #expect(refusal(settings)?.name == "client key")
    }

    @Test(
        "refuses what is no host of a proxy, and ports out of range",
        arguments: [
            ("proxy.test", 1, true), ("proxy.test", 65_535, true), ("::1", 80, true), ("[::1]", 80, true),
            ("proxy.test", 0, false), ("proxy.test", 65_536, false), ("", 80, false), ("a/b", 80, false),
            ("user@proxy.test", 80, false), ("a b", 80, false), ("a\r\nb", 80, false), ("\u{7F}", 80, false),
            ("bücher.test", 80, false),
        ]
    )
    func checksProxy(host: String, port: Int, isValid: Bool) {
        var settings = Self.direct
        settings.proxy = .proxy(.init(.http, host: host, port: port))

        #expect(refusal(settings)?.name == (isValid ? nil : "proxy"))
    }
}
