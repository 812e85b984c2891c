import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct NetrcTests: GetSuite {
    private static let text = """
        # users
        machine a.example login me password p#w
        machine b.example
            login "two words" password "q\\"s"
            account x
        macdef init
            machine evil login no

        machine a.example login other password o
        default login anonymous
        """

    @Test(
        "finds the user of a host, of a user that is known, or of the default",
        arguments: [
            ("a.example", nil, "me:p#w"), ("A.EXAMPLE", nil, "me:p#w"), ("a.example", "other", "other:o"),
            ("b.example", nil, "two words:q\"s"), ("c.example", nil, "anonymous:"), ("evil", nil, "anonymous:"),
            ("c.example", "me", nil),
        ] as [(String, String?, String?)]
    )
    func credentials(host: String, user: String?, pair: String?) throws {
        #expect(try Netrc(Self.text.utf8).credentials(for: host, user: user)?.reveal() == pair)
    }

    @Test(
        "finding CF-2 a damaged file is refused with the line, and no password goes to another host",
        arguments: [
            ("machine 127.0.0.1 login a password \"p\nmachine b login c password s3cret\"", 1),
            ("machine b login c password s3cret\n\nmachine 127.0.0.1 login \"a", 3),
            ("machine 127.0.0.1 login a password \"p\\", 1), ("machine 127.0.0.1 login a password \"p\\\"\n", 1),
            ("machine 127.0.0.1 login a password\nmachine b login c password s3cret", 1),
            ("machine 127.0.0.1 login\nmachine b login c password s3cret", 1),
            ("machine 127.0.0.1 login a password\nlogin b", 1), ("machine 127.0.0.1 password\n\ndefault login b", 1),
            ("machine 127.0.0.1 login machine b login c password s3cret", 1), ("machine", 1), ("machine a login", 1),
            ("machine\ndefault password s3cret", 1), ("machine 127.0.0.1 login a password p\0q", 1),
            ("machine 127.0.0.1 login \"a\u{301}\n", 1), ("machine 127.0.0.1 login a\r\npassword \"p\r\n", 2),
        ] as [(String, Int)]
    )
    func damage(text: String, line: Int) throws {
        let fault = try #require(throws: Netrc.Fault.self) { try Netrc(text.utf8) }
        #expect(fault.line == line)
        #expect(!fault.what.contains("s3cret"))
    }

    @Test("finding CF-2 the command refuses a damaged file with its line, and sends nothing")
    func refusal() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server()
        let path = try folder.file("netrc", "machine 127.0.0.1 login a password \"p\nmachine b password s3cret\"\n")
        chmod(path, 0o600)

        let outcome = try await LadeProcess.run(server.address(), "--netrc-file", path, in: folder.path)

        #expect(outcome.status == 14)
        #expect(outcome.talkLines.count == 2)
        #expect(outcome.talk.contains("line 1"))
        #expect(!outcome.talk.contains("s3cret"))
        #expect(server.requestCount == 0)
    }

    /// A file, the user of the address, and what is sent; and whether curl is asked as well.
    private struct Case {
        var text: String
        var user: String?
        var pair: String?
        var isOfCurl = true

        init(_ text: String, user: String? = nil, _ pair: String?, isOfCurl: Bool = true) {
            (self.text, self.user, self.pair, self.isOfCurl) = (text, user, pair, isOfCurl)
        }
    }

    private static let cases: [Case] = [
        Case("machine 127.0.0.1 login a password b", "a:b"),
        Case("machine 127.0.0.1\n  login a\n\tpassword b\n", "a:b"),
        Case("machine\n127.0.0.1\nlogin\na\npassword\nb\n", "a:b"),
        Case("MACHINE 127.0.0.1 LOGIN a PASSWORD b", "a:b"),
        Case("machine 127.0.0.1 password b login a", "a:b"),
        Case("machine 127.0.0.1 method interactive login a port 8080 password b", "a:b"),
        Case("nonsense machine 127.0.0.1 login a password b", "a:b"),
        Case("machine other login x password y\nmachine 127.0.0.1 login a password b", "a:b"),
        Case("machine 127.0.0.1 login a password b\nmachine 127.0.0.1 login c password d", "a:b"),
        Case("machine 127.0.0.1 login a password b\nmachine 127.0.0.1 login c password d", user: "c", "c:d"),
        // Before 8.11 curl sends the password of the first user.
        Case("machine 127.0.0.1 login a password b login c password d", user: "c", "c:d", isOfCurl: false),
        Case("machine other login x password y\ndefault login a password b", "a:b"),
        Case("machine other login x password y", nil),
        Case("", nil),
        Case("# comment\nmachine 127.0.0.1 login a password b # login c\n", "a:b"),
        Case("machine 127.0.0.1 login a password b#c", "a:b#c"),
        Case("machine 127.0.0.1 login \"a b\" password \"c\\\"d\"", "a b:c\"d"),
        Case("machine 127.0.0.1 login a password \"x\\ty\\nz\\rq\\w\\\\\"", "a:x\ty\nz\rqw\\"),
        Case("machine 127.0.0.1 login a password b\"c", "a:b\"c"),
        Case("machine 127.0.0.1 login \"\" password b", ":b", isOfCurl: false),
        Case("machine 127.0.0.1 login a password b\r\n", "a:b"),
        Case("machine other login x password y\r\nmachine 127.0.0.1 login a password b\r\n", "a:b"),
        Case(
            "macdef m\r\nmachine 127.0.0.1 login x password y\r\n\r\nmachine 127.0.0.1 login a password b\r\n",
            "a:b",
            // Before 8.11 curl ends a macro at the CR of its first line.
            isOfCurl: false
        ),
        Case("macdef m\n  machine 127.0.0.1 login x password y\n\nmachine 127.0.0.1 login a password b\n", "a:b"),
        Case("macdef m\nmachine 127.0.0.1 login x password y\n", nil),
        Case("machine 127.0.0.1 login a\u{301} password \u{301}b", "a\u{301}:\u{301}b"),
        Case("machine 127.0.0.1 login a\r password b\r", "a:b", isOfCurl: false),
        Case("\u{FEFF}machine 127.0.0.1 login a password b", "a:b", isOfCurl: false),
        Case("machine 127.0.0.1 password b", ":b", isOfCurl: false),
        Case("machine 127.0.0.1 login a", "a:"),
        Case("machine 127.0.0.1 login a password \"#b\"", "a:#b"),
    ]

    @Test("finding CF-15 reads a file as curl reads it")
    func curl() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { .text($0["Authorization"] ?? "") }
        let curl = ["/usr/bin/curl", "/usr/local/bin/curl"].first(where: FileManager.default.isExecutableFile)
        for (index, row) in Self.cases.enumerated() {
            let pair = try Netrc(row.text.utf8).credentials(for: "127.0.0.1", user: row.user)?.reveal()
            #expect(pair.map { Array($0.utf8) } == row.pair.map { Array($0.utf8) }, "\(row.text)")
            guard row.isOfCurl, let curl else { continue }
            let path = try folder.file("netrc\(index)", row.text)
            let address = server.address().replacing("://", with: row.user.map { "://\($0)@" } ?? "://")
            let sent = try await LadeProcess.run("-s", "--netrc-file", path, address, program: curl)
            let expected = row.pair.map { "Basic " + Data($0.utf8).base64EncodedString() } ?? ""
            #expect(sent.output == expected, "curl: \(row.text)")
        }
    }
}
