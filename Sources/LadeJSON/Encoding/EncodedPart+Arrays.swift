// Containers, and arrays.
extension EncodedPart {
    /// Opens a container, or continues an open one of the same kind.
    @inline(__always)
    func open(_ kind: Kind) {
        guard state.pointee.kind != kind else { return }
        openNew(kind)
    }

    private func openNew(_ kind: Kind) {
        // Writing to a container of an ended part fails.
        guard isCurrent else { return }
        precondition(state.pointee.kind == .none, "A container is requested where another value was encoded")
        state.pointee.kind = kind
        if depth > Self.depthLimit { output.pointee.isTooDeep = true }
        state.pointee.start = output.pointee.count
        state.pointee.firstMember = output.pointee.memberCount
        state.pointee.count = 0
        state.pointee.names = (0, 0, 0, 0)
        state.pointee.needsRebuild = false
        output.pointee.write(kind == .array ? UInt8(ascii: "[") : UInt8(ascii: "{"))
    }

    /// Writes the separator before an element or a member.
    @inline(__always)
    func separate(isFirst: Bool) {
        if !isFirst { output.pointee.write(UInt8(ascii: ",")) }
        if output.pointee.isPretty { breakLine(depth) }
    }

    private func breakLine(_ depth: Int) {
        output.pointee.write(UInt8(ascii: "\n"))
        output.pointee.indent(depth)
    }

    @inline(__always)
    func close(_ bracket: UInt8) {
        if output.pointee.isPretty {
            // An empty container has an empty line inside.
            if state.pointee.count == 0 { output.pointee.write(UInt8(ascii: "\n")) }
            breakLine(depth &- 1)
        }
        output.pointee.write(bracket)
    }

    /// Writes an element, and removes it again if encoding fails.
    @inline(__always)
    func element(_ write: () throws -> Void) throws {
        let count = output.pointee.count
        let memberCount = output.pointee.memberCount
        separate(isFirst: state.pointee.count == 0)
        do {
            try write()
            state.pointee.count &+= 1
        } catch {
            output.pointee.count = count
            output.pointee.memberCount = memberCount
            throw error
        }
    }

    /// Adds an element that is filled later.
    func nestedElement() -> EncodedPart {
        let part = EncodedPart(session, base: depth, path: path(ElementKey(state.pointee.count)))
        // After this part has ended, nothing is added to it.
        guard isCurrent else { return part }
        separate(isFirst: state.pointee.count == 0)
        state.pointee.count += 1
        state.pointee.nested.append(Nested(offset: output.pointee.count, part: part))
        state.pointee.isUnusual = true
        return part
    }

    @inline(__always)
    func closeArray() {
        if !state.pointee.nested.isEmpty { insertNested() }
        close(UInt8(ascii: "]"))
    }

    private func insertNested() {
        let start = state.pointee.start
        let copy = Array(output.pointee.written[start...])
        output.pointee.count = start
        var position = 0
        copy.withUnsafeBufferPointer { copy in
            for nested in state.pointee.nested {
                output.pointee.write(UnsafeBufferPointer(rebasing: copy[position..<(nested.offset - start)]))
                position = nested.offset - start
                write(nested.part)
            }
            output.pointee.write(UnsafeBufferPointer(rebasing: copy[position...]))
        }
    }

    func write(_ nested: EncodedPart) {
        nested.finish()
        if nested.output.pointee.isTooDeep { output.pointee.isTooDeep = true }
        output.pointee.write(nested.output.pointee.written)
        // Later writes have no effect.
        nested.output.pointee.current = nil
    }
}
