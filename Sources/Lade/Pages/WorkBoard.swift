package import LadeCore

/// The board of a harvest by several workers: it says which worker loads which pages, and which part of the output has them.
///
/// A *run* has *walks*, the lists of pages: one, or one for each partition. A walk consists of *segments* of successive pages. A
/// worker claims a segment, writes its pages to a *part*, a file of its own, and commits the part. The truth about contents is in
/// the parts and in the journals of the workers. A board that has lost its run is filled again from these.
///
/// A board is that of one worker in one run. It extends the leases of its worker by itself, from the claim to the commit.
package protocol WorkBoard: AnyObject, Sendable {
    /// Carries out an order.
    ///
    /// Cancelling the task has no effect, so that a cancelled worker can give its segment back. The wait for a store that does
    /// not respond takes some seconds at most.
    ///
    /// Every order but ``BoardOrder/claim(epoch:)`` and ``BoardOrder/merge(epoch:)`` may be sent again after a missing reply.
    /// - Returns: The reply; nil when the store does not respond, or sends what cannot be understood.
    func carryOut(_ order: BoardOrder) async -> BoardReply?
    /// Whether a lease is held, to the knowledge of the latest beat; costs nothing.
    func standing(of lease: BoardLease) -> BoardStanding
    /// Whether the right to merge is held, to the knowledge of the latest beat.
    func holdsMerge(fence: Int) -> Bool
}

/// The knowledge of the latest beat about a lease.
package enum BoardStanding: Sendable, Hashable {
    /// The worker has the segment.
    case held
    /// Another worker has the segment, or it is not wanted any longer: the worker stops at the next page and deletes the part.
    case lost
    /// The run is cancelled: the worker commits the pages that it has, with ``BoardSequel/more(_:)``.
    case cancelled
}

/// The description of a run, in which the workers must agree.
package struct BoardRun: Sendable, Hashable {
    /// The digest of the arguments; workers with another one are refused.
    package var digest: String
    /// The arguments, without secrets, for the differences that a refused worker shows; at most ``textLimit`` bytes.
    package var text: String
    /// The number of lists of pages, from 1 to 10,000,000.
    package var walks = 1
    /// Whether any page can be requested by its number, so that many workers share a walk.
    package var isNumbered = true
    /// The most pages of a segment, from 1 to 1,000.
    package var size = 32
    /// The most pages of a walk; nil for all.
    package var limit: Int?
    /// Whether a walk whose cursor has expired begins again.
    package var restartsWalks = false

    package static let textLimit = 64 << 10

    package init(digest: String, text: String) { (self.digest, self.text) = (digest, text) }
}

extension BoardRun {
    /// Whether the numbers are those of a run.
    package var isValid: Bool {
        (1...10_000_000).contains(walks) && (1...1_000).contains(size) && limit ?? 1 >= 1
            && (1...128).contains(digest.utf8.count) && text.utf8.count <= Self.textLimit
    }

    /// Whether a lease can be one of the run.
    package func allows(_ lease: BoardLease) -> Bool {
        let end = lease.segment.first.addingReportingOverflow(lease.count)
        return (0..<walks).contains(lease.segment.walk) && (1...size).contains(lease.count) && lease.segment.first >= 0
            && !end.overflow && end.partialValue <= limit ?? .max && (!isNumbered || lease.cursor == nil)
    }
}

/// The wish of a worker about a run that exists already.
package enum BoardOpening: Sendable, Hashable {
    /// Work with the others.
    case join
    /// Work with the others, even if the run was cancelled.
    case resume
    /// Begin a new run; refused while workers hold leases, unless they are to lose them.
    case restart(force: Bool)
}

/// A range of pages of a walk, which begins at the page that also names the segment.
package struct BoardSegment: Sendable, Hashable {
    /// The number of the walk, from 0.
    package var walk: Int
    /// The position of the first page in the walk, from 0.
    package var first: Int

    package init(walk: Int, first: Int) { (self.walk, self.first) = (walk, first) }

    var isValid: Bool { (0..<10_000_000).contains(walk) && (0...1_000_000_000).contains(first) }
}

extension BoardSegment: Comparable {
    package static func < (lhs: BoardSegment, rhs: BoardSegment) -> Bool {
        (lhs.walk, lhs.first) < (rhs.walk, rhs.first)
    }
}

/// The right of a worker to load a segment, and to commit it.
package struct BoardLease: Sendable, Hashable {
    /// The random number of the run, which is another one after a loss.
    package var epoch: UInt64
    package var segment: BoardSegment
    /// The most pages to load; a walk by links may end the segment earlier.
    package var count: Int
    /// How often the walk has begun again.
    package var generation = 0
    /// The number of the lease; each one of an epoch has another.
    package var fence: Int
    /// The number of this attempt at the first page, from 1.
    package var attempt = 1
    /// Where a walk by links continues, as the worker before has written it.
    ///
    /// It is nil for the beginning of a walk and for numbered pages. The text comes from the store, and is not to be trusted.
    package var cursor: Secret?
    /// The checksum of the walk's first page, if its part is committed.
    package var start: UInt64?
    /// The checksum of the page before the segment, if its part is committed.
    package var before: UInt64?

    package init(epoch: UInt64, segment: BoardSegment, count: Int, fence: Int) {
        (self.epoch, self.segment, self.count, self.fence) = (epoch, segment, count, fence)
    }
}

/// The contents of a part: successive pages from the first one of a segment on.
package struct BoardPart: Sendable, Hashable {
    package var pages: Int
    package var items: Int
    package var lines: Int
    /// The length of the file in bytes, and its CRC-64/XZ.
    package var length: Int64
    package var checksum: UInt64
    /// The checksums of the first and the last page, as ``PageContents`` has them; nil where pages are not compared.
    package var firstPage: UInt64?
    package var lastPage: UInt64?
    /// The number of pages in the walk, if the server announces it; no segment is begun beyond it.
    package var announced: Int?

    package init(pages: Int, items: Int, lines: Int, length: Int64, checksum: UInt64) {
        (self.pages, self.items, self.lines) = (pages, items, lines)
        (self.length, self.checksum) = (length, checksum)
    }

    var isValid: Bool {
        let most = Int64(1) << 50
        return (1...1_000).contains(pages) && (0...most).contains(length)
            && [items, lines, announced ?? 0].allSatisfy { (0...most).contains(Int64($0)) }
    }
}

/// The reason why a page could not be loaded.
package struct BoardFailure: Sendable, Hashable {
    /// The kinds, which differ in what is done next.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// No connection, a time-out, or a status from 500 on: again after 1, 5, 25 and 25 seconds, then failed.
        case temporary
        /// A status from 400 on, or a body that cannot be decoded: once more, by another worker if there is one, then failed.
        case lasting
        /// The server does not know the cursor any longer: the walk fails, or begins again.
        case expired
    }

    package var kind: Kind
    /// The reason without secrets, at most ``detailLimit`` bytes.
    package var detail: String

    package static let detailLimit = 200

    package init(_ kind: Kind, detail: String) { (self.kind, self.detail) = (kind, detail) }
}

/// The continuation of a walk after the pages of a part.
package enum BoardSequel: Sendable, Hashable {
    /// More pages follow; those of the segment that are not in the part are given back.
    ///
    /// A walk by links continues where the text says, which also has its marks against loops. The text is nil where the walk has
    /// not advanced, and for numbered pages.
    case more(Secret?)
    /// The list ends after these pages.
    case end
    /// The next page could not be loaded; with the same text as ``more(_:)``.
    case failed(BoardFailure, Secret?)

    /// The most bytes of a text that says where a walk continues.
    package static let cursorLimit = 16 << 10

    var isValid: Bool {
        switch self {
        case .end: true
        case .more(let cursor): Self.isValid(cursor)
        case .failed(let failure, let cursor):
            Self.isValid(cursor) && failure.detail.utf8.count <= BoardFailure.detailLimit
        }
    }

    private static func isValid(_ cursor: Secret?) -> Bool {
        (1...cursorLimit).contains(cursor.map { $0.reveal().utf8.count } ?? 1)
    }
}

/// A part that a board has lost, from the journal of its worker.
package struct BoardOffer: Sendable, Hashable {
    package var segment: BoardSegment
    package var part: BoardPart
    package var sequel: BoardSequel
    /// The epoch and the fence of the lease under which the part was written, which are in the name of its file.
    package var epoch: UInt64
    package var fence: Int
    package var generation: Int

    /// Makes an offer of what was committed, or would have been.
    package init(_ lease: BoardLease, _ part: BoardPart, _ sequel: BoardSequel) {
        (segment, self.part, self.sequel) = (lease.segment, part, sequel)
        (epoch, fence, generation) = (lease.epoch, lease.fence, lease.generation)
    }
}

/// A segment as the board knows it.
package struct BoardEntry: Sendable, Hashable {
    /// The state of a segment.
    package enum State: Sendable, Hashable {
        /// Exactly one part has the pages: the one of this epoch and fence.
        case committed(BoardPart, epoch: UInt64, fence: Int)
        /// So many pages cannot be loaded.
        case failed(pages: Int, detail: String)
        /// So many pages are missing, because they are being loaded or wait for it.
        case open(pages: Int)
    }

    package var segment: BoardSegment
    package var state: State
    /// The worker that has, or had, the segment; empty for none.
    ///
    /// The text comes from the store, to be shown and no more.
    package var worker: String

    package init(segment: BoardSegment, state: State, worker: String) {
        (self.segment, self.state, self.worker) = (segment, state, worker)
    }
}

/// The numbers of a run.
package struct BoardState: Sendable, Hashable {
    /// How far a run is.
    package enum Phase: String, Sendable, Hashable, CaseIterable {
        case running
        case cancelled
        /// All pages are in parts.
        case complete
        /// All pages are in parts but those that failed.
        case incomplete
    }

    package var phase = Phase.running
    /// The number of segments that are in parts.
    package var done = 0
    package var leased = 0
    /// The number of segments that were begun and wait for a worker.
    package var ready = 0
    package var failed = 0
    package var pages = 0
    package var items = 0
    package var bytes: Int64 = 0
    /// The number of pages that were loaded in vain: beyond the end, or by a worker that had lost its lease.
    package var extraPages = 0
    /// The time since the run began, and since its last commit.
    package var age = Duration.zero
    package var idle = Duration.zero

    package init() {}
}

/// An order of a worker.
package enum BoardOrder: Sendable, Hashable {
    /// Join or begin the run; a new one has the random number `epoch`.
    ///
    /// A worker that knew the run under the number `lost` says so. In a run that is begun so, nothing is claimed for two seconds,
    /// in which the workers offer their parts.
    case open(BoardRun, BoardOpening, epoch: UInt64, lost: UInt64?)
    /// A segment to load.
    ///
    /// Segments of workers that are gone come first, then those that were given back, then new ones.
    case claim(epoch: UInt64)
    /// The end of a lease: the pages that were loaded, if any, and how the walk continues.
    case commit(BoardLease, BoardPart?, BoardSequel)
    /// A part of an earlier epoch, from the journal of the worker; parts of a walk in their order.
    case offer(epoch: UInt64, BoardOffer)
    /// The state of the segments, in the order of the output, from one on.
    case manifest(epoch: UInt64, from: BoardSegment)
    /// The right to merge the parts, for a worker that finds nothing left to claim in a complete run.
    ///
    /// The reply is ``BoardReply/complete(epoch:since:isMerged:)`` when the output was merged before.
    case merge(epoch: UInt64)
    /// The output is complete.
    case merged(epoch: UInt64, fence: Int)
    /// The numbers of the run.
    case state
    /// Extend leases; a board sends it by itself.
    case beat(epoch: UInt64, fences: [BoardSegment: Int], merge: Int?)
    /// Let the workers finish their pages and end.
    case cancel
    /// Try the failed pages again.
    case retry
    /// Load the pages of a segment again, because its part is missing.
    case reload(BoardSegment)
    /// Remove the run.
    case forget

    /// Whether texts and numbers are within the limits of a board, which refuses other orders without sending them.
    package var isValid: Bool {
        switch self {
        case .open(let run, _, _, _): run.isValid
        case .commit(let lease, let part, let sequel):
            lease.segment.isValid && part?.isValid ?? true && sequel.isValid
        case .offer(_, let offer): offer.segment.isValid && offer.part.isValid && offer.sequel.isValid
        case .manifest(_, let segment), .reload(let segment): segment.isValid
        case .beat(_, let fences, _): fences.count <= 500
        case .claim, .merge, .merged, .state, .cancel, .retry, .forget: true
        }
    }

    /// The order that gives a segment back, without counting an attempt.
    package static func drop(_ lease: BoardLease) -> BoardOrder { .commit(lease, nil, .more(nil)) }
}

/// The reply of a board.
package enum BoardReply: Sendable, Hashable {
    /// The run is open, under this number; a worker that knew another one offers its parts first.
    case opened(epoch: UInt64, isNew: Bool)
    /// A run with other arguments has the name; with its text, which is not to be trusted.
    case differs(String)
    /// The run is complete for so long, and its output was merged or was not.
    case complete(epoch: UInt64, since: Duration, isMerged: Bool)
    /// The run is cancelled.
    case cancelled
    /// So many workers hold leases.
    case busy(Int)
    /// A segment to load.
    case lease(BoardLease)
    /// The right to merge, for the time of a lease.
    case merge(fence: Int)
    /// Nothing to do now; ask again after the time.
    case wait(Duration)
    /// Nothing is left; the phase is complete or incomplete.
    case nothing(BoardState.Phase)
    /// The order has taken effect, now or before.
    case done
    /// The lease has ended, the offered pages are in another part, or the run does not allow the order.
    case refused
    /// The pages before an offered part are not in the board yet: offer it again after the others.
    case early
    /// There is no run of this number: it was lost, or begun anew. The worker opens it again, then offers its parts.
    case unknown
    /// Segments, and where the next ones begin; nil after the last.
    case manifest([BoardEntry], next: BoardSegment?)
    case state(BoardState)
    /// The leases that were lost, and whether the run is cancelled.
    case beat(lost: [BoardSegment], losesMerge: Bool, isCancelled: Bool)
}
