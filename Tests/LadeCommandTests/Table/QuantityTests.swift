import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct QuantityTests {
    @Test(
        "reads lengths of time",
        arguments: [
            ("30", Duration.seconds(30)), ("1.5s", .milliseconds(1_500)), ("200ms", .milliseconds(200)),
            ("2m", .seconds(120)), ("1h", .seconds(3_600)), ("0.001", .milliseconds(1)),
            ("99999999999999h", .milliseconds(3_155_760_000_000)),
        ]
    )
    func durations(text: String, duration: Duration) throws {
        #expect(try Quantity.duration(text, of: "--x") == duration)
    }

    @Test(
        "refuses what is no length of time",
        arguments: ["", "s", "-1", "0", "1e3", "1 s", "1.2.3", "3d", "nan", "inf"]
    )
    func noDurations(text: String) {
        #expect(throws: CommandError.self) { try Quantity.duration(text, of: "--x") }
    }

    @Test("reads numbers within their bounds, and refuses the next ones")
    func counts() throws {
        #expect(try [0, 7].map { try Quantity.count("\($0)", of: "--x", from: 0, to: 7) } == [0, 7])
        #expect(try Quantity.count("1", of: "--x") == 1 && Quantity.count("\(Int.max)", of: "--x") == .max)
        for (text, least, most) in [("-1", 0, 7), ("8", 0, 7), ("0", 1, .max), ("x", 0, 7), ("", 0, 7), ("1.0", 0, 7)] {
            let error = try #require(throws: CommandError.self) {
                try Quantity.count(text, of: "--x", from: least, to: most)
            }
            #expect(error.code == .usage, "\(error.what)")
            #expect(error.what.contains("from \(least)"), "\(error.what)")
        }
    }

    @Test(
        "suggests a name of which at most a third of the letters differs, and one letter at least",
        arguments: [
            ("gte", "get"), ("gt", "get"), ("ge", "get"), ("gxy", nil), ("xyt", nil), ("headr", "header"),
            ("hedr", "header"), ("hxyzer", nil), ("", nil),
        ] as [(String, String?)]
    )
    func suggestions(text: String, name: String?) {
        #expect(Suggestion.nearest(to: text, among: ["get", "header"]) == name)
    }

    @Test(
        "reads numbers of bytes in units of 1024",
        arguments: [("0", 0), ("1000", 1_000), ("64k", 65_536), ("10M", 10_485_760), ("2G", 2_147_483_648)]
    )
    func bytes(text: String, count: Int) throws {
        #expect(try Quantity.bytes(text, of: "--x") == count)
    }

    @Test("refuses what is no number of bytes", arguments: ["", "k", "-1", "1.5M", "1T", "99999999999G"])
    func noBytes(text: String) {
        #expect(throws: CommandError.self) { try Quantity.bytes(text, of: "--x") }
    }

    @Test(
        "reads hosts with and without a port",
        arguments: [
            ("host", "host", nil), ("host:80", "host", 80), ("[::1]:8080", "::1", 8080), ("[::1]", "::1", nil),
            ("::1", "::1", nil), ("127.0.0.1:1", "127.0.0.1", 1), ("host:65535", "host", 65_535),
        ] as [(String, String, Int?)]
    )
    func hosts(text: String, host: String, port: Int?) throws {
        let read = try Quantity.hostAndPort(text, of: "--x")
        #expect(read.host == host)
        #expect(read.port == port)
    }

    @Test(
        "refuses what is no host",
        arguments: ["", ":80", "host:", "host:x", "host:0", "host:65536", "[]:80", "me@host"]
    )
    func noHosts(text: String) {
        #expect(throws: CommandError.self) { try Quantity.hostAndPort(text, of: "--x") }
    }
}
