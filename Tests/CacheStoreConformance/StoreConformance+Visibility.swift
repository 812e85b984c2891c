#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore
import Testing

extension StoreConformance {
    package static let visibility: [StoreCase] = [
        StoreCase("cache CA-190 an entry is visible whole at its commit, or not at all") { fixture in
            let store = try await fixture.store()
            let key = try RuleSamples.key()
            let head = try fixture.samples.keep(["Cache-Control": "max-age=60"], length: 6)
            let writer = try #require(try await store.begin(CacheWrite(key, head, ticket: 0)))
            try await writer.append(fixture.bytes(3))
            #expect(try await store.lookUp(key).heads.isEmpty)
            try await writer.append(fixture.bytes(3))
            let id = try #require(try await writer.commit(head))

            #expect(try await store.lookUp(key).heads.map(\.id) == [id])
            #expect(try await fixture.body(store) == fixture.bytes(6))
        },
        StoreCase("cache CA-190 an aborted writer leaves the earlier entry") { fixture in
            let store = try await fixture.store()
            try await fixture.put(store, fixture.bytes(3, 1))
            let head = try fixture.samples.keep(["Cache-Control": "max-age=60"], at: 1, length: 3)
            let writer = try #require(try await store.begin(CacheWrite(RuleSamples.key(), head, ticket: 0)))
            try await writer.append(fixture.bytes(3, 2))
            await writer.abort()

            #expect(try await writer.commit(head) == nil)
            #expect(try await fixture.body(store) == fixture.bytes(3, 1))
        },
        StoreCase("cache CA-190 writers of one key do not mix, and the last commit wins") { fixture in
            let store = try await fixture.store()
            let key = try RuleSamples.key()
            let head = try fixture.samples.keep(["Cache-Control": "max-age=60"], length: 6)
            let first = try #require(try await store.begin(CacheWrite(key, head, ticket: 0)))
            let second = try #require(try await store.begin(CacheWrite(key, head, ticket: 0)))
            for _ in 0..<3 {
                try await first.append(fixture.bytes(2, 1))
                try await second.append(fixture.bytes(2, 2))
            }
            _ = try await second.commit(head)
            _ = try await first.commit(head)

            #expect(try await fixture.heads(store).count == 1)
            #expect(try await fixture.body(store) == fixture.bytes(6, 1))
        },
        StoreCase("cache CA-35 the response of the later exchange stays") { fixture in
            let store = try await fixture.store()
            try await fixture.put(store, fixture.bytes(1, 2), ["Date": RuleSamples.date(-100)], at: 10)

            #expect(try await fixture.put(store, fixture.bytes(1, 1), ["Date": RuleSamples.date(100)], at: 5) == nil)
            #expect(try await fixture.body(store) == fixture.bytes(1, 2))
            #expect(try await fixture.put(store, fixture.bytes(1, 3), ["Date": RuleSamples.date(-200)], at: 15) != nil)
            #expect(try await fixture.body(store) == fixture.bytes(1, 3))
        },
        StoreCase("cache CA-193 what was stored is found by the next lookup, by the same key only") { fixture in
            let store = try await fixture.store()
            try await fixture.put(store, "a", fixture.bytes(5))

            #expect(try await fixture.body(store, "a") == fixture.bytes(5))
            #expect(try await fixture.body(store, "b") == nil)
            #expect(try await fixture.body(store, "a", account: "you") == nil)
        },
        StoreCase("cache CA-50 variants are kept side by side, and replaced one by one") { fixture in
            let store = try await fixture.store()
            for (value, byte) in [("1", 1), ("2", 2), ("1", 3)] as [(String, UInt8)] {
                try await fixture.put(
                    store,
                    fixture.bytes(1, byte),
                    ["Vary": "X-A"],
                    request: ["X-A": value],
                    at: Double(byte)
                )
            }
            let heads = try await fixture.heads(store)
            var bodies: Set<Data> = []
            for head in heads { bodies.insert(try #require(try await fixture.read(store, head.id))) }

            #expect(heads.count == 2)
            #expect(bodies == [fixture.bytes(1, 2), fixture.bytes(1, 3)])
        },
        StoreCase("cache CA-57 a seventeenth variant evicts the one that was not used for longest") { fixture in
            let store = try await fixture.store()
            var ids: [UInt64] = []
            for number in 0..<16 {
                let id = try await fixture.put(
                    store,
                    fixture.bytes(1),
                    ["Vary": "X-A"],
                    request: ["X-A": "\(number)"],
                    at: Double(number)
                )
                ids.append(try #require(id))
            }
            _ = try await fixture.read(store, ids[0])
            try await fixture.put(store, fixture.bytes(1), ["Vary": "X-A"], request: ["X-A": "x"], at: 20)
            let left = Set(try await fixture.heads(store).map(\.id))

            #expect(left.count == 16)
            #expect(left.contains(ids[0]))
            #expect(!left.contains(ids[1]))
        },
        StoreCase("cache CA-58 CA-174 a replacement leaves nothing of what it replaces") { fixture in
            let store = try await fixture.store()
            let old = try #require(
                try await fixture.put(store, fixture.bytes(1, 1), ["Vary": "X-A"], request: ["X-A": "1"])
            )
            try await fixture.put(
                store,
                fixture.bytes(1, 2),
                ["Vary": "X-B"],
                request: ["X-A": "1", "X-B": "2"],
                at: 1,
                replacing: [old]
            )

            #expect(try await fixture.heads(store).map(\.reading.vary.names) == [["x-b"]])
            #expect(try await fixture.body(store) == fixture.bytes(1, 2))
        },
    ]

    package static let bodies: [StoreCase] = [
        StoreCase("cache CA-191 a reader that has begun reads the whole old body") { fixture in
            let store = try await fixture.store()
            let old = fixture.bytes(200_000 / 4, 1)
            let first = try #require(try await fixture.put(store, old))
            let replaced = try #require(try await store.open(first, span: nil))
            try await fixture.put(store, fixture.bytes(10, 2), at: 1)
            #expect(try await fixture.drain(replaced) == old)
            #expect(try await store.open(first, span: nil) == nil)

            let second = try #require(try await fixture.heads(store).first?.id)
            let purged = try #require(try await store.open(second, span: nil))
            _ = try await store.remove(.all)
            #expect(try await fixture.drain(purged) == fixture.bytes(10, 2))
        },
        StoreCase("cache CA-191 signing out ends the readers of the account") { fixture in
            let store = try await fixture.store()
            let id = try #require(try await fixture.put(store, fixture.bytes(10)))
            let other = try #require(try await fixture.put(store, fixture.bytes(10), account: "you"))
            let reader = try #require(try await store.open(id, span: nil))
            let kept = try #require(try await store.open(other, span: nil))
            _ = try await store.remove(.account("me"))

            await #expect(throws: CacheError(.signedOut)) { try await reader.next() }
            #expect(reader.bytes == nil)
            #expect(try await fixture.drain(kept) == fixture.bytes(10))
        },
        StoreCase("cache CA-150 ranges of a body are read") { fixture in
            let store = try await fixture.store()
            let body = Data((0..<100).map { UInt8($0) })
            let id = try #require(try await fixture.put(store, body))

            for span in [0..<1, 99..<100, 10..<20, 0..<100] as [Range<Int64>] {
                let part = try await fixture.read(store, id, span)
                #expect(part == body[Int(span.lowerBound)..<Int(span.upperBound)])
            }
            #expect(try await store.open(id, span: 0..<101) == nil)
        },
        StoreCase("cache CA-156 bytes are joined with those of another entry, whose version is compared") { fixture in
            let store = try await fixture.store()
            let key = try RuleSamples.key()
            let body = Data((0..<100).map { UInt8($0) })
            func write(_ span: Range<Int>, joining: (UInt64, UInt64)?, all: [Range<Int64>]) async throws -> UInt64? {
                var head = try fixture.samples.keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])
                head.extent = all == [0..<100] ? .whole(100) : .parts(all, total: 100)
                var write = CacheWrite(key, head, ticket: 0)
                write.offset = Int64(span.lowerBound)
                write.joined = joining.map { (id: $0.0, version: $0.1) }
                let writer = try #require(try await store.begin(write))
                try await writer.append(body[span])
                return try await writer.commit(head)
            }
            let first = try #require(try await write(0..<40, joining: nil, all: [0..<40]))
            #expect(try await fixture.read(store, first, 10..<30) == body[10..<30])
            #expect(try await store.open(first, span: 30..<50) == nil)
            let version = try #require(try await fixture.heads(store).first?.version)
            #expect(try await write(60..<100, joining: (first, version + 1), all: [0..<40, 60..<100]) == nil)
            let second = try #require(try await write(60..<100, joining: (first, version), all: [0..<40, 60..<100]))
            let third = try #require(try await write(30..<70, joining: (second, version), all: [0..<100]))

            #expect(try await fixture.heads(store).map(\.id) == [third])
            #expect(try await fixture.body(store) == body)
        },
        StoreCase("cache CA-27 a part takes the place of no whole body") { fixture in
            let store = try await fixture.store()
            try await fixture.put(store, fixture.bytes(10, 1), ["ETag": "\"a\""])
            var head = try fixture.samples.keep(["Cache-Control": "max-age=60", "ETag": "\"b\""], at: 5)
            head.extent = .parts([0..<4], total: 10)
            let writer = try #require(try await store.begin(CacheWrite(RuleSamples.key(), head, ticket: 0)))
            try await writer.append(fixture.bytes(4, 2))
            _ = try await writer.commit(head)

            let whole = try #require(try await fixture.heads(store).first(where: \.isWhole))
            #expect(try await fixture.read(store, whole.id) == fixture.bytes(10, 1))
        },
    ]
}
