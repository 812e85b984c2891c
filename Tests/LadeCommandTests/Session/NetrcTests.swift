import Lade
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct NetrcTests {
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
        var netrc = Netrc()
        netrc.entries = try #require(Netrc.entries(Self.text))
        #expect(netrc.credentials(for: host, user: user)?.reveal() == pair)
    }

    @Test("refuses what is no list of machines", arguments: ["login x", "machine", "machine a login", "nonsense"])
    func damage(text: String) {
        #expect(Netrc.entries(text) == nil)
    }
}
