#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Helpers of the cases.
extension TransportConformance {
    /// Runs a number of concurrent operations.
    static func inParallel(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count { group.addTask { try await body(number) } }
            try await group.waitForAll()
        }
    }

    /// Bytes with a period that is not a power of two, so that a lost or repeated block shows.
    static func pattern(_ count: Int) -> Data {
        let period = Data((0..<251).map { UInt8($0) })
        var block = Data()
        while block.count < 251 << 10 { block.append(period) }
        var whole = Data(capacity: count)
        while whole.count < count { whole.append(block.prefix(min(block.count, count - whole.count))) }
        return whole
    }

    /// The chunked form of some bytes.
    static func chunked(_ bytes: Data, of size: Int) -> Data {
        var framed = Data()
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(size)
            framed.append(Data("\(String(piece.count, radix: 16))\r\n".utf8))
            framed.append(piece)
            framed.append(Data("\r\n".utf8))
            rest = rest.dropFirst(size)
        }
        framed.append(Data("0\r\n\r\n".utf8))
        return framed
    }
}

extension ConformanceContext {
    /// The settings that trust only the peers' authority.
    func trustingPeers() throws(ConformanceError) -> TransportSettings.TLS {
        var tls = TransportSettings.TLS()
        tls.trustsSystemAuthorities = false
        tls.authorities = [.file(try peers.text("ca"))]
        return tls
    }

    /// A unique text, for peers that count requests by token.
    func token() -> String {
        "t" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
    }
}
