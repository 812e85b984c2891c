import Foundation
import Lade
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct SessionFileTests {
    private func session(_ folder: TemporaryFolder, _ text: String? = nil) throws -> SessionFile {
        let path = folder.path + "/s.json"
        if let text {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        return try SessionFile(path, for: Origin("https://h/"))
    }

    @Test("keeps each field of a call once, and none that belongs to one request")
    func fields() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var session = try session(folder)

        session.update(
            with: [
                .set("X-A", "1"), .set("If-None-Match", "\"1\""), .set("Content-Type", "a/b"),
                .set("Range", "bytes=0-"),
                .set("Cookie", "a=b"), .set("X-B", "2"),
            ],
            authorization: nil
        )
        session.update(with: [.set("x-a", "3"), .remove("X-B")], authorization: "Basic x")

        #expect(session.fields.map { "\($0.name): \($0.value)" } == ["x-a: 3", "Authorization: Basic x"])
    }

    @Test("keeps cookies with every attribute, so that none is sent more widely or for longer")
    func cookies() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let jar = CookieJar()
        for (index, isWide) in [false, true].enumerated() {
            var cookie = Cookie(
                name: "n\(index)",
                value: Secret("v"),
                domain: "h.example",
                isHostOnly: !isWide,
                path: "/\(index)",
                expires: isWide ? nil : Date(timeIntervalSince1970: 4_000_000_000),
                isSecure: !isWide
            )
            cookie.isHTTPOnly = !isWide
            jar.insert(cookie, at: Date(timeIntervalSince1970: 1_000_000_000))
        }
        #expect(jar.cookies.count == 2)

        try session(folder).save(jar)

        let cookies = try session(folder).cookies
        #expect(CookieText.text(cookies) == CookieText.text(jar.cookies))
    }

    @Test("refuses a file whose fields would add lines to a request")
    func damage() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let start = #"{"origin":"https://h:443","cookies":[],"headers":[["X-A",""#
        #expect(try session(folder, start + #"b"]]}"#).fields.map(\.value) == ["b"])
        let error = try #require(throws: CommandError.self) { try session(folder, start + #"b\r\nX-C: d"]]}"#) }
        #expect(error.code == .localFile && error.what.contains("is damaged"))
    }

    @Test("takes for a name only what is one, and a path by its slash")
    func names() {
        for name in ["a.b-c_1", "./.x", "/x/y z"] { #expect(throws: Never.self) { try SessionFile.check(name) } }
        for name in ["", ".x", "a b", "ä", "a:b"] {
            #expect(throws: CommandError.self, "\(name)") { try SessionFile.check(name) }
        }
    }
}
