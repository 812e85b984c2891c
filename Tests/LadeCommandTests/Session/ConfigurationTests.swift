import Foundation
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct ConfigurationTests {
    private let file = PrivateFile(path: "/home/me/.config/lade/config", kind: "configuration")

    private func arguments(_ text: String, profile: String? = nil) throws(CommandError) -> [String] {
        let known = CommandTable.standard.commands.flatMap(\.options)
        return try Configuration(text.utf8, of: file).arguments(
            for: GetSettings.rows.map(\.info),
            profile: profile,
            known: known
        )
    }

    @Test("takes defaults, then those of the profile, and leaves out what only other commands have")
    func entries() throws {
        let text = """
            # defaults
            connect-timeout = 5s
            --header = "X-A: b = c"
            size = 50
              location

            [work]
            max-time=1m
            header = X-B:1
            [other]
            insecure
            """
        let defaults = ["--connect-timeout=5s", "--header=X-A: b = c", "--location"]
        #expect(try arguments(text) == defaults)
        #expect(try arguments(text, profile: "work") == defaults + ["--max-time=1m", "--header=X-B:1"])
        #expect(try arguments("") == [])
    }

    @Test(
        "names the file and the line that cannot be used, and not the value",
        arguments: [
            ("location\nnosuch = s3cret", "line 2"), ("max-tiem = 1", "is it “max-time”?"),
            ("location = yes", "line 1"),
            ("max-time", "no value"), ("[work", "line 1"), ("[]", "line 1"), ("[a]\n[a]", "line 2"),
            ("max-time 5s", "line 1"), ("= s3cret", "line 1"), ("profile = x", "line 1"), ("no-config", "line 1"),
        ]
    )
    func damage(text: String, part: String) throws {
        let error = try #require(throws: CommandError.self) { try arguments(text) }
        #expect(error.code == .localFile)
        #expect(error.what.hasPrefix("The configuration \(file.path) has in line "))
        #expect(error.what.contains(part))
        #expect(!error.advice.isEmpty)
        #expect(!error.lines.contains("s3cret"))
    }

    @Test("says which profile there is not")
    func unknownProfile() throws {
        let error = try #require(throws: CommandError.self) { try arguments("[work]", profile: "wrok") }
        #expect(error.what == "there is no profile “wrok”; did you mean “work”?")
        #expect(error.code == .usage)
    }
}
