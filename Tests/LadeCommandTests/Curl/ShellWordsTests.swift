import Foundation
import SharedDoubles
import Testing

@testable import LadeCommand

/// Lines of shells beside the real `bash` and `dash`.
@Suite(.timeLimit(.minutes(5)))
struct ShellWordsTests {
    /// The shells that quoted words must be read by.
    private static let shells = ["/bin/bash", "/bin/dash", "/bin/sh"].filter(FileManager.default.isExecutableFile)

    /// The words that a shell passes to a program for the arguments of a line.
    private static func words(_ line: String, by shell: String) async throws -> [[UInt8]] {
        // od shows every byte, and a word cannot contain the line end that separates its blocks.
        let script = "show() { for a; do printf '%s' \"$a\" | od -An -v -tx1; echo end; done; }; show \(line)"
        // A pattern that names no file here stands for itself.
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let outcome = try await LadeProcess.run("-c", script, program: shell, in: folder.path)
        #expect(outcome.status == 0, "\(shell): \(outcome.talk)")
        var words: [[UInt8]] = [[]]
        for line in outcome.output.split(separator: "\n") {
            if line == "end" {
                words.append([])
            } else {
                words[words.count - 1] += line.split(separator: " ").compactMap { UInt8($0, radix: 16) }
            }
        }
        return words.dropLast()
    }

    /// Texts that have ended a quote, or controlled a terminal, when they were read by characters.
    private static let texts: [String] = {
        var texts = (1...127).map { String(Unicode.Scalar(UInt8($0))) }
        texts += (1...127).map { "'\(Unicode.Scalar(UInt8($0)))'" }
        texts += ["'\u{301}; touch pwned #", "\\\u{301}'", "\"\u{301}$(touch pwned)", "a'\u{20D2}`id`", "", "it's"]
        texts += [
            "\u{1B}[31m'\n", "\n", "\n\n", "a\n", "\r\n", "\u{202E}x", "\u{9B}2J", "ä$`!\\", "-n", "~", "~/x", "#a",
        ]
        texts += [
            "\u{200D}'", "e\u{301}'\u{301}", "'\u{FE0F}", "\u{1F1E9}\u{1F1EA}'", "\u{7F}\u{80}\u{9F}\u{A0}", "{a,b}",
            "*", "a=b",
        ]
        return texts
    }()

    @Test("finding HF-4 a printed word is one word of every shell, and the text that was quoted", arguments: shells)
    func quoting(shell: String) async throws {
        let line = Self.texts.map { ShellWords.quoted($0) }.joined(separator: " ")
        let read = try await Self.words(line, by: shell)
        #expect(read == Self.texts.map { Array($0.utf8) })
        #expect(try ShellWords.words(line) == read)
        #expect(line.unicodeScalars.filter { $0 != "\n" && $0.value < 0x20 }.isEmpty)
    }

    @Test("finding HF-4 bytes that are no text are quoted too", arguments: shells)
    func quotedBytes(shell: String) async throws {
        let bytes = (1...255).map { UInt8($0) }
        let words: [[UInt8]] = [bytes, bytes.reversed(), [0xC3], [0xC3, 0x27], [0xE2, 0x80], [0xED, 0xA0, 0x80]]
        let line = words.map { ShellWords.quoted($0) }.joined(separator: " ")
        #expect(try await Self.words(line, by: shell) == words)
        #expect(try ShellWords.words(line) == words)
    }

    @Test("finding HF-4 a printed line runs nothing that a session's cookie says")
    func printedLine() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let value = "a'\u{301}; touch pwned; '\u{301}"
        let line = try await LadeProcess.run(
            "get",
            "--curl",
            "--show-secrets",
            "http://h/",
            "X-A:\(value)",
            "--form",
            "b=\(value)"
        )
        let script = "curl() { printf '%s\\n' \"$@\"; }; " + line.output
        for shell in Self.shells {
            let outcome = try await LadeProcess.run("-c", script, program: shell, in: folder.path)
            #expect(outcome.output.contains("X-A: \(value)\n"), "\(shell): \(outcome.output) \(outcome.talk)")
            #expect(folder.names == [])
        }
    }

    private static let lines: [String] = [
        #"a 'b c' "d \"e\" \$f" g\ h"#, "a\\\n b", "''", "a''b", #""a\b""#, "", #""\\\`\"\x""#, "a'b'\"c\"d", "\\'\\\"",
        "a#b #c", "a \\#b", "'a\nb'", "a$ b", "\"$\"", "\"a$ b\"", "a\tb", "a \\\n\\\n b", "=a", "--a=b",
        "a~ ~b/'c'x".replacing("~b", with: "b"),
        "é\u{301}'\u{301}'", "\u{A0}a\u{3000}b", "a\u{2028}b", "a\rb", "a\u{B}b", "http://h/?a=b",
        "[x] *.nothing-here ?q",
        "{a}", "a{b", "{}", "x^y", "a%20b", "a!b",
    ]

    @Test("finding CF-12 a line has the words that POSIX shells read", arguments: lines)
    func words(line: String) async throws {
        let read = try ShellWords.words(line)
        for shell in Self.shells { #expect(try await Self.words(line, by: shell) == read, "\(shell): \(line)") }
    }

    // Behind a backslash bash doubles its own marks, U+0001 and U+007F; they are left out.
    @Test("finding CF-12 $'…' has the bytes that bash reads")
    func ansiQuotes() async throws {
        var words: [String] = []
        for scalar in (1...127).map({ Unicode.Scalar(UInt8($0)) }) where !"'\u{1}\u{7F}".unicodeScalars.contains(scalar)
        {
            words.append("$'a\\\(scalar)b1'")
        }
        words += [#"$'\101\0\1'"#, #"$'\x'"#, #"$'\xg'"#, #"$'\x4'"#, #"$'\x414'"#, #"$'\xc3\xa4'"#, #"$'\xff\x80'"#]
        words += [
            #"$'\x{41}b'"#, #"$'\x{e9}'"#, #"$'\u'"#, #"$'\u00e9'"#, #"$'\u20ACx'"#, #"$'\ud83d\ude00'"#,
            #"$'\U0001F600'"#,
        ]
        words += [
            #"$'\U7fffffff'"#, #"$'\400'"#, #"$'\777'"#, #"$'\cA\c?\c\\z\c@q'"#, #"$'\'\"\?\e\E'"#, #"$'a\0b'c"#,
            #"$'a\x00b'c"#, #"$'a\u0000b'c"#,
        ]
        words += [#"a$'b'"#, "$'\u{301}\\n\u{301}'", #"$'\c'"#, "$'a\nb'"]
        let line = words.joined(separator: " ")
        #expect(try ShellWords.words(line) == (try await Self.words(line, by: "/bin/bash")))
    }

    private static let refused: [(String, String)] = [
        (#"a "$TOKEN""#, "variable"), ("a $TOKEN", "variable"), ("a ${T}", "variable"), ("a $1", "variable"),
        ("a $?", "variable"),
        ("a $(b)", "substitution"), ("a \"$(b)\"", "substitution"), ("a `b`", "substitution"),
        ("a \"`b`\"", "substitution"),
        ("a $[1]", "substitution"), ("a; b", "further command"), ("a & b", "further command"),
        ("a&", "further command"),
        ("a | b", "further command"), ("a\nb", "further command"), ("a;b", "further command"),
        ("(a)", "further command"),
        ("a > b", "redirection"), ("a<b", "redirection"), ("a 2>&1", "redirection"), ("a >>b", "redirection"),

        ("a {b,c}", "“{”"), ("a x{1..3}", "“{”"), ("a ~root", "user name"), ("a $\"b\"", "translated"),
        ("a /et*", "file names"),
        ("a \"$(printf 'x')\"", "substitution"), ("a \u{0}", "NUL"), ("a\r\nb", "further command"),
    ]

    @Test("finding CF-12 what a shell would carry out is refused by name", arguments: refused)
    func refuses(line: String, name: String) throws {
        let fault = try #require(throws: ShellWords.Fault.self) { try ShellWords.words(line) }
        guard case .unsupported(let what) = fault else { throw fault }
        #expect(what.contains(name), "\(what)")
        let error = try #require(throws: CommandError.self) {
            var settings = GetSettings()
            try CurlReader.read("curl https://h/ " + line.dropFirst(1), into: &settings)
        }
        #expect(error.code == .usage)
    }

    @Test(
        "finding CF-12 a quote without an end is no word",
        arguments: ["'a", "\"a", "$'a", "a\\", "$'a\\'", "\"a\\\""]
    )
    func unfinished(line: String) {
        #expect(throws: ShellWords.Fault.unfinished) { try ShellWords.words(line) }
    }

    @Test(
        "finding CF-12 a trailing semicolon, line end or comment ends the command",
        arguments: ["a b;", "a b\n", "\na b # c\n", "a b ;\n\n"]
    )
    func ends(line: String) throws {
        #expect(try ShellWords.words(line) == [Array("a".utf8), Array("b".utf8)])
    }

    private static let windows: [(String, [String])] = [
        (
            "curl ^\"https://h/^\" ^\n  -H ^\"A: b^\" ^\n  --data-raw ^\"^{^\\^\"a^\\^\":1^}^\"",
            ["curl", "https://h/", "-H", "A: b", "--data-raw", #"{"a":1}"#]
        ),
        (
            "curl ^\"https://h/?a=1^&b=^%^20^\" ^\r\n  -H ^\"A: ^%^41^\"",
            ["curl", "https://h/?a=1&b=%20", "-H", "A: %41"]
        ),
        ("curl \"https://h/\" ^\n -H \"A: b\"\"c\"", ["curl", "https://h/", "-H", "A: b\"c"]),
        ("curl ^\"https://h/^\" --data-raw ^\"a\\\\^\"", ["curl", "https://h/", "--data-raw", "a\\"]),
        ("curl ^\"https://h/^\" --data-raw ^\"a^\n\nb^\"", ["curl", "https://h/", "--data-raw", "a\nb"]),
        ("curl.exe ^\"https://h/^\" ^\n  -X ^\"PUT^\"", ["curl.exe", "https://h/", "-X", "PUT"]),
    ]

    @Test("finding CF-12 lines of a browser's menu for the prompt of Windows are read", arguments: windows)
    func windowsWords(line: String, words: [String]) throws {
        #expect(WindowsWords.isMade(line))
        #expect(try WindowsWords.words(line).map { String(decoding: $0, as: UTF8.self) } == words)
    }

    @Test(
        "finding CF-12 such lines with more than one command are refused",
        arguments: ["curl ^\"h^\" & del x", "curl ^\"h^\" > x", "curl ^\"h%PATH%^\""]
    )
    func windowsRefused(line: String) {
        #expect(throws: ShellWords.Fault.self) { try WindowsWords.words(line) }
    }

    @Test(
        "finding CF-12 a caret in a POSIX line is a character",
        arguments: ["curl 'https://h/' -d '^\"'", "curl https://h/^"]
    )
    func caret(line: String) {
        #expect(!WindowsWords.isMade(line))
    }

    @Test("finding CL-10 a pattern that stands for the word itself alone is a word")
    func ownPattern() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = try folder.file("a[]b", "")
        #expect(try ShellWords.words("curl \(path)").last == Array(path.utf8))
        _ = try folder.file("ab", "")
        #expect(throws: ShellWords.Fault.unsupported("a pattern of file names")) {
            try ShellWords.words("curl \(folder.path)a*")
        }
        #expect(throws: ShellWords.Fault.unsupported("a pattern of file names")) {
            try ShellWords.words("curl \(folder.path)a?")
        }
    }
}
