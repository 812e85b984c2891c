import Foundation
import LadeCore
import Testing

@testable import LadeWire

@Suite("Settings of TLS that are checked when the transport is made", .timeLimit(.minutes(5)))
struct TLSContextTests {
    /// The name of the refused setting and the reason; nil when the settings are accepted.
    private func refusal(_ change: (inout TransportSettings.TLS) -> Void) -> (name: String, reason: String)? {
        var settings = TransportSettings.TLS()
        settings.trustsSystemAuthorities = false
        change(&settings)
        do throws(LoadingError) {
            _ = try TLSContext(settings, now: 0)
            return nil
        } catch {
            if case .invalidSetting(let name, let reason) = error.kind { return (name, reason) }
            return ("", "\(error)")
        }
    }

    @Test("refuses authorities and lists that are none")
    func authorities() throws {
        let good = try Identity("Root", isAuthority: true).pem
        let lines = String(decoding: good, as: UTF8.self).split(separator: "\n")
        var der = try #require(Data(base64Encoded: lines.dropFirst().dropLast().joined()))
        // The tag of the first element.
        der[der[1] == 0x81 ? 3 : 4] ^= 0xFF
        let text = "\(lines[0])\n\(der.base64EncodedString())\n\(lines[lines.count - 1])\n"
        let damaged = Data(text.utf8)
        #expect(refusal { $0.authorities = [.pem(good), .pem(good)] } == nil)
        let sources: [TransportSettings.TLS.CertificateSource] = [
            .pem(Data()), .pem(Data("text".utf8)), .pem(Data(good.dropLast(30))), .file("/nonexistent.pem"),
            .pem(Data("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".utf8)), .pem(damaged),
        ]
        for source in sources {
            #expect(refusal { $0.authorities = [.pem(good), source] }?.name == "authority", "\(source)")
        }
        #expect(refusal { $0.revocationLists = ["/nonexistent.pem"] }?.name == "revocation list")
    }

    @Test("wire WR-28 checks the client's identity: both files, the pass phrase, and that they belong together")
    func identity() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func write(_ bytes: Data) throws -> String {
            let file = folder.appending(path: UUID().uuidString)
            try bytes.write(to: file)
            return file.path
        }
        let client = try Identity("client")
        let certificate = try write(client.pem)
        let (plain, locked) = (try write(client.keyPEM()), try write(client.keyPEM(passphrase: "word")))
        let both = try write(client.pem + client.keyPEM())
        let other = try write(try Identity("other").keyPEM())
        let damaged = try write(Data("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n".utf8))
        let rows: [(certificate: String, key: String?, passphrase: String?, setting: String?, word: String)] = [
            (certificate, plain, nil, nil, ""), (certificate, locked, "word", nil, ""), (both, nil, nil, nil, ""),
            (certificate, plain, "unneeded", nil, ""), (certificate, locked, "wrong", "client key", "wrong"),
            (certificate, locked, nil, "client key", "needs a pass phrase"),
            (certificate, other, nil, "client key", "not that of the certificate"),
            (certificate, damaged, nil, "client key", "damaged"),
            (certificate, nil, nil, "client key", "no PRIVATE KEY"),
            (plain, plain, nil, "client certificate", "no CERTIFICATE"),
            ("/nonexistent", plain, nil, "client certificate", "/nonexistent"),
            (certificate, "/nonexistent", nil, "client key", "/nonexistent"),
            (certificate, locked, String(repeating: "x", count: 5_000), "client key", "pass phrase"),
        ]
        for row in rows {
            let refusal = refusal {
                $0.clientIdentity = TransportSettings.TLS.ClientIdentity(
                    certificateFile: row.certificate,
                    keyFile: row.key,
                    passphrase: row.passphrase.map { Secret($0) }
                )
            }
            #expect(refusal?.name == row.setting, "\(row): \(String(describing: refusal))")
            #expect(refusal?.reason.contains(row.word) ?? true, "\(row): \(String(describing: refusal))")
            #expect(refusal?.reason.contains("word") != true)
        }
    }
}
