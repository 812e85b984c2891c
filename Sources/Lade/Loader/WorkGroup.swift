/// Work in flight that can be cancelled.
protocol Work: AnyObject, Sendable {
    /// The request, when the work is a call.
    var asked: Request? { get }
    /// Cancels the work; has no effect after its end, or when called again.
    func cancel()
}

/// The work of a loader, an account or a service, which is cancelled together.
///
/// Groups form a tree: a loader's group is a member of its account's group, which is a member of the service's group. A
/// group holds its members until they leave. Members do not hold the owner of the group, so that the owner can be
/// released and then closes the group.
final class WorkGroup: Work {
    typealias Slot = Roster<any Work>.Slot

    private struct State {
        var isClosed = false
        var isSilent = false
        var members = Roster<any Work>()
    }

    private let state = Locked(State())
    private let parent: WorkGroup?
    /// The slot of this group in its parent.
    private let slot = Locked<Slot?>(nil)

    /// Makes a group; it is closed when its parent is closed.
    init(within parent: WorkGroup? = nil) {
        self.parent = parent
        guard let parent else { return }
        let slot = parent.join(self)
        self.slot.withLock { $0 = slot }
        if slot == nil { close() }
    }

    var asked: Request? { nil }

    /// Whether the work must end without a report, because the owner of the group was released.
    var isSilent: Bool { state.withLock { $0.isSilent } }

    /// Adds a member, and returns its slot; nil when the group is closed.
    func join(_ member: any Work) -> Slot? {
        state.withLock { state in state.isClosed ? nil : state.members.join(member) }
    }

    /// Removes a member; has no effect for nil or a member that has left.
    func leave(_ slot: Slot?) {
        guard let slot else { return }
        // The member is released outside the lock: its deinitialiser may take other locks.
        _ = state.withLock { $0.members.leave(slot) }
    }

    /// The requests in flight, in the order in which they were made.
    var requests: [Request] { state.withLock(\.members.inOrder).compactMap(\.asked) }

    /// Cancels all members; new members may join.
    func cancelMembers() {
        for member in state.withLock(\.members.inOrder) { member.cancel() }
    }

    /// Cancels all members and accepts no new ones.
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

    /// Closes the group when its owner is released: nothing is reported any more.
    func dissolve() {
        state.withLock { $0.isSilent = true }
        close()
        parent?.leave(slot.withLock { $0 })
    }
}

extension Call.Scope: Work {
    var asked: Request? { request }
}
