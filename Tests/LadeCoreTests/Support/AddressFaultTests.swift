import Foundation
import Testing

@testable import LadeCore

/// Draws the same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
    private let source: SeededRandom

    init(seed: UInt64) { source = SeededRandom(seed: seed) }

    mutating func next() -> UInt64 { source.next() }
}

@Suite("Addresses that cannot be parsed", .timeLimit(.minutes(5)))
struct AddressFaultTests {
    @Test(
        "the error names the position of the first character that an address cannot have",
        arguments: [
            ("http://h/a b", "character 11 is a space, which is written as %20"),
            (
                "http://h/a%2",
                "the percent sign at character 11 is not followed by two hexadecimal digits; a percent sign itself is "
                    + "written as %25"
            ),
            (
                "http://h/%zz",
                "the percent sign at character 10 is not followed by two hexadecimal digits; a percent sign itself is "
                    + "written as %25"
            ),
            ("http://h/a\u{7}", "character 11 is a control character, which is written as %07"),
            ("http://h/<b>", "character 10 is “<”, which is written as %3C"),
            ("http://h/ä", "character 10 is not ASCII, which is written as %C3%A4"),
            ("", "it is empty"), ("http://h:port/", "character 10 is no digit, and a port has only digits"),
        ]
    )
    func names(address: String, reason: String) {
        do throws(LoadingError) {
            _ = try Request(address)
            Issue.record("It was accepted")
        } catch {
            guard case .invalidRequest(.url(_, let actual)) = error.kind else {
                Issue.record("\(error)")
                return
            }
            #expect(actual == reason)
        }
    }

    @Test(
        "finding UF-9 an address without a scheme is said to have none",
        arguments: ["127.0.0.1:9001/who", "1.2.3.4:80"]
    )
    func noScheme(address: String) throws {
        let error = try #require(throws: LoadingError.self) { try Request(address) }
        #expect(error.description.contains("it has no scheme, such as https:// before the host"), "\(error)")
    }

    @Test(
        "finding LX-9 the rule that refuses an address names the character, its place, and what to write",
        arguments: [
            ("https://ü.example/ä", "character 19 is not ASCII, which is written as %C3%A4"),
            ("https://h/?q=ä", "character 14 is not ASCII, and is written as its bytes in UTF-8, each as %NN"),
            ("https://h/l?q[0]=1", "character 14 is “[”, which is written as %5B"),
            ("https://h/l[0]", "character 12 is “[”, which is written as %5B"),
            ("https://h/#a#b", "character 13 is “#”, which is written as %23"),
            ("https://h/#]", "character 12 is “]”, which is written as %5D"),
            ("https://h/a\\b", "character 12 is “\\”, which is written as %5C"),
            ("https://h:80a/", "character 13 is no digit, and a port has only digits"),
            ("https://h:+80/", "character 11 is no digit, and a port has only digits"),
            ("https://h:0/", "the port after character 10 is not within 1 to 65535"),
            ("https://h:70000/", "the port after character 10 is not within 1 to 65535"),
            ("https://h:1:2/", "character 12 is a second colon in the host, after the one at 10"),
            ("https://::1/", "character 10 is a second colon in the host: an IPv6 address is written in brackets"),
            ("https://[::1/", "the bracket at character 9 is not closed"),
            ("https://[::1]x/", "character 14 stands between the host and the port"),
            ("https://a b/", "character 10 is a space, which no host has"),
            ("https:// h/", "character 9 is a space, which no host has"),
            ("https://a<b/", "character 10 is “<”, which no host has"),
            ("https://a\\b/", "character 10 is “\\”, which no host has"),
            ("https://a%zz/", "the percent sign at character 10 is not followed by two hexadecimal digits"),
            ("https://a..b/", "“a..b” cannot be a host"),
            ("https://", "it has no host"), ("https:///x", "it has no host"), ("https://:80/", "it has no host"),
            ("https:/h/x", "it has no host: two slashes and the host follow “https:”"),
            ("https:h", "it has no host: two slashes and the host follow “https:”"),
            ("https://u:p@h/", "it has a user name, which belongs into an authoriser"),
            ("/x", "it has no scheme and no host: begin it with https:// and the host"),
            ("://h/", "character 1 is a colon, before which the scheme is missing"),
            ("own:a b", "character 6 is a space, which is written as %20"),
        ]
    )
    func rule(address: String, reason: String) throws {
        #expect(AddressFault.first(in: address) == .reason(reason))
        let error = try #require(throws: LoadingError.self) { try Request(address) }
        guard case .invalidRequest(.url(_, reason)) = error.kind else {
            Issue.record("\(error)")
            return
        }
    }

    @Test("finding LX-9 an address is refused exactly when the rule names a fault of it")
    func isTheRule() {
        var random = SeededGenerator(seed: 20_261_128)
        let pieces = [
            "http://", "https://", "own:", "h", "a.b", ":", "80", "/", "?", "#", "[", "]", "::1", "%", "%41", "%zz",
            "@", " ",
            "ä", "ü.de", "<", "\\", "\u{7F}", "\n", "1", "..", "{", "|", "^", "`", "\"", "'", "(", "+", "-", "_", "~",
            ",",
        ]
        for _ in 0..<30_000 {
            let tail = (0..<Int.random(in: 0...7, using: &random)).map { _ in pieces.randomElement(using: &random) ?? ""
            }
            let text = (["https://h/", "https://", "http://h", ""].randomElement(using: &random) ?? "") + tail.joined()
            let fault = AddressFault.first(in: text)
            let accepted = try? Request(text)
            #expect((accepted == nil) == (fault != nil), "\(text.debugDescription) \(fault as Any)")
            // What the rule lets pass is an address for Foundation too, and what it refuses in path and query is none.
            if fault == nil {
                #expect(URL(string: text.withASCIIHost, encodingInvalidCharacters: false) != nil, "\(text)")
            }
            if case .reason(let reason)? = fault, reason.contains("written as") {
                #expect(URL(string: text.withASCIIHost, encodingInvalidCharacters: false) == nil, "\(text)")
            }
            if case .reason("it cannot be parsed")? = fault { Issue.record("\(text)") }
        }
    }

    @Test(
        "finding DC-6 a host and a port without a scheme are refused where they are written, with http:// before them",
        arguments: [
            "localhost:8080/x", "localhost:8080", "example.com:443/x", "127.0.0.1:9001/who", "a-b.c:1?x", "h:65535",
            "[::1]:80/", "h/x", "example.com",
        ]
    )
    func hostWithoutScheme(address: String) throws {
        let error = try #require(throws: LoadingError.self) { try Request(address) }
        #expect(error.description.contains("write http://\(address) or https://\(address)"), "\(error)")
        // A URL of an app is refused when the call begins, in the same words.
        if let url = URL(string: address), url.absoluteString == address {
            let late = try #require(throws: LoadingError.self) { try Request(url).validate() }
            #expect(late.kind == error.kind)
        }
    }

    @Test(
        "finding DC-6 other protocols are refused where they are written",
        arguments: ["ftp", "FTP", "wss", "mailto"]
    )
    func protocols(scheme: String) throws {
        let error = try #require(throws: LoadingError.self) { try Request("\(scheme)://h/") }
        #expect(error.kind == .invalidRequest(.unsupportedScheme(scheme.lowercased())))
        #expect(error.description.contains("write http:// or https://"))
    }

    @Test(
        "finding DC-6 a scheme of the program is none of the faults",
        arguments: ["own://host/a", "own:thing", "data:,x"]
    )
    func ownSchemes(address: String) throws {
        #expect(try Request(address).url.absoluteString == address)
    }

    @Test("finding DC-6 no password of an address without a scheme is shown")
    func hidesPasswords() throws {
        let error = try #require(throws: LoadingError.self) { try Request("hunter2@h:80/x?token=hunter2") }
        #expect(!error.description.contains("hunter2"), "\(error)")
    }

    @Test("no sentence ends with two full stops")
    func endsOnce() {
        struct Fault: Error, CustomStringConvertible { var description: String { "The disk is full." } }
        #expect(LoadingError(.decoding, underlyingError: Fault()).description.hasSuffix("decoded: The disk is full."))
        #expect(LoadingError(.notStored).description.hasSuffix("there is none."))
    }
}
