/// The leases of a worker, as its board knows them from replies.
package struct BoardHoldings: Sendable, Hashable {
    private var epoch: UInt64 = 0
    private var fences: [BoardSegment: Int] = [:]
    private var merge: Int?
    /// The fences of lost leases of the epoch.
    private var lost: Set<Int> = []
    private var isCancelled = false

    package init() {}

    /// The order that extends the leases; nil without one.
    package var beat: BoardOrder? {
        fences.isEmpty && merge == nil ? nil : .beat(epoch: epoch, fences: fences, merge: merge)
    }

    package func standing(of lease: BoardLease) -> BoardStanding {
        if lease.epoch == epoch, lost.contains(lease.fence) { return .lost }
        return isCancelled ? .cancelled : .held
    }

    package func holdsMerge(fence: Int) -> Bool { merge == fence }

    /// Notes the reply to an order.
    package mutating func note(_ reply: BoardReply, to order: BoardOrder) {
        switch (order, reply) {
        case (.open, .opened): isCancelled = false
        case (.claim, .lease(let lease)):
            begin(lease.epoch)
            fences[lease.segment] = lease.fence
        case (.commit(let lease, _, _), .done), (.commit(let lease, _, _), .refused):
            guard lease.epoch == epoch else { break }
            if fences[lease.segment] == lease.fence { fences[lease.segment] = nil }
            lost.remove(lease.fence)
        case (.merge(let epoch), .merge(let fence)):
            begin(epoch)
            merge = fence
        case (.merged, .done), (.merged, .refused): merge = nil
        case (.beat(let epoch, let sent, let sentMerge), .beat(let gone, let losesMerge, let isCancelled)):
            guard epoch == self.epoch else { break }
            self.isCancelled = isCancelled
            for segment in gone {
                guard let fence = sent[segment], fences[segment] == fence else { continue }
                fences[segment] = nil
                lost.insert(fence)
            }
            if losesMerge, merge == sentMerge { merge = nil }
        // The leases of a run that is no more need no beats; the worker learns of the loss when it commits.
        case (.beat(epoch, _, _), .unknown): (fences, merge) = ([:], nil)
        default: break
        }
    }

    private mutating func begin(_ epoch: UInt64) {
        guard epoch != self.epoch else { return }
        self = BoardHoldings()
        self.epoch = epoch
    }
}
