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
    private struct State {
        var isClosed = false
        var isSilent = false
        var joined: UInt64 = 0
        var members: [ObjectIdentifier: (number: UInt64, work: any Work)] = [:]

        /// The members in the order they joined, so that a run in virtual time repeats exactly.
        var inOrder: [any Work] { members.values.sorted { $0.number < $1.number }.map(\.work) }
    }

    private let state = Locked(State())
    private let parent: WorkGroup?

    /// Makes a group; within a closed parent it is closed from the start.
    init(within parent: WorkGroup? = nil) {
        self.parent = parent
        if let parent, !parent.join(self) { close() }
    }

    var asked: Request? { nil }

    /// Whether its work is to end without telling anybody, because whoever asked is gone.
    var isSilent: Bool { state.withLock { $0.isSilent } }

    /// Takes a member in; false when the group is closed.
    func join(_ member: any Work) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.joined += 1
            state.members[ObjectIdentifier(member)] = (state.joined, member)
            return true
        }
    }

    /// Forgets a member.
    func leave(_ member: any Work) {
        // The member is let go outside the lock: its end may take other locks.
        _ = state.withLock { $0.members.removeValue(forKey: ObjectIdentifier(member)) }
    }

    /// What is asked for now, in the order it was asked.
    var requests: [Request] { state.withLock(\.inOrder).compactMap(\.asked) }

    /// Cancels all members; new ones may join.
    func cancelMembers() {
        for member in state.withLock(\.inOrder) { member.cancel() }
    }

    /// Cancels all members and takes no more.
    func close() {
        let members = state.withLock { state in
            state.isClosed = true
            return state.inOrder
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
        parent?.leave(self)
    }
}

extension CallScope: Work {
    var asked: Request? { request }
}
