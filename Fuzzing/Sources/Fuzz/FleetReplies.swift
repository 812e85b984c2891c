@testable import LadeCore
@testable import LadePolicies
@testable import LadeRedis

extension Target {
    /// The bytes of a store: the same replies whole and in pieces of the size that the first byte chooses; a member grants no
    /// more than was asked for.
    static let fleetReplies = Target(name: "fleet-replies") { bytes in
        guard let first = bytes.first else { return }
        let text = Array(bytes.dropFirst())
        let whole = read(text, piece: max(1, text.count))
        let parts = read(text, piece: Int(first % 16) + 1)
        expect(whole.isRefused == parts.isRefused, "refused whole or in pieces, but not both")
        expect(whole.replies == parts.replies, "other replies in pieces")
        answer(whole.replies)
    }

    private static func read(_ text: [UInt8], piece: Int) -> (replies: [StoreReply], isRefused: Bool) {
        var reader = StoreReader()
        var replies: [StoreReply] = []
        var rest = text[...]
        while !rest.isEmpty {
            reader.bytes += rest.prefix(piece)
            rest = rest.dropFirst(piece)
            do throws(StoreReader.Fault) {
                while let reply = try reader.next() { replies.append(reply) }
            } catch {
                return (replies, true)
            }
        }
        return (replies, false)
    }

    /// Gives the replies to a member, whose first commands are a beat and an ask.
    private static func answer(_ replies: [StoreReply]) {
        var member = FleetMember(FleetMember.Settings(fleet: "f", id: "i", name: "n"), now: Instant(nanoseconds: 0))
        let ask = RateAsk(key: ServiceKey("a"), count: 2, rate: .perSecond(10), holdsNone: true)
        member.opened(Instant(nanoseconds: 0))
        for (number, reply) in replies.enumerated() {
            let now = Instant(nanoseconds: Int64(number + 1) * 10_000_000)
            member.order(.ask(ask), of: 1, now)
            member.reply(reply, now)
            member.tick(now, hasDemand: true)
            for action in member.take() {
                if case .news(_, .granted(_, let slots, _)) = action {
                    expect(slots.count <= 2, "more than was asked for")
                }
            }
        }
    }
}
