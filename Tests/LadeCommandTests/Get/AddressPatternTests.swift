import Testing

@testable import LadeCommand

@Suite("Addresses that stand for several", .timeLimit(.minutes(5)))
struct AddressPatternTests {
    private static let patterns: [(String, [String])] = [
        ("h/a", ["h/a"]), ("h/[1-3]", ["h/1", "h/2", "h/3"]), ("h/[01-10:4]", ["h/01", "h/05", "h/09"]),
        ("h/[a-e:2]x", ["h/ax", "h/cx", "h/ex"]), ("h/[A-C]", ["h/A", "h/B", "h/C"]), ("h/{a,b}", ["h/a", "h/b"]),
        ("h/{a,b}[1-2]", ["h/a1", "h/a2", "h/b1", "h/b2"]), ("h/{a}", ["h/a"]), ("h/{a,}", ["h/a", "h/"]),
        (#"h/\{a\}\[1-3\]"#, ["h/{a}[1-3]"]), (#"h/{a\,b,c}"#, ["h/a,b", "h/c"]),
        ("http://[::1]/[1-2]", ["http://[::1]/1", "http://[::1]/2"]),
        ("http://[fe80::1%25eth0]/", ["http://[fe80::1%25eth0]/"]), ("h/[99-101]", ["h/99", "h/100", "h/101"]),
        ("h/[5-5]", ["h/5"]),
    ]

    @Test("finding CF-9 a pattern is expanded as curl documents it", arguments: patterns)
    func expands(text: String, addresses: [String]) throws {
        #expect(try AddressPattern(text, isStrict: true).matches.map(\.text) == addresses)
    }

    @Test(
        "finding CF-9 what is no pattern is refused where curl refuses it, and is itself otherwise",
        arguments: [
            "h/[", "h/]", "h/}", "h/{a", "h/[a]", "h/[3-1]", "h/[1-]", "h/[a-Z]", "h/{}", "h/{a,{b}}", "h/[1-2:0]",
            "h/[1-9999999999999999999]",
        ]
    )
    func refuses(text: String) throws {
        #expect(throws: AddressPattern.Fault.self) { try AddressPattern(text, isStrict: true) }
        guard text != "h/{}" else { return }
        #expect(try AddressPattern(text, isStrict: false).matches.map(\.text) == [text])
    }

    @Test(
        "finding CF-9 a pattern of too many addresses, or of too great ones, is refused",
        arguments: [
            "h/[1-1000][1-1000]", "h/[1-200000]", "h/[9223372036854775806-9223372036854775807]",
            "h/[9223372036854775808-9223372036854775809]",
        ]
    )
    func bounds(text: String) {
        #expect(throws: AddressPattern.Fault.self) { try AddressPattern(text, isStrict: true) }
    }

    @Test("finding CF-9 a number sign in a file name stands for a part of the address")
    func fileNames() throws {
        let match = try AddressPattern("h/{a,b}/[1-2]", isStrict: true).matches[1]
        #expect(match.fileName("x#1-#2#3#") == "xa-2#3#")
    }

    private static let pairs: [(String, [String])] = [
        ("-T a U1 U2", ["U1 T:a", "U2"]), ("-T a U1 -T b U2", ["U1 T:a", "U2 T:b"]),
        ("U1 U2 -T a -T b", ["U1 T:a", "U2 T:b"]),
        ("-o x U1 U2", ["U1 o:x", "U2"]), ("-o x U1 -o y U2", ["U1 o:x", "U2 o:y"]),
        ("U1 U2 -o x -o y", ["U1 o:x", "U2 o:y"]),
        ("-O U1 -o y U2", ["U1 O", "U2 o:y"]), ("-O U1 U2", ["U1 O", "U2"]), ("-O -O U1 U2", ["U1 O", "U2 O"]),
        ("--remote-name-all U1 U2", ["U1 O", "U2 O"]),
        ("-o x --remote-name-all U1 U2", ["U1 o:x", "U2 O"]), ("-o - -o y U1 U2", ["U1", "U2 o:y"]),
        ("-T a -o x U1 U2", ["U1 T:a o:x", "U2"]),
        ("-o x -o y U1", ["U1 o:x"]), ("-o x U1 --next -o y U2", ["U1 o:x", "U2 o:y"]),
        ("-o f#1 U[1-2]", ["U1 o:f1", "U2 o:f2"]),
        ("-T a U[1-2]", ["U1 T:a", "U2 T:a"]),
    ]

    @Test("finding CF-8 files and destinations are paired with addresses as curl pairs them", arguments: pairs)
    func pairing(line: String, calls: [String]) throws {
        var settings = GetSettings()
        try CurlReader.read("curl " + line, into: &settings)
        try settings.validate()
        let read = try settings.calls().map { call in
            let address = String((call.request.address ?? "").dropFirst("http://".count))
            let upload = call.request.uploadPath.map { " T:\($0)" } ?? ""
            return address + upload + (call.output.path.map { " o:\($0)" } ?? (call.output.usesRemoteName ? " O" : ""))
        }
        #expect(read == calls)
    }

    @Test(
        "finding CF-8 what cannot be paired is refused before anything is sent",
        arguments: ["-T a -T b U1", "-T a", "--next U1", "-T a -d x U1"]
    )
    func refusals(line: String) {
        #expect(throws: CommandError.self) {
            var settings = GetSettings()
            try CurlReader.read("curl " + line, into: &settings)
            try settings.validate()
        }
    }
}
