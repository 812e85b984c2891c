import Foundation
import Lade
import SharedDoubles
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct SessionFileTests {
    private func session(_ folder: TemporaryFolder, _ text: String? = nil) throws -> SessionFile {
        let path = folder.path + "s.json"
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

        #expect(
            session.fields.map { "\($0.name): \($0.value)" } == ["Cookie: a=b", "x-a: 3", "Authorization: Basic x"]
        )
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

        try session(folder).save(jar, Console())

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
        #expect(error.code == .localFile)
        #expect(error.what.contains("is damaged"))
    }

    @Test("takes for a name only what is one, and a path by its slash")
    func names() {
        for name in ["a.b-c_1", "./.x", "/x/y z"] { #expect(throws: Never.self) { try SessionFile.check(name) } }
        for name in ["", ".x", "a b", "ä", "a:b"] {
            #expect(throws: CommandError.self, "\(name)") { try SessionFile.check(name) }
        }
    }

    private func cookie(_ name: String, _ value: String = "v", domain: String = "h") -> Cookie {
        Cookie(name: name, value: Secret(value), domain: domain)
    }

    private func jar(_ cookies: [Cookie]) -> CookieJar {
        let jar = CookieJar()
        for cookie in cookies { jar.insert(cookie, at: Date(timeIntervalSince1970: 1_000_000_000)) }
        return jar
    }

    @Test("finding HF-11 a call changes only what it was given and what its responses set")
    func merging() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var login = try session(folder)
        login.update(with: [.set("X-Old", "1"), .set("X-Both", "1")], authorization: nil)
        try login.save(jar([cookie("keep"), cookie("renewed", "1"), cookie("gone")]), Console())
        var slow = try session(folder)
        var quick = try session(folder)

        quick.update(with: [.set("X-Quick", "1"), .remove("X-Old"), .set("X-Both", "2")], authorization: "Basic q")
        try quick.save(jar([cookie("keep"), cookie("renewed", "2"), cookie("gone"), cookie("login")]), Console())
        slow.update(with: [.set("X-Slow", "1")], authorization: nil)
        try slow.save(jar([cookie("keep"), cookie("renewed", "1"), cookie("late")]), Console())

        let result = try session(folder)
        let fields = result.fields.map { "\($0.name): \($0.value)" }
        #expect(fields == ["X-Quick: 1", "X-Both: 2", "Authorization: Basic q", "X-Slow: 1"])
        #expect(result.cookies.map(\.name).sorted() == ["keep", "late", "login", "renewed"])
        #expect(result.cookies.first { $0.name == "renewed" }?.value.reveal() == "2")
    }

    @Test("finding PT-7 a cookie that one call lost does not remove the newer one of another call")
    func lostCookies() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try session(folder).save(jar([cookie("sid", "1"), cookie("old", "1")]), Console())
        let quick = try session(folder)
        let slow = try session(folder)

        try quick.save(jar([cookie("sid", "2"), cookie("old", "1")]), Console())
        try slow.save(jar([]), Console())

        // What nobody has renewed is removed.
        let kept = try session(folder).cookies
        #expect(kept.map { "\($0.name)=\($0.value.reveal())" } == ["sid=2"])
    }

    @Test(
        "finding LX-5 the refresh tokens of a session stay when its cookies and fields are saved, and the other way round"
    )
    func refreshTokens() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var first = try session(folder)
        let other = try session(folder)
        first.update(with: [.set("X-A", "1")], authorization: nil)
        try other.keep("r1", of: "me at https://id/", inPlaceOf: "r0")
        try first.save(jar([cookie("sid")]), Console())
        try other.keep("r2", of: "me at https://id/", inPlaceOf: nil)
        try other.keep("q1", of: "me at https://other/", inPlaceOf: "q0")

        let result = try session(folder)
        #expect(result.fields.map(\.name) == ["X-A"] && result.cookies.map(\.name) == ["sid"])
        #expect(result.refreshToken(of: "me at https://id/", inPlaceOf: "r0") == "r2")
        #expect(result.refreshToken(of: "me at https://id/", inPlaceOf: nil) == "r2")
        #expect(result.refreshToken(of: "me at https://id/", inPlaceOf: "another") == nil)
        #expect(result.refreshToken(of: "you at https://id/", inPlaceOf: "r0") == nil)
    }

    @Test("finding CF-29 keeps the cookies that the user gives, until a server sets or the user removes them")
    func givenCookies() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var first = try session(folder)
        first.update(with: [.set("Cookie", "a=1; b=2"), .set("Cookie", "b=3;c=4; =x")], authorization: nil)
        try first.save(jar([]), Console())
        #expect(try session(folder).fields.map(\.value) == ["a=1; b=3; c=4; =x"])

        try session(folder).save(jar([cookie("b", "9")]), Console())
        #expect(try session(folder).fields.map(\.value) == ["a=1; c=4; =x"])
        #expect(try session(folder).cookies.map(\.name) == ["b"])

        var last = try session(folder)
        last.update(with: [.remove("Cookie")], authorization: nil)
        try last.save(jar([]), Console())
        #expect(try session(folder).fields.isEmpty)
    }

    @Test("finding HF-10 what is written can be read: the oldest cookies go")
    func limit() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let value = String(repeating: "\"", count: 4_000)
        let old = (0..<40).map { cookie("old\($0)", value, domain: "a\($0 % 20).h") }
        try session(folder).save(jar(old), Console())
        let new = (0..<900).map { cookie("new\($0)", value, domain: "b\($0 % 20).h") }

        try session(folder).save(jar(old + new), Console())

        let kept = try session(folder).cookies.map(\.name)
        #expect(kept.count > 400)
        #expect(kept.count < 900)
        #expect(kept.allSatisfy { $0.hasPrefix("new") })
        let size = try FileManager.default.attributesOfItem(atPath: folder.path + "s.json")[.size] as? Int ?? 0
        #expect(size <= 4 << 20 && size > 4_000_000)
    }

    @Test("finding CF-17 keeps the octets of cookies")
    func octets() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var cookie = cookie("n")
        cookie.octets = (name: [0x6E, 0xE9], value: Array(0x80...0xFF))

        try session(folder).save(jar([cookie]), Console())

        let octets = try #require(try session(folder).cookies.first?.octets)
        #expect(octets.name == [0x6E, 0xE9])
        #expect(octets.value == Array(0x80...0xFF))
    }

    @Test("finding CF-27 a session is never opened through a link")
    func link() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let target = try folder.file("target", #"{"origin":"https://h:443","cookies":[],"headers":[]}"#)
        chmod(target, 0o600)
        try FileManager.default.createSymbolicLink(atPath: folder.path + "s.json", withDestinationPath: target)

        let error = try #require(throws: CommandError.self) { try session(folder) }

        #expect(error.what.contains("is a symbolic link"))
    }
}
