import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// One table of hostile texts over every parser of text.
///
/// Each parser reads “`NAME` delimiter `VALUE`”, with what follows the delimiter taken from the table. The value is found
/// whole, by its bytes, or the text is refused; it is never part of the name or of another line.
@Suite("Parsers of text", .timeLimit(.minutes(5)))
struct ParsersOfTextTests {
    /// What can follow a delimiter, and whether a file may have it within a line.
    static let followers: [(text: String, isPlain: Bool)] = [
        ("", true), ("\u{301}", true), ("\u{301}\u{302}\u{303}", true), ("\u{200D}", true), ("\u{FE0F}", true),
        ("\u{20E3}", true), ("\u{FEFF}", true), ("\u{E0100}", true), ("\r", false), ("\0", false), ("\u{1B}", false),
    ]

    /// How lines of a file end.
    static let lineEnds = ["\n", "\r\n"]

    /// A parser of values of the command line; returns what it found as the value.
    private static let parsers: [(name: String, parse: @Sendable (String) throws -> String)] = [
        ("item =", { try item("a=\($0)x") }), ("item ==", { try item("a==\($0)x") }),
        ("item :", { try item("a:\($0)x") }), ("item :=@", { try item("a:=@\($0)x") }),
        ("item =@", { try item("a=@\($0)x") }), ("item @", { try item("a@\($0)x") }),
        ("header line", { try set(HeaderEdit(line: "a:\($0)x")) }),
        ("header line with a space", { try set(HeaderEdit(line: "a: \($0)x")) }),
        ("--option=", { try option("--header=a:\($0)x").value }),
        ("-d @", { try piece("--data=@\($0)x") }), ("--data-urlencode =", { try piece("--data-urlencode=a=\($0)x") }),
        ("--data-urlencode @", { try piece("--data-urlencode=a@\($0)x") }),
        ("user of an address", { Address("http://u:\($0)x@h/").user?.behind("u:").map(String.init) ?? "" }),
        ("password before @", { Address("http://u:p@\($0)x").base.behind("http://").map(String.init) ?? "" }),
        ("query", { Address("http://h/?\($0)x").query ?? "" }),
        ("fragment", { Address("http://h/#\($0)x").fragment ?? "" }),
        ("query after a query mark", { Address("http://h?\($0)x#y").query ?? "" }),
        (
            "proxy",
            {
                try TransportSettings.ProxyChoice.Proxy(argument: "http://u:\($0)x@h:1").credentials?.password.reveal()
                    ?? ""
            }
        ),
        ("pin", { try ConnectionSettings.Pin(argument: "h=\($0)x").hash }),
    ]

    @Test("finding CF-6 a value of an argument begins after its delimiter", arguments: followers.map(\.text))
    func arguments(follower: String) throws {
        for (name, parse) in Self.parsers {
            let value = try parse(follower)
            #expect(value.isSpelled(like: follower + "x"), "\(name): \(value.debugDescription)")
        }
    }

    @Test("finding CF-6 configuration: a value stays in its line", arguments: lineEnds)
    func configuration(lineEnd: String) throws {
        let file = PrivateFile(path: "/c", kind: "configuration")
        for (follower, isPlain) in Self.followers {
            let lines = ["\u{FEFF}# c", "user = \(follower)u:p", "[a]", "data =\(follower)x", "location"]
            let text = lines.joined(separator: lineEnd)
            guard isPlain else {
                let error = #expect(throws: CommandError.self) { try Configuration(text.utf8, of: file) }
                #expect(error?.what.contains("line 2") == true)
                continue
            }
            let configuration = try Configuration(text.utf8, of: file)
            #expect(configuration.defaults.map(\.name) == ["user"])
            #expect(configuration.defaults.first?.value?.isSpelled(like: follower + "u:p") == true)
            #expect(configuration.profiles.map(\.name) == ["a"])
            #expect(configuration.profiles.first?.entries.map(\.name) == ["data", "location"])
            #expect(configuration.profiles.first?.entries.first?.value?.isSpelled(like: follower + "x") == true)
        }
    }

    @Test("finding CF-6 configuration: a lone CR is no line end, and is refused")
    func loneReturn() throws {
        let file = PrivateFile(path: "/c", kind: "configuration")
        let error = try #require(throws: CommandError.self) { try Configuration("data = a\ruser = b".utf8, of: file) }
        #expect(error.what.contains("line 1 a control character"))
    }

    @Test("finding CF-6 .netrc: a word ends at white space of ASCII alone", arguments: lineEnds)
    func netrc(lineEnd: String) throws {
        for (follower, isPlain) in Self.followers where isPlain {
            let words = [
                "\u{FEFF}machine h", "login \(follower)u password \(follower)p", "machine i login v password q",
            ]
            let netrc = try Netrc(words.joined(separator: lineEnd).utf8)
            let pair = netrc.credentials(for: "h", user: nil)?.reveal() ?? ""
            #expect(pair.isSpelled(like: "\(follower)u:\(follower)p"))
            #expect(netrc.credentials(for: "i", user: nil)?.reveal() == "v:q")
        }
    }

    @Test("finding CF-6 jar: a field ends at a tab, whatever follows it", arguments: lineEnds)
    func jar(lineEnd: String) {
        for (follower, isPlain) in Self.followers {
            let line = ["h.example", "FALSE", "/", "FALSE", "0", "\(follower)n", "\(follower)v"].joined(separator: "\t")
            let contents = CookieText.contents((["\u{FEFF}# c", line, "#x"].joined(separator: lineEnd)).utf8)
            #expect(contents.oddLines == (isPlain ? [] : [2]), "\(follower.debugDescription)")
            guard isPlain else { continue }
            #expect(contents.cookies.map(\.octets.name) == [Array("\(follower)n".utf8)])
            #expect(contents.cookies.map(\.octets.value) == [Array("\(follower)v".utf8)])
        }
    }

    @Test("finding CF-6 session: what a file has is kept by bytes, and control characters are refused")
    func session() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for (follower, isPlain) in Self.followers where !follower.isEmpty {
            let quoted = JSONQuoting.string("\(follower)v")
            let cookie =
                #"{"name":"n","value":\#(quoted),"domain":"h","hostOnly":true,"path":"/","secure":true,"httpOnly":true}"#
            let text =
                "\u{FEFF}{\"origin\":\"https://h:443\",\r\n\"headers\":[[\"X-A\",\"a\"]],\"cookies\":[\(cookie)]}\r\n"
            let path = try folder.file("s.json", text)
            chmod(path, 0o600)
            guard isPlain else {
                #expect(throws: CommandError.self, "\(quoted)") { try SessionFile(path, for: Origin("https://h/")) }
                continue
            }
            let session = try SessionFile(path, for: Origin("https://h/"))
            #expect(session.cookies.map(\.octets.value) == [Array("\(follower)v".utf8)])
        }
    }

    // MARK: - Reading

    private static func item(_ text: String) throws -> String {
        switch try RequestItem(text) {
        case .text(_, let value), .json(_, let value), .query(_, let value), .file(_, let value): value
        case .textFile(_, let path), .jsonFile(_, let path), .headerFile(_, let path): path
        case .header(let edit): set(edit)
        case .standardInput: ""
        }
    }

    private static func set(_ edit: HeaderEdit) -> String {
        if case .set(let name, let value) = edit, name == "a" { value } else { "" }
    }

    private static func option(_ argument: String) throws -> (name: String, value: String) {
        let edits = try option(argument) { $0.headers }
        guard case .set(let name, let value) = edits.first else { return ("", "") }
        return (name, value)
    }

    private static func piece(_ argument: String) throws -> String {
        switch try option(argument, { $0.data }).first {
        case .text(let text), .encoded(_, .text(let text)): text
        case .file(let path, _), .encoded(_, .file(let path, _)): path
        default: ""
        }
    }

    private static func option<Value>(_ argument: String, _ value: (RequestSettings) -> Value) throws -> Value {
        let parser = ArgumentParser(command: "get", rows: GetSettings.rows)
        var settings = GetSettings()
        _ = try parser.read([argument], into: &settings)
        return value(settings.request)
    }
}
