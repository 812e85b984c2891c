#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore
import SharedDoubles
import Testing

extension StoreConformance {
    package static let limits: [StoreCase] = [
        StoreCase("cache CA-194 after any sequence of operations the entries are within the limit") { fixture in
            let random = SeededRandom(seed: Soak.current.seed)
            let limit = 200_000
            let store = try await fixture.store(limit: limit)
            for step in 0..<600 {
                let path = "\(random.below(60))"
                switch random.below(10) {
                case 0: _ = try await store.remove(.address(#require(URL(string: "https://example.org/\(path)"))))
                case 1: _ = try await fixture.body(store, path)
                case 2: _ = try await store.invalidate(.tag("x"))
                default:
                    _ = try? await fixture.put(
                        store,
                        path,
                        fixture.bytes(random.below(30_000)),
                        ["X-A": String(repeating: "a", count: random.below(500))],
                        tags: random.chance(20) ? ["x"] : [],
                        at: Double(step)
                    )
                }
                let size = try await store.size()
                let entries = try await store.entries(.all)
                #expect(size <= limit, "seed \(random.seed), step \(step)")
                #expect(entries.reduce(0) { $0 + $1.bytes } <= size, "seed \(random.seed), step \(step)")
            }
        },
        StoreCase("cache CA-194 the cost of an entry has its body, head and key") { fixture in
            let store = try await fixture.store()
            try await fixture.put(store, "small", fixture.bytes(10))
            try await fixture.put(store, "large", fixture.bytes(5_000), ["X-A": String(repeating: "a", count: 3_000)])
            let costs = Dictionary(
                uniqueKeysWithValues: try await store.entries(.all).map { ($0.key.place.address.text, $0.bytes) }
            )
            let small = try #require(costs["https://example.org/small"])
            let large = try #require(costs["https://example.org/large"])

            #expect(large - small >= 7_990)
        },
        StoreCase("cache CA-28 CA-194 a body above the store's limit is refused") { fixture in
            let store = try await fixture.store(limit: 100_000)
            let limit = Int(store.bodyLimit)

            #expect(limit == 10_000)
            #expect(try await fixture.put(store, "a", fixture.bytes(limit)) != nil)
            await #expect(throws: CacheError(.tooLarge)) { try await fixture.put(store, "b", fixture.bytes(limit + 1)) }
            #expect(try await fixture.body(store, "b") == nil)
            #expect(try await fixture.body(store, "a") == fixture.bytes(limit))
        },
        StoreCase("cache CA-194 a limit below 64 KiB is refused") { fixture in
            await #expect(throws: CacheError(.limitTooSmall(least: 65_536))) { try await fixture.store(limit: 65_535) }
            _ = try await fixture.store(limit: 65_536)
        },
    ]

    package static let removals: [StoreCase] = [
        StoreCase("cache CA-197 entries are removed by address, prefix, host, account, tag, age, and all") { fixture in
            let selections: [(ResponseCache.Selection, [String])] = [
                (.address(try #require(URL(string: "https://example.org/a/1"))), ["b/1", "c"]),
                (.prefix("https://example.org/a/"), ["b/1", "c"]),
                (.host("EXAMPLE.org"), []), (.host("example.com"), ["a/1", "b/1", "c"]),
                (.account("you"), ["a/1", "b/1"]), (.tag("x"), ["a/1", "c"]),
                (.received(before: RuleSamples.start.addingTimeInterval(5)), ["c"]), (.all, []),
            ]
            for (selection, left) in selections {
                let store = try await fixture.store()
                try await fixture.put(store, "a/1", fixture.bytes(10))
                try await fixture.put(store, "b/1", fixture.bytes(10), tags: ["x", "y"], at: 4)
                try await fixture.put(store, "c", fixture.bytes(10), account: "you", at: 9)
                let before = try await store.size()
                let removal = try await store.remove(selection)
                let paths = try await store.entries(.all).map { String($0.key.place.address.text.dropFirst(20)) }

                #expect(paths.sorted() == left, "\(selection)")
                #expect(removal.entries == 3 - left.count, "\(selection)")
                #expect(try await store.size() == before - removal.bytes, "\(selection)")
            }
        },
        StoreCase(
            "finding CK-7 the rule by which the last response was not stored is kept until one is, and is bounded"
        ) { fixture in
            let store = try await fixture.store(limit: 4 << 20)
            let key = try RuleSamples.key("https://example.org/a")
            store.note(.varyStar, for: key)
            store.note(.noStore, for: key)
            try await store.flush()
            #expect(try await store.lookUp(key).refusal == .noStore)
            #expect(try await store.lookUp(RuleSamples.key("https://example.org/b")).refusal == nil)
            try await fixture.put(store, "a", fixture.bytes(10))
            #expect(try await store.lookUp(key).refusal == nil)
            store.note(.status, for: key)
            for number in 0..<1_100 { store.note(.noStore, for: try RuleSamples.key("https://example.org/\(number)")) }
            try await store.flush()
            #expect(try await store.lookUp(key).refusal == nil)
            #expect(try await store.lookUp(RuleSamples.key("https://example.org/1099")).refusal == .noStore)
            _ = try await store.remove(.all)
            #expect(try await store.lookUp(RuleSamples.key("https://example.org/1099")).refusal == nil)
        },
        StoreCase("cache CA-197 a listing shows a selection and changes nothing") { fixture in
            let store = try await fixture.store()
            try await fixture.put(store, "a", fixture.bytes(10), tags: ["x"])
            try await fixture.put(store, "b", fixture.bytes(10))
            let size = try await store.size()

            #expect(try await store.entries(.tag("x")).map(\.key.place.address.text) == ["https://example.org/a"])
            #expect(try await store.entries(.all).count == 2)
            #expect(try await store.size() == size)
        },
        StoreCase("cache CA-140 CA-143 CA-146 an address is invalidated for its own account, with all variants") {
            fixture in
            let store = try await fixture.store()
            let address = try RuleSamples.address("https://example.org/a")
            let place = CachePlace(partition: "service", scope: .account("me"), address: address)
            for value in ["1", "2"] {
                try await fixture.put(store, fixture.bytes(1), ["Vary": "X-A"], request: ["X-A": value])
            }
            try await fixture.put(store, "b", fixture.bytes(1))
            try await fixture.put(store, fixture.bytes(1), account: "you")
            let count = try await store.invalidate(
                ResponseCache.Selection(.places([place, place.with(scope: .shared)]))
            )

            #expect(count == 2)
            #expect(try await fixture.heads(store).map(\.mustValidate) == [true, true])
            #expect(try await fixture.heads(store, "b").map(\.mustValidate) == [false])
            #expect(try await fixture.heads(store, account: "you").map(\.mustValidate) == [false])
        },
        StoreCase("cache CA-144 an exchange that began before an invalidation stores what must be validated") {
            fixture in
            let store = try await fixture.store()
            let ticket = try await store.lookUp(RuleSamples.key()).ticket
            _ = try await store.invalidate(ResponseCache.Selection(.places([RuleSamples.key().place])))
            try await fixture.put(store, "a", fixture.bytes(1), ["ETag": "\"a\""], ticket: ticket)
            try await fixture.put(store, "b", fixture.bytes(1), ["ETag": "\"a\""], ticket: ticket)

            #expect(try await fixture.heads(store).allSatisfy(\.mustValidate))
            #expect(try await fixture.heads(store, "b").map(\.mustValidate) == [false])
            try await fixture.put(store, "a", fixture.bytes(1), ["ETag": "\"a\""], at: 1)
            #expect(try await fixture.heads(store).map(\.mustValidate) == [false])
        },
        StoreCase("cache CA-144 CA-197 an exchange that began before a removal stores nothing") { fixture in
            let store = try await fixture.store()
            let key = try RuleSamples.key()
            let head = try fixture.samples.keep(["Cache-Control": "max-age=60"], length: 1)
            let ticket = try await store.lookUp(key).ticket
            let writer = try #require(try await store.begin(CacheWrite(key, head, ticket: ticket)))
            try await writer.append(fixture.bytes(1))
            _ = try await store.remove(.account("me"))

            #expect(try await writer.commit(head) == nil)
            #expect(try await fixture.put(store, fixture.bytes(1), ticket: ticket) == nil)
            #expect(try await fixture.heads(store).isEmpty)
            #expect(try await fixture.put(store, fixture.bytes(1)) != nil)
        },
        StoreCase("cache CA-234 the entries of one origin and account are removed") { fixture in
            let store = try await fixture.store()
            try await fixture.put(store, fixture.bytes(1))
            try await fixture.put(store, fixture.bytes(1), account: "you")
            let origin = ResponseCache.Selection(.origin("https://example.org", scopes: [.account("me"), .shared]))

            #expect(try await store.remove(origin).entries == 1)
            #expect(try await fixture.heads(store, account: "you").count == 1)
        },
    ]

    package static let heads: [StoreCase] = [
        StoreCase("cache CA-135 a head is updated only at its version") { fixture in
            let store = try await fixture.store()
            let id = try #require(try await fixture.put(store, fixture.bytes(3), ["ETag": "\"a\""]))
            let head = try #require(try await fixture.heads(store).first)
            var renewed = head
            renewed.renew(["ETag": "\"a\"", "X-New": "1"], head.times)

            #expect(try await store.update(renewed))
            #expect(try await !store.update(renewed))
            let after = try #require(try await fixture.heads(store).first)
            #expect(after.headers["X-New"] == "1")
            #expect(after.id == id)
            #expect(after.version != head.version)
            #expect(try await fixture.body(store) == fixture.bytes(3))
        },
        StoreCase("cache CA-135 an update for an entry that was replaced or invalidated meanwhile changes nothing") {
            fixture in
            let store = try await fixture.store()
            try await fixture.put(store, fixture.bytes(3, 1), ["ETag": "\"a\""])
            let replaced = try #require(try await fixture.heads(store).first)
            try await fixture.put(store, fixture.bytes(3, 2), ["ETag": "\"b\""], at: 1)
            let invalidated = try #require(try await fixture.heads(store).first)
            _ = try await store.invalidate(.all)

            #expect(try await !store.update(replaced))
            #expect(try await !store.update(invalidated))
            #expect(try await fixture.heads(store).map(\.mustValidate) == [true])
            #expect(try await fixture.heads(store).map(\.headers["ETag"]) == ["\"b\""])
        },
        StoreCase("cache CA-119 a variant is added with the body of another one") { fixture in
            let store = try await fixture.store()
            let body = fixture.bytes(50)
            let id = try #require(try await fixture.put(store, body, ["Vary": "X-A"], request: ["X-A": "1"]))
            let version = try #require(try await fixture.heads(store).first?.version)
            let head = try fixture.samples.keep(
                ["Cache-Control": "max-age=60", "Vary": "X-A"],
                request: ["X-A": "2"],
                length: 50
            )

            #expect(try await !store.add(head, sharingBodyOf: id, version: version + 1))
            #expect(try await store.add(head, sharingBodyOf: id, version: version))
            let heads = try await fixture.heads(store)
            #expect(heads.count == 2)
            for head in heads { #expect(try await fixture.read(store, head.id) == body) }
            // Either may go without the other.
            _ = try await store.remove(ResponseCache.Selection(.ids([id])))
            #expect(try await fixture.body(store) == body)
        },
        StoreCase("cache CA-31 trailers and all other parts of a head are kept") { fixture in
            let store = try await fixture.store()
            let key = try RuleSamples.key()
            var head = try fixture.samples.keep(
                ["Cache-Control": "max-age=60", "Vary": "X-A", "Set-Cookie": "a", "Set-Cookie": "b"],
                404,
                request: ["X-A": "1"],
                length: 1
            )
            let writer = try #require(try await store.begin(CacheWrite(key, head, ticket: 0)))
            try await writer.append(fixture.bytes(1))
            head.trailers = ["X-Sum": "1"]
            head.isDecoded = true
            head.tags = ["x"]
            _ = try await writer.commit(head)
            let kept = try #require(try await fixture.heads(store).first)

            #expect(kept.status == 404)
            #expect(kept.headers.areSpelled(like: head.headers))
            #expect(kept.trailers.areSpelled(like: head.trailers))
            #expect(kept.selecting == head.selecting)
            #expect(kept.isDecoded)
            #expect(kept.tags == ["x"])
            #expect(kept.times.received.date == head.times.received.date)
        },
        StoreCase("cache CA-196 CA-198 a closed store reports it, and aborts its writers") { fixture in
            let store = try await fixture.store()
            let id = try #require(try await fixture.put(store, fixture.bytes(3)))
            let head = try fixture.samples.keep(["Cache-Control": "max-age=60"], length: 1)
            let writer = try #require(
                try await store.begin(CacheWrite(RuleSamples.key("https://example.org/b"), head, ticket: 0))
            )
            await store.close()
            await store.close()

            await #expect(throws: CacheError(.closed)) { try await store.lookUp(RuleSamples.key()) }
            await #expect(throws: CacheError(.closed)) { try await store.open(id, span: nil) }
            await #expect(throws: CacheError(.closed)) { try await writer.commit(head) }
            await #expect(throws: CacheError(.closed)) { try await store.remove(.all) }
        },
        StoreCase("cache CA-190 CA-193 concurrent tasks store and read whole bodies") { fixture in
            let store = try await fixture.store(limit: 300_000)
            let seed = Soak.current.seed
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        let random = SeededRandom(seed: seed &+ UInt64(task))
                        for step in 0..<150 {
                            let path = "\(random.below(12))"
                            switch random.below(8) {
                            case 0: _ = try await store.remove(.prefix("https://example.org/\(path)"))
                            case 1, 2, 3:
                                let length = 1 + random.below(20_000)
                                // Every body has one byte, so a mixed one shows.
                                try await fixture.put(
                                    store,
                                    path,
                                    fixture.bytes(length, UInt8(random.below(256))),
                                    at: Double(step)
                                )
                            default:
                                guard let head = try await fixture.heads(store, path).first,
                                    let body = try await fixture.read(store, head.id)
                                else { continue }
                                #expect(Int64(body.count) == head.length, "seed \(seed)")
                                #expect(Set(body).count == 1, "seed \(seed)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        },
    ]
}
