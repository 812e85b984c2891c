/// Something under way that can be ended from outside.
protocol Work: AnyObject, Sendable {
    /// What is asked for, when it is a call.
    var asked: Request? { get }
    /// Ends it as cancelled; harmless after its end, and more than once.
    func cancel()
}

/// Work that is ended together: that of a loader, of an account, of a service.
///
/// Groups form a tree: a loader's is a member of its account's, which is one of its service's. A group holds its members
/// until they leave, and members never hold what owns the group; so an owner that goes away can close it (D-01).
final class WorkGroup: Work {
    typealias Seat = Roster<any Work>.Seat

    private struct State {
        var isClosed = false
        var isSilent = false
        var members = Roster<any Work>()
    }

    private let state = Locked(State())
    private let parent: WorkGroup?
    /// Its own in the parent.
    private let seat = Locked<Seat?>(nil)

    /// Makes a group; within a closed parent it is closed from the start.
    init(within parent: WorkGroup? = nil) {
        self.parent = parent
        guard let parent else { return }
        let seat = parent.join(self)
        self.seat.withLock { $0 = seat }
        if seat == nil { close() }
    }

    var asked: Request? { nil }

    /// Whether its work is to end without telling anybody, because whoever asked is gone.
    var isSilent: Bool { state.withLock { $0.isSilent } }

    /// Takes a member in, and returns by what it leaves; nil when the group is closed.
    func join(_ member: any Work) -> Seat? {
        state.withLock { state in state.isClosed ? nil : state.members.join(member) }
    }

    /// Forgets a member; harmless when repeated, and for nobody.
    func leave(_ seat: Seat?) {
        guard let seat else { return }
        // The member is let go outside the lock: its end may take other locks.
        _ = state.withLock { $0.members.leave(seat) }
    }

    /// What is asked for now, in the order it was asked.
    var requests: [Request] { state.withLock(\.members.inOrder).compactMap(\.asked) }

    /// Cancels all members; new ones may join.
    func cancelMembers() {
        for member in state.withLock(\.members.inOrder) { member.cancel() }
    }

    /// Cancels all members and takes no more.
    func close() {
        let members = state.withLock { state in
            state.isClosed = true
            return state.members.inOrder
        }
        for member in members { member.cancel() }
    }

    func cancel() {
        close()
    }

    /// Closes the group for good because its owner goes away: nobody is to be told of anything any more.
    func dissolve() {
        state.withLock { $0.isSilent = true }
        close()
        parent?.leave(seat.withLock { $0 })
    }
}

extension CallScope: Work {
    var asked: Request? { request }
}
