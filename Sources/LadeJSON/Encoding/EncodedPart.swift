/// The encoder of one value: what an `encode(to:)` receives.
///
/// There is one for each depth of the document, used for one value after the other, and replaced when it was kept. All write
/// into the same output. What is filled later, by a nested container or a superclass's encoder, is a part of its own with
/// its own output, which is put in place when the value around it ends.
final class EncodedPart {
    enum Kind {
        case none
        case value
        case array
        case object
    }

    struct Nested {
        /// The end of the bytes before it in the output of the part around it.
        var offset: Int
        let part: EncodedPart
    }

    struct State {
        let output: UnsafeMutablePointer<EncodedOutput>
        var kind = Kind.none
        /// How many containers are around the value.
        var base = 0
        /// The opening bracket or brace, and the first member of the object.
        var start = 0
        var firstMember = 0
        /// How many elements or members there are.
        var count = 0
        /// A bit for the hash of each name.
        var names: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        /// The members of a large object by their names, once two may be equal.
        var namesOfMany: [ExactName: Int]?
        /// Whether members were replaced or are filled later.
        var needsRebuild = false
        var nested: [Nested] = []
        /// Whether there is something to forget before the next value.
        var isUnusual = false

        /// The part around the value, as long as it is on the stack, and the key of the value in it.
        var parent: Unmanaged<EncodedPart>?
        var key: any CodingKey = ElementKey(0)
        /// The coding path when there is no parent.
        var path: [any CodingKey] = []
        /// The part that has the output, which is held by a part that was kept.
        var owner: Unmanaged<EncodedPart>
        var keeper: EncodedPart?
        /// The part for values within this one's.
        var child: EncodedPart?
    }

    /// As deep as Foundation's encoder goes.
    static let depthLimit = 511

    let session: EncodingSession
    private let ownsOutput: Bool
    let state: UnsafeMutablePointer<State>

    /// A part with an output of its own.
    init(_ session: EncodingSession, base: Int = 0, path: [any CodingKey] = []) {
        self.session = session
        ownsOutput = true
        let output = UnsafeMutablePointer<EncodedOutput>.allocate(capacity: 1)
        output.initialize(to: session.makeOutput())
        state = .allocate(capacity: 1)
        state.initialize(to: State(output: output, base: base, path: path, owner: .passUnretained(self)))
        output.pointee.current = .passUnretained(self)
    }

    /// A part that writes into the output of the part around it.
    private init(within parent: EncodedPart) {
        session = parent.session
        ownsOutput = false
        state = .allocate(capacity: 1)
        state.initialize(
            to: State(
                output: parent.state.pointee.output,
                parent: .passUnretained(parent),
                owner: parent.state.pointee.owner
            )
        )
    }

    deinit {
        if ownsOutput {
            state.pointee.output.pointee.deallocate()
            state.pointee.output.deallocate()
        }
        state.deinitialize(count: 1)
        state.deallocate()
    }

    @inline(__always)
    var output: UnsafeMutablePointer<EncodedOutput> { state.pointee.output }

    /// How many containers are open, this one included.
    @inline(__always)
    var depth: Int { state.pointee.base &+ 1 }

    // MARK: - Path

    var path: [any CodingKey] {
        guard let parent = state.pointee.parent else { return state.pointee.path }
        return parent._withUnsafeGuaranteedRef { $0.path } + [state.pointee.key]
    }

    func path(_ key: (any CodingKey)?) -> [any CodingKey] { key.map { path + [$0] } ?? path }

    // MARK: - Values

    /// Whether no value within this one is being written, and this one has not ended.
    @inline(__always)
    var isCurrent: Bool {
        output.pointee.current?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
    }

    /// Checks that the part may write: it is kept by nothing that outlived it, and no value within it is being written.
    @inline(__always)
    func checkIsCurrent(_ value: @autoclosure () -> Any) throws {
        guard isCurrent else { throw ended(value()) }
        if output.pointee.isTooDeep { throw EncodingSession.TooDeep() }
    }

    @inline(never)
    private func ended(_ value: Any) -> any Error {
        EncodingError.invalidValue(
            value,
            .init(codingPath: path, debugDescription: "The encoder was used after its value had ended.")
        )
    }

    /// Prepares the one value of a single-value container.
    @inline(__always)
    func beginValue(_ value: @autoclosure () -> Any) throws {
        try checkIsCurrent(value())
        guard state.pointee.kind == .none else { throw ended(value()) }
    }

    /// Calls a closure with the part for a value within this one's, and ends that value.
    @inline(__always)
    func withChild(_ key: some CodingKey, _ body: (EncodedPart) throws -> Void) throws {
        let child = enterChild()
        output.pointee.current = child
        defer { leaveChild() }
        try child._withUnsafeGuaranteedRef {
            $0.enter(key, base: depth)
            try body($0)
            $0.finish()
        }
    }

    @inline(__always)
    private func enterChild() -> Unmanaged<EncodedPart> {
        if state.pointee.child == nil { state.pointee.child = EncodedPart(within: self) }
        guard let child = state.pointee.child else { preconditionFailure("A part was not made") }
        return .passUnretained(child)
    }

    @inline(__always)
    private func enter(_ key: some CodingKey, base: Int) {
        state.pointee.kind = .none
        state.pointee.base = base
        state.pointee.key = key
        if state.pointee.isUnusual { forget() }
    }

    @inline(never)
    private func forget() {
        state.pointee.isUnusual = false
        state.pointee.nested = []
        state.pointee.namesOfMany = nil
    }

    @inline(__always)
    private func leaveChild() {
        output.pointee.current = .passUnretained(self)
        if !isKnownUniquelyReferenced(&state.pointee.child) { dropChild() }
    }

    /// A part that was kept is not used again; it keeps its path.
    @inline(never)
    private func dropChild() {
        guard let child = state.pointee.child else { return }
        child.state.pointee.path = child.path
        child.state.pointee.parent = nil
        child.state.pointee.keeper = state.pointee.owner.takeUnretainedValue()
        state.pointee.child = nil
    }

    /// Ends the value: closes its container.
    @inline(__always)
    func finish() {
        switch state.pointee.kind {
        case .value: return
        case .none:
            // As in Foundation, a value that encodes nothing is an object without members.
            open(.object)
            closeObject()
        case .object: closeObject()
        case .array: closeArray()
        }
    }
}
