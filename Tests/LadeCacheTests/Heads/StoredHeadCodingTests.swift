#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CacheStoreConformance
import LadeCache
import LadeCore
import SharedDoubles
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StoredHeadCodingTests {
    private func head(_ random: SeededRandom) throws -> StoredHead {
        func text() -> String {
            (0..<random.below(5)).map { _ in random.pick(["a", "é", " b", ",", "\u{301}"]) }.joined()
        }
        let count = random.below(6)
        var head = StoredHead(
            status: Response.Status(100 + random.below(900)),
            headers: Headers((0..<count).map { _ in (random.pick(["A", "Set-Cookie", "Vary", "ETag"]), text()) }),
            times: ExchangeTimes(
                requested: Moment(date: RuleSamples.start.addingTimeInterval(random.unit()), instant: nil),
                received: Moment(date: RuleSamples.start.addingTimeInterval(random.unit() + 1), instant: nil)
            ),
            extent: random.chance(50) ? .whole(Int64(random.below(1 << 40))) : .parts([0..<4, 5..<9], total: 20)
        )
        head.trailers = Headers([("X-Sum", text())])
        head.selecting = [
            SelectingValue(name: "a", form: .absent), SelectingValue(name: "b", form: .value(Array(text().utf8))),
            SelectingValue(name: "c", form: .digest([0, 255])),
        ]
        head.unseen = random.chance(50) ? ["x"] : []
        head.tags = Set((0..<random.below(3)).map { _ in text() })
        head.isDecoded = random.chance(50)
        head.mustValidate = random.chance(50)
        return head
    }

    @Test("cache CA-269 a decoded head is the head that was encoded")
    func keepsHeads() throws {
        let random = SeededRandom(seed: Soak.current.seed)
        for _ in 0..<500 {
            let head = try head(random)
            let decoded = try #require(StoredHead(encoded: head.encoded), "seed \(random.seed)")
            #expect(decoded == head, "seed \(random.seed)")
            #expect(decoded.headers.areSpelled(like: head.headers), "seed \(random.seed)")
        }
    }

    @Test("cache CA-269 octets that are not UTF-8 are kept")
    func keepsOctets() throws {
        var head = try head(SeededRandom(seed: 1))
        head.trailers = Headers(checked: [.init(uncheckedName: "A", value: "ü", octets: [0xFC])])

        #expect(StoredHead(encoded: head.encoded)?.trailers.octets("A") == [[0xFC]])
    }

    @Test(
        "cache CA-232 a stored head with a field that no server can send is none",
        arguments: ["\r\nX: 1", "\n", "\u{0}", "\u{7F}"]
    )
    func refusesFields(value: String) throws {
        let times = ExchangeTimes(requested: RuleSamples.at(0), received: RuleSamples.at(0))
        func head(_ name: String, _ value: String) -> StoredHead {
            StoredHead(
                status: 200,
                headers: Headers(checked: [.init(uncheckedName: name, value: value)]),
                times: times
            )
        }

        #expect(StoredHead(encoded: head("A", "a").encoded) != nil)
        #expect(StoredHead(encoded: head("A", "a\(value)b").encoded) == nil)
        #expect(StoredHead(encoded: head("A\(value)", "a").encoded) == nil)
        #expect(StoredHead(encoded: head("", "a").encoded) == nil)
    }

    @Test("cache CA-253 any bytes in a stored row are a head or none")
    func survivesAnyBytes() throws {
        let random = SeededRandom(seed: Soak.current.seed)
        for _ in 0..<3_000 {
            var octets = try head(random).encoded
            for _ in 0..<(1 + random.below(4)) {
                let place = random.below(octets.count)
                switch random.below(3) {
                case 0: octets[place] = UInt8(random.below(256))
                case 1: octets.removeSubrange(place...)
                default: octets.insert(UInt8(random.below(256)), at: place)
                }
                if octets.isEmpty { octets = [1] }
            }
            guard let head = StoredHead(encoded: octets) else { continue }
            _ = RuleSamples().rules.decide(try RuleSamples().query(), [head])
            #expect(head.headers.allSatisfy { $0.octets.allSatisfy(\.isFieldContent) }, "seed \(random.seed)")
        }
    }
}
