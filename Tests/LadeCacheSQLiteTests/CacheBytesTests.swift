import CacheStoreConformance
import Lade
import LadeCache
import LadeCacheSQLite
import LadeTesting
import SharedDoubles
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Services with a cache and without one, against a server on the loopback interface.
@Suite("Cache of a service, byte by byte", .timeLimit(.minutes(5)))
struct CacheBytesTests {
    private static let lengths = [0, 1, 1_000, 65_535, 65_536, 65_537, 1 << 20, 20 << 20]

    /// The bodies by length, and their coded forms, each made once.
    private static let bodies: [Int: Data] = Dictionary(uniqueKeysWithValues: lengths.map { ($0, makeBody($0)) })
    private static let coded: [Int: Data] = bodies.mapValues(gzip)

    private static func makeBody(_ length: Int) -> Data {
        var random = UInt64(length) | 1
        let words = (0...length / 8).map { _ -> UInt64 in
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return random ^ random >> 29
        }
        return words.withUnsafeBytes { Data($0.prefix(length)) }
    }

    /// Responds to `/LENGTH`, `/LENGTH?chunked` and, with the coding gzip, to `/LENGTH?gzip`; ranges of the first are understood.
    private static func respond(_ request: ServerRequest) -> ServerResponse {
        let bytes = bodies[Int(request.path.dropFirst()) ?? 0] ?? Data()
        var fields = [
            ServerField("Cache-Control", "max-age=600"), ServerField("ETag", "\"\(bytes.count)\""),
            ServerField("X-Repeated", "1"), ServerField("X-Repeated", "2"),
            ServerField("Date", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ]
        if request.target.hasSuffix("?gzip") {
            fields.append(ServerField("Content-Encoding", "gzip"))
            return .bytes(coded[bytes.count] ?? Data(), fields)
        }
        if request.target.hasSuffix("?chunked") {
            var rest = bytes[...]
            var chunks: [Data] = []
            while !rest.isEmpty {
                chunks.append(Data(rest.prefix(30_000)))
                rest = rest.dropFirst(30_000)
            }
            return ServerResponse(fields: fields, body: .chunks(chunks))
        }
        if let range = request["Range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap({ Int($0) }),
            range.count == 2
        {
            fields.append(ServerField("Content-Range", "bytes \(range[0])-\(range[1])/\(bytes.count)"))
            return .bytes(bytes[range[0]...range[1]], status: 206, fields)
        }
        return .bytes(bytes, fields)
    }

    /// The bytes as gzip has them without compressing them (RFC 1951 §3.2.4, RFC 1952).
    private static func gzip(_ bytes: Data) -> Data {
        var coded = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(60_000)
            rest = rest.dropFirst(60_000)
            let length = UInt16(block.count)
            coded.append(rest.isEmpty ? 1 : 0)
            for number in [length, ~length] {
                withUnsafeBytes(of: number.littleEndian) { coded.append(contentsOf: $0) }
            }
            coded.append(block)
        } while !rest.isEmpty
        let table = (0..<256).map { (0..<8).reduce(UInt32($0)) { sum, _ in sum >> 1 ^ (sum & 1) * 0xEDB8_8320 } }
        let sum = bytes.withUnsafeBytes { bytes in
            bytes.reduce(~UInt32(0)) { $0 >> 8 ^ table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] }
        }
        for number in [~sum, UInt32(truncatingIfNeeded: bytes.count)] {
            withUnsafeBytes(of: number.littleEndian) { coded.append(contentsOf: $0) }
        }
        return coded
    }

    /// What a caller sees of a response, but for `Age`.
    private struct Seen: Equatable {
        let status: Int
        let fields: [String]
        let body: Data
        let trailers: [String]
    }

    /// Loads a response; with a store, its body is read no faster than the store writes it, and more is not stored.
    private func load(
        _ service: Service,
        _ request: Request,
        writing store: (any CacheStore)? = nil
    ) async throws -> (Seen, Response.Source) {
        let loader = service.anonymous.makeLoader()
        defer { withExtendedLifetime(loader) {} }
        let response = try await loader.load(request)
        var body = Data()
        for try await chunk in response.body {
            body.append(chunk)
            try await store?.flush()
        }
        // Fields of the transfer, or of a coding that was removed, are not those of the stored response.
        let own = ["Age", "Connection", "Transfer-Encoding", "Content-Encoding"]
        let isDecoded = response.headers.contains("Content-Encoding") || request.url.query() == "gzip"
        let fields = response.headers.filter { field in
            !own.contains(field.name) && !(isDecoded && field.name == "Content-Length")
        }.map { "\($0.name): \($0.value)" }.sorted()
        let trailers = response.body.trailers.map { "\($0.name): \($0.value)" }
        return (Seen(status: response.status.code, fields: fields, body: body, trailers: trailers), response.source)
    }

    @Test(
        "cache CA-01 CA-32 CA-150 CA-192 a served response is, byte for byte, the one of a service without a cache",
        arguments: [false, true],
        ["", "?chunked", "?gzip"]
    )
    func serves(isOnDisk: Bool, form: String) async throws {
        let testFolder = try TestStoreFolder()
        let server = try LoopbackServer { Self.respond($0) }
        let plain = try Service(Service.Settings())
        var settings = Service.Settings()
        let store: any CacheStore =
            isOnDisk ? try testFolder.store(limit: 512 << 20) : try ResponseCache.MemoryStore(limit: 512 << 20)
        settings.cache = ResponseCache.Settings(store: store)
        // What is older than the lifetime by its `Date` would be stale.
        settings.cache?.rules.usesApparentAge = false
        let cached = try Service(settings)
        var served = 0
        for length in Self.lengths {
            for delivery in [Request.Delivery.buffered(limit: 64 << 20), .streamed] {
                var request = try Request(server.address("/\(length)\(form)"))
                request.delivery = delivery
                let note = "\(length) \(delivery)"
                let (expected, _) = try await load(plain, request)
                var storing = request
                storing.delivery = .streamed
                let (first, _) = try await load(cached, storing, writing: store)
                // What is committed on disk is found a moment later.
                try await store.flush()
                let (second, source) = try await load(cached, request)
                // Not by the macro, which would print the bodies.
                let isSame = (first == expected, second == expected)
                #expect(isSame == (true, true), "\(note)")
                #expect(expected.body.count == length)
                #expect(source == .cache, "\(note)")
                served += source == .cache ? 1 : 0
                guard form.isEmpty, length > 2 else { continue }
                for range in [0..<1, 1..<length - 1, length / 2..<length, length - 1..<length] {
                    request.headers["Range"] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
                    let (part, _) = try await load(plain, request)
                    let (stored, source) = try await load(cached, request)
                    let isSame = part == stored
                    #expect(isSame, "\(note) \(range)")
                    #expect(source == .cache)
                }
            }
        }
        #expect(served == Self.lengths.count * 2)
        // One exchange of the cached service for each length, beside those of the plain one.
        #expect(server.requests.count { $0["Range"] == nil } == Self.lengths.count * 3)
        await cached.shutDown()
        await plain.shutDown()
    }
}
