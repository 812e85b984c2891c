import Foundation
import Lade
import LadeCache
import LadePolicies
import Testing

/// The table of defaults in the documentation, and its excerpt in the README, say what the code does.
@Suite("Tables of defaults", .timeLimit(.minutes(5)))
struct DefaultsTests {
    /// What the code has, by the name in the tables.
    private static var values: [(name: String, value: String)] {
        let (settings, timeouts) = (Service.Settings(), Request.Timeouts())
        let (deadlines, retries, limits) = (settings.deadlines, settings.retries, RateLimits())
        let (transport, budget) = (settings.transport, RetryBudget.Settings())
        return [
            ("`timeouts.connect`", text(timeouts.connect)),
            ("`timeouts.idle`", text(timeouts.idle)),
            ("`timeouts.whole`", text(timeouts.whole)),
            ("`deadlines.buffered`", text(deadlines.buffered)),
            ("`deadlines.uploading`", text(deadlines.uploading)),
            ("`deadlines.streamed`", text(deadlines.streamed)),
            ("`deadlines.attempt`", text(deadlines.attempt)),
            ("`acceptableStatuses`", settings.acceptableStatuses.description),
            ("`Request.defaultBufferLimit`", bytes(Request.defaultBufferLimit)),
            ("`redirects.limit`", "\(settings.redirects.limit)"),
            ("`retries.limit`", "\(retries.limit)"),
            ("`retries.statuses`", retries.statuses.description),
            ("`retries.delayLimit`", text(retries.delayLimit)),
            ("`retryBudget.capacity`", "\(budget.capacity) tokens, \(budget.retryCost) per retry"),
            ("`hedging`", settings.hedging == nil ? "none" : "some"),
            ("`RateLimits.default`", limits.default == nil ? "none" : "some"),
            ("`Request[RateCost.self]`", "\(RateCost.defaultValue)"),
            ("`RateLimits.gateStatuses`", limits.gateStatuses.description),
            ("`RateLimits.delayLimit`", text(limits.delayLimit)),
            (
                "`RateLimits.quotaReserve`", "\(limits.quotaReserve), at least \(limits.quotaReserveCalls) calls"
            ),
            ("`RateLimits.waitingLimit`", limits.waitingLimit.map { "\($0)" } ?? "none"),
            ("`cache`", settings.cache == nil ? "none" : "some"),
            ("`ResponseCache.MemoryStore.defaultLimit`", bytes(ResponseCache.MemoryStore.defaultLimit)),
            ("`cache.patience`", text(ResponseCache.Settings().patience)),
            ("`cache.rules.heuristicFraction`", "\(ResponseCache.Rules().heuristicFraction)"),
            ("`cache.rules.heuristicLimit`", text(ResponseCache.Rules().heuristicLimit)),
            ("`transport.connections.perHost`", "\(transport.connections.perHost)"),
            ("`transport.connections.total`", "\(transport.connections.total)"),
            ("`transport.connections.idleLife`", text(transport.connections.idleLife)),
            ("`transport.limits.headBytes`", bytes(transport.limits.headBytes)),
            ("`transport.limits.certificateBytes`", bytes(transport.limits.certificateBytes)),
            ("`transport.limits.decompressionRatio`", "\(transport.limits.decompressionRatio)"),
            ("`transport.limits.streamHighWater`", bytes(transport.limits.streamHighWater)),
            ("`transport.tls.minimumVersion`", transport.tls.minimumVersion == .tls1_2 ? "TLS 1.2" : "TLS 1.3"),
        ]
    }

    private static func text(_ duration: Duration?) -> String {
        duration.map { "\($0.components.seconds) s" } ?? "none"
    }

    private static func bytes(_ count: Int) -> String {
        count >= 1 << 20 ? "\(count >> 20) MiB" : "\(count >> 10) KiB"
    }

    /// The first two cells of each row of the table below the heading that has “Defaults” in it.
    private func rows(of path: String) throws -> [(name: String, value: String)] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix("#") && $0.contains("Defaults") }, "\(path)")
        let table = lines[start...].drop { !$0.hasPrefix("| ---") }.dropFirst().prefix { $0.hasPrefix("|") }
        return table.map { row in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return (cells[0], cells[1])
        }
    }

    @Test("the table of defaults has the values of the code")
    func agrees() throws {
        let rows = try rows(of: "Sources/Lade/Lade.docc/Defaults.md")
        #expect(rows.map(\.name) == Self.values.map(\.name))
        for (row, expected) in zip(rows, Self.values) { #expect(row == expected) }
    }

    @Test("the defaults that the README shows have the values of the code")
    func excerpt() throws {
        let rows = try rows(of: "README.md")
        #expect(rows.count == 5)
        for row in rows { #expect(Self.values.contains { $0 == row }, "\(row)") }
    }
}
