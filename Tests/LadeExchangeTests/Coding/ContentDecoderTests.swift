import Foundation
import Testing
import TransportDoubles

@testable import LadeExchange
@testable import LadeConformance

@Suite("The decoder of content codings", .timeLimit(.minutes(5)))
struct ContentDecoderTests {
    private static let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

    @Test(
        "finding WF-6 more than 1 MiB that decodes to nothing is a fault, in one piece or in many",
        arguments: [16, 4_096, Int.max]
    )
    func barren(pieces: Int) throws {
        func blocks(_ bytes: Int) -> Data {
            Data(Self.head + Array(repeatElement([0, 0, 0, 0xFF, 0xFF] as [UInt8], count: bytes / 5).joined()))
        }
        #expect(try Self.decode("gzip", blocks(1_000 << 10), pieces: pieces).fault == nil)
        #expect(try Self.decode("gzip", blocks(1_030 << 10), pieces: pieces).fault == .barren)
        let end: [UInt8] = [1, 1, 0, 0xFE, 0xFF, 0x78]
        let whole = try Self.decode("gzip", blocks(1_000 << 10) + end, pieces: pieces)
        #expect(whole.text == Data("x".utf8))
    }

    @Test("finding WF-6 what lies between two codings is bounded in a call, and everything comes in the end")
    func bounded() throws {
        let text = Data(repeating: 0x78, count: 3 << 20)
        let coded = Coded.deflated(Coded.deflated(text))
        let decoder = try #require(ContentDecoder(field: "gzip, gzip", pool: DecoderPool()))
        var room = [UInt8](repeating: 0, count: 1 << 20)
        var count = 0
        var interruptions = 0
        try coded.withUnsafeBytes { bytes in
            var input = bytes
            for _ in 0..<10_000 where !decoder.isComplete {
                count += try room.withUnsafeMutableBytes { try decoder.decode(&input, into: $0, isBounded: true) }
                if decoder.isInterrupted { interruptions += 1 }
            }
        }
        #expect(count == text.count)
        let empty = Data(Self.head + Array(repeatElement([0, 0, 0, 0xFF, 0xFF] as [UInt8], count: 100_000).joined()))
        let nested = Coded.deflated(empty)
        let other = try #require(ContentDecoder(field: "gzip, gzip", pool: DecoderPool()))
        nested.withUnsafeBytes { bytes in
            var input = bytes
            _ = try? room.withUnsafeMutableBytes { try other.decode(&input, into: $0, isBounded: true) }
            #expect(other.isInterrupted)
        }
    }

    /// What came of one coded body.
    private struct Outcome: Equatable {
        var text = Data()
        var fault: CodingFault?
        var isComplete = false
    }

    /// Decodes in pieces of so many bytes into room for so many.
    private static func decode(
        _ field: String,
        _ bytes: Data,
        pieces: Int = .max,
        room: Int = 4096,
        pool: DecoderPool = DecoderPool()
    ) throws -> Outcome {
        let decoder = try #require(ContentDecoder(field: field, pool: pool))
        var outcome = Outcome()
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer {
            space.deallocate()
            copy.deallocate()
        }
        copy.copyBytes(from: bytes)
        var rest = UnsafeRawBufferPointer(copy)[...]
        while !rest.isEmpty {
            var input = UnsafeRawBufferPointer(rebasing: rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
            do throws(CodingFault) {
                while true {
                    let count = try decoder.decode(&input, into: space)
                    outcome.text += space.prefix(count)
                    if count < room { break }
                }
            } catch {
                outcome.fault = error
                return outcome
            }
            #expect(input.isEmpty, "input is left although there was room")
        }
        outcome.isComplete = decoder.isComplete
        return outcome
    }

    private static let text = Data(CodedSample.text.utf8)
    private static let gzip = CodedSample.all["gzip"] ?? Data()
    private static let wrapped = CodedSample.all["deflate"] ?? Data()
    private static let brotli = CodedSample.all["br"] ?? Data()
    private static let zstd = CodedSample.all["zstd"] ?? Data()
    private static let raw = Data(wrapped.dropFirst(2).dropLast(4))
    /// A frame to be skipped (RFC 8878 §3.1.2).
    private static let skippable = Data([0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 2])

    private static let whole: [(field: String, bytes: Data, text: Data)] = [
        ("gzip", gzip, text), ("x-gzip", gzip, text), ("GZIP", gzip, text), ("deflate", wrapped, text),
        ("deflate", raw, text), ("br", brotli, text), ("zstd", zstd, text), (" gzip ,", gzip, text),
        ("gzip, identity", gzip, text), ("gzip", gzip + gzip + gzip, text + text + text),
        ("gzip", gzip + Data(count: 700), text), ("zstd", zstd + skippable + zstd, text + text),
        ("br, gzip", CodedSample.gzipOfBrotli, text),
        ("br,gzip , gzip", Coded.deflated(CodedSample.gzipOfBrotli), text),
        ("gzip", Coded.deflated(Data()), Data()),
    ]

    @Test("finding FH-3 decodes whole bodies, however they are cut and little room there is", arguments: whole.indices)
    func decodes(row: Int) throws {
        let (field, bytes, text) = Self.whole[row]
        for pieces in [1, 2, 7, Int.max] {
            for room in [1, 2, 13, 4096] {
                let outcome = try Self.decode(field, bytes, pieces: pieces, room: room)
                let expected = Outcome(text: text, fault: nil, isComplete: true)
                #expect(outcome == expected, "\(field), pieces of \(pieces), room for \(room)")
            }
        }
    }

    @Test("finding FH-3 is complete at the end and nowhere before it", arguments: whole.indices)
    func truncated(row: Int) throws {
        let (field, bytes, text) = Self.whole[row]
        // Between two members, among the zeros after the last one, and between frames a body may end.
        let ends: [Int: Set<Int>] = [
            9: [Self.gzip.count, 2 * Self.gzip.count], 10: Set(Self.gzip.count...(Self.gzip.count + 700)),
            11: [Self.zstd.count, Self.zstd.count + Self.skippable.count],
        ]
        for count in 0..<bytes.count {
            let outcome = try Self.decode(field, bytes.prefix(count))
            #expect(outcome.fault == nil, "\(field), \(count) bytes")
            #expect(text.starts(with: outcome.text), "\(field), \(count) bytes")
            #expect(outcome.isComplete == (ends[row]?.contains(count) ?? false), "\(field), \(count) bytes")
        }
    }

    @Test(
        "finding FH-3 refuses what follows the end",
        arguments: [
            ("gzip", gzip + [0x2A], .surplus(.gzip)), ("gzip", gzip + [0, 0, 1], .surplus(.gzip)),
            ("gzip", gzip + Data(count: 8) + gzip, .surplus(.gzip)), ("deflate", wrapped + [0], .surplus(.deflate)),
            ("deflate", raw + [0], .surplus(.deflate)), ("br", brotli + [0], .surplus(.brotli)),
            ("zstd", zstd + Data("surplus".utf8), .surplus(.zstd)),
            ("br, gzip", Coded.deflated(brotli + [0]), .surplus(.brotli)),
        ] as [(String, Data, CodingFault)]
    )
    func surplus(field: String, bytes: Data, fault: CodingFault) throws {
        #expect(try Self.decode(field, bytes).fault == fault)
    }

    @Test(
        "finding FH-3 refuses what is of another coding",
        arguments: ["gzip", "deflate", "br", "zstd"],
        ["gzip", "deflate", "br", "zstd"]
    )
    func labels(label: String, coding: String) throws {
        let outcome = try Self.decode(label, CodedSample.all[coding] ?? Data())
        #expect((outcome.fault == nil && outcome.isComplete) == (label == coding), "\(outcome)")
    }

    @Test("finding FH-3 refuses what is damaged, whichever byte it is", arguments: ["gzip", "deflate"])
    func damaged(coding: String) throws {
        // Both have a checksum of the text; the others need none.
        let bytes = CodedSample.all[coding] ?? Data()
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x10
            let outcome = try Self.decode(coding, other)
            let isWhole = outcome.fault == nil && outcome.isComplete
            #expect(!isWhole || outcome.text == Self.text, "\(coding), byte \(index)")
        }
    }

    @Test(
        "finding FH-3 refuses codings that it does not know, and more than five, at the first byte",
        arguments: [
            ("compress", .unknown("compress")), ("gzip, rot13", .unknown("rot13")),
            ("gzip gzip", .unknown("gzip gzip")), ("gzip;q=1", .unknown("gzip;q=1")),
            ("gzip,br,zstd,gzip,br,zstd", .tooMany(limit: 5)),
        ] as [(String, CodingFault)]
    )
    func refused(field: String, fault: CodingFault) throws {
        let decoder = try #require(ContentDecoder(field: field, pool: DecoderPool()))
        #expect(!decoder.isDecoding)
        #expect(!decoder.isComplete)
        #expect(try Self.decode(field, Self.gzip).fault == fault)
    }

    @Test("has nothing to do where no coding is named", arguments: ["", " ", ",", "identity", "Identity, identity"])
    func identity(field: String) {
        #expect(ContentDecoder(field: field, pool: DecoderPool()) == nil)
    }

    @Test("finding FH-3 refuses a Zstandard window above 8 MiB (RFC 9659)")
    func window() throws {
        // Magic number, frame header without a content size, window descriptor 2^27.
        let outcome = try Self.decode("zstd", Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 17 << 3, 0x01, 0x00, 0x00]))
        #expect(outcome.fault != nil)
        #expect(outcome.text.isEmpty)
    }

    @Test("uses decoders again, whatever became of the body before")
    func reused() throws {
        let pool = DecoderPool()
        for (field, bytes, text) in Self.whole {
            _ = try Self.decode(field, bytes.prefix(bytes.count / 2), pool: pool)
            _ = try Self.decode(field, Data("no such coding".utf8), pool: pool)
            #expect(try Self.decode(field, bytes, pool: pool) == Outcome(text: text, fault: nil, isComplete: true))
        }
    }

    @Test("finding FT-6 counts the output of the coding that makes the most")
    func counted() throws {
        // A second coding makes nothing of the zeros, which follow its last member.
        let coded = Coded.deflated(Self.gzip + Data(count: 1 << 20))
        let decoder = try #require(ContentDecoder(field: "gzip, gzip", pool: DecoderPool()))
        var space = [UInt8](repeating: 0, count: 4096)
        try coded.withUnsafeBytes { bytes in
            var input = bytes
            let count = try space.withUnsafeMutableBytes { try decoder.decode(&input, into: $0) }
            #expect(count == Self.text.count)
        }
        #expect(decoder.mostBytes == Int64(Self.gzip.count + (1 << 20)))
        #expect(decoder.consumedBytes == Int64(coded.count))
    }
}
