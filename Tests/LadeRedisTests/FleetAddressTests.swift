import LadeCore
import LadeRedis
import LadeTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FleetAddressTests {
    @Test("fleet RD-01 reads the parts of an address")
    func parts() throws {
        let address = try FleetAddress("rediss://me@a.example:7000,[::1],b/shows-1?size=8&db=2")
        #expect(address.hosts.map(\.name) == ["a.example", "::1", "b"])
        #expect(address.hosts.map(\.port) == [7_000, 6_379, 6_379])
        #expect(address.user == "me" && address.isSecure && address.name == "shows-1")
        #expect(address.size == 8 && address.database == 2 && !address.isLocal)
        let local = try FleetAddress("redis+unix:///run/redis.sock?name=x")
        #expect(local.path == "/run/redis.sock" && local.name == "x" && local.isLocal)
        #expect(try FleetAddress("redis://127.0.0.1/x").isLocal)
    }

    @Test(
        "fleet RD-01 refuses what is no address of a fleet",
        arguments: [
            "http://a/x", "redis://a", "redis://a/", "redis://a/X", "redis://a/x/y", "redis:///x", "redis://a:0/x",
            "redis://a:99999/x", "redis://a:/x", "redis://a,/x", "redis://[::1/x", "redis://a/x?size=0",
            "redis://a/x?y=1",
            "redis+unix://x?name=y", "redis+unix:///x", "redis://a/x#y", "redis://a b/x", "redis://@a/x",
            "redis://a/" + String(repeating: "x", count: 65),
        ]
    )
    func refused(text: String) { #expect(throws: LoadingError.self) { try FleetAddress(text) } }

    @Test("fleet RD-02 refuses a password in the address, and does not show it")
    func password() {
        let error = #expect(throws: LoadingError.self) { try FleetAddress("redis://me:canary@a/x") }
        #expect(error.map { "\($0)".contains("password") && !"\($0)".contains("canary") } == true)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct StoreReaderTests {
    private func replies(_ text: String, piece: Int = .max) throws -> [StoreReply] {
        var reader = StoreReader()
        var found: [StoreReply] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            reader.bytes += rest.prefix(piece)
            rest = rest.dropFirst(piece)
            while let reply = try reader.next() { found.append(reply) }
        }
        return found
    }

    @Test("fleet RD-05 reads replies in pieces of any size", arguments: [1, 2, 3, 1_000])
    func pieces(size: Int) throws {
        let text = "+OK\r\n-ERR x\r\n:-7\r\n$3\r\na\r\n\r\n$-1\r\n*2\r\n:1\r\n*1\r\n$0\r\n\r\n*-1\r\n"
        let expected: [StoreReply] = [
            .status("OK"), .error("ERR x"), .integer(-7), .text(Array("a\r\n".utf8)), .nothing,
            .list([.integer(1), .list([.text([])])]), .nothing,
        ]
        #expect(try replies(text, piece: size) == expected)
    }

    @Test(
        "fleet RD-05 refuses what no script returns",
        arguments: [
            "*2147483647\r\n", "*4097\r\n", "*1\r\n*1\r\n*1\r\n", "$1048577\r\n", ":x\r\n", "%1\r\n", "$1\r\nab\r\n",
            "+a\n",
            "$-2\r\n", ":" + String(repeating: "1", count: 30) + "\r\n", String(repeating: "+", count: 5_000),
        ]
    )
    func faults(text: String) { #expect(throws: StoreReader.Fault.self) { try replies(text) } }

    @Test("fleet RD-05 random bytes never end the process", arguments: 0..<4 as Range<UInt64>)
    func fuzzed(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let alphabet = Array("*$:+-0123456789\r\n\r\n\r\nab".utf8)
        for _ in 0..<20_000 {
            var reader = StoreReader()
            for _ in 0..<(random.next() % 4) {
                reader.bytes += (0..<(random.next() % 24)).map { _ in
                    random.next() % 8 == 0
                        ? UInt8(truncatingIfNeeded: random.next())
                        : alphabet[Int(random.next() % UInt64(alphabet.count))]
                }
                do throws(StoreReader.Fault) { while try reader.next() != nil {} } catch { break }
            }
        }
    }
}
