/// The encoder that `encode(to:)` receives, for one value at a time.
///
/// There is one part for each nesting depth, reused for consecutive values. A part to which the program keeps a
/// reference is replaced. All parts write into the same output. A nested container or a superclass's encoder is filled
/// later. So it is a separate part with its own output, which is inserted when the enclosing value ends.
final class EncodedPart {
    enum Kind {
        case none
        case value
        case array
        case object
    }

    struct Nested {
        /// The offset in the output of the enclosing part where this part is inserted.
        var offset: Int
        let part: EncodedPart
    }

    struct State {
        let output: UnsafeMutablePointer<EncodedOutput>
        var kind = Kind.none
        /// How many containers enclose the value.
        var base = 0
        /// The offset of the opening bracket or brace, and the index of the object's first member.
        var start = 0
        var firstMember = 0
        /// How many elements or members there are.
        var count = 0
        /// The bits of the names' hashes.
        var names: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        /// The members of a large object by name, from the first possible duplicate on.
        var namesOfMany: [ExactName: Int]?
        /// Whether members were replaced or are filled later.
        var needsRebuild = false
        var nested: [Nested] = []
        /// Whether there is state to reset before the next value.
        var isUnusual = false

        /// The enclosing part while it is on the stack, and the key of the value in it.
        var parent: Unmanaged<EncodedPart>?
        var key: any CodingKey = ElementKey(0)
        /// The coding path of a part without a parent.
        var path: [any CodingKey] = []
        /// The part that owns the output, held by a part that was kept.
        var owner: Unmanaged<EncodedPart>
        var keeper: EncodedPart?
        /// The part for nested values.
        var child: EncodedPart?
    }

    /// The nesting limit of Foundation's encoder.
    static let depthLimit = 511

    let session: EncodingSession
    private let ownsOutput: Bool
    let state: UnsafeMutablePointer<State>

    /// Makes a part with its own output.
    init(_ session: EncodingSession, base: Int = 0, path: [any CodingKey] = []) {
        self.session = session
        ownsOutput = true
        let output = UnsafeMutablePointer<EncodedOutput>.allocate(capacity: 1)
        output.initialize(to: session.makeOutput())
        state = .allocate(capacity: 1)
        state.initialize(to: State(output: output, base: base, path: path, owner: .passUnretained(self)))
        output.pointee.current = .passUnretained(self)
    }

    /// Makes a part that writes into the output of the enclosing part.
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

    /// How many containers are open, including this one.
    @inline(__always)
    var depth: Int { state.pointee.base &+ 1 }

    // MARK: - Path

    var path: [any CodingKey] {
        guard let parent = state.pointee.parent else { return state.pointee.path }
        return parent._withUnsafeGuaranteedRef { $0.path } + [state.pointee.key]
    }

    func path(_ key: (any CodingKey)?) -> [any CodingKey] { key.map { path + [$0] } ?? path }

    // MARK: - Values

    /// Whether the part may write: it has not ended and no nested value is being written.
    @inline(__always)
    var isCurrent: Bool {
        output.pointee.current?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
    }

    /// Requires that the part may write: it was not kept beyond its value, and no nested value is being written.
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

    /// Prepares for the only value of a single-value container.
    @inline(__always)
    func beginValue(_ value: @autoclosure () -> Any) throws {
        try checkIsCurrent(value())
        guard state.pointee.kind == .none else { throw ended(value()) }
    }

    /// Calls a closure with the part for a nested value, and ends that value.
    @inline(__always)
    func withChild(_ key: some CodingKey, _ body: (EncodedPart) throws -> Void) throws {
        let child = enterChild()
        output.pointee.current = child
        defer { leaveChild() }
        try child._withUnsafeGuaranteedRef {
            $0.enter(key, base: depth)
            if depth & (StackSpace.shallow - 1) == 0 {
                try Self.run(body, on: $0)
            } else {
                try body($0)
            }
            $0.finish()
        }
    }

    /// Runs the body of a value that is nested deeply.
    @inline(never)
    private static func run(_ body: (EncodedPart) throws -> Void, on part: EncodedPart) throws {
        try StackSpace.withEnough { try body(part) }
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

    /// Replaces a part that was kept; it keeps its path.
    @inline(never)
    private func dropChild() {
        guard let child = state.pointee.child else { return }
        child.state.pointee.path = child.path
        child.state.pointee.parent = nil
        child.state.pointee.keeper = state.pointee.owner.takeUnretainedValue()
        state.pointee.child = nil
    }

    /// Ends the value and closes its container.
    @inline(__always)
    func finish() {
        switch state.pointee.kind {
        case .value: return
        case .none:
            // As in Foundation, a value that encodes nothing becomes an empty object.
            open(.object)
            closeObject()
        case .object: closeObject()
        case .array: closeArray()
        }
    }
}
