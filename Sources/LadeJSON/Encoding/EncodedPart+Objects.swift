#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

// Objects. As in Foundation, the last of equal names counts.
extension EncodedPart {
    /// Writes a member, and removes it again if encoding its value fails.
    @inline(__always)
    func member(_ name: String, _ write: () throws -> Void) throws {
        let count = output.pointee.count
        let memberCount = output.pointee.memberCount
        beginMember(name)
        do {
            try write()
        } catch {
            output.pointee.count = count
            output.pointee.memberCount = memberCount
            throw error
        }
        endMember(memberCount)
    }

    private func beginMember(_ name: String) {
        separate(isFirst: state.pointee.count == 0)
        let start = output.pointee.count
        let isEscaped = output.pointee.write(string: name)
        let nameLength = output.pointee.count &- start &- 2
        output.pointee.push(.init(start: start, nameLength: nameLength, isEscaped: isEscaped))
        if output.pointee.isPretty { output.pointee.write(" : ") } else { output.pointee.write(UInt8(ascii: ":")) }
    }

    @inline(__always)
    private func endMember(_ index: Int) {
        output.pointee.members[index].end = output.pointee.count
        state.pointee.count &+= 1
        if let former = formerMember(index) { replace(former) }
    }

    /// Marks an earlier member with the same name as replaced.
    @inline(never)
    private func replace(_ former: Int) {
        output.pointee.members[former].start = -1
        state.pointee.needsRebuild = true
    }

    /// Adds a member that is filled later; returns the existing one for the same name.
    func nestedMember(_ name: String, _ key: any CodingKey, _ kind: Kind) -> EncodedPart {
        guard isCurrent else {
            return EncodedPart(session, base: depth, path: path(key))
        }
        let count = output.pointee.count
        let index = output.pointee.memberCount
        beginMember(name)
        let former = formerMember(index)
        if let former, kind != .none, output.pointee.members[former].nested >= 0 {
            let part = state.pointee.nested[output.pointee.members[former].nested].part
            if part.state.pointee.kind == kind {
                output.pointee.count = count
                output.pointee.memberCount = index
                state.pointee.namesOfMany?[exactName(former)] = former
                return part
            }
        }
        let part = EncodedPart(session, base: depth, path: path(key))
        output.pointee.members[index].end = output.pointee.count
        output.pointee.members[index].nested = state.pointee.nested.count
        state.pointee.count += 1
        state.pointee.nested.append(Nested(offset: output.pointee.count, part: part))
        state.pointee.isUnusual = true
        state.pointee.needsRebuild = true
        if let former { replace(former) }
        return part
    }

    /// The earlier member with the same name; nil without one.
    @inline(__always)
    private func formerMember(_ index: Int) -> Int? {
        let member = output.pointee.members[index]
        let name = UnsafePointer(output.pointee.bytes + (member.start &+ 1))
        let hash = Self.hash(name, member.nameLength)
        let bit: UInt64 = 1 << (hash & 63)
        let isNew: Bool
        switch hash >> 62 {
        case 0:
            isNew = state.pointee.names.0 & bit == 0
            state.pointee.names.0 |= bit
        case 1:
            isNew = state.pointee.names.1 & bit == 0
            state.pointee.names.1 |= bit
        case 2:
            isNew = state.pointee.names.2 & bit == 0
            state.pointee.names.2 |= bit
        default:
            isNew = state.pointee.names.3 & bit == 0
            state.pointee.names.3 |= bit
        }
        if isNew, state.pointee.namesOfMany == nil { return nil }
        return findFormerMember(index, name, member.nameLength)
    }

    @inline(__always)
    private static func hash(_ name: UnsafePointer<UInt8>, _ length: Int) -> UInt64 {
        var mixed = UInt64(truncatingIfNeeded: length)
        if length >= 8 {
            mixed ^= Bytes.word(name) ^ Bytes.word(name + (length &- 8)) &* 31
        } else {
            var position = 0
            while position < length {
                mixed = mixed << 8 ^ UInt64(name[position])
                position &+= 1
            }
        }
        mixed = mixed &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed >> 29
    }

    @inline(never)
    private func findFormerMember(_ index: Int, _ name: UnsafePointer<UInt8>, _ length: Int) -> Int? {
        let members = output.pointee.members
        let first = state.pointee.firstMember
        guard index - first > 32 else {
            var position = index - 1
            while position >= first {
                let other = members[position]
                if other.start >= 0, other.nameLength == length,
                    Bytes.areEqual(output.pointee.bytes + (other.start + 1), name, length)
                {
                    return position
                }
                position -= 1
            }
            return nil
        }
        if state.pointee.namesOfMany == nil {
            state.pointee.isUnusual = true
            var names: [ExactName: Int] = [:]
            for position in first..<index where members[position].start >= 0 { names[exactName(position)] = position }
            state.pointee.namesOfMany = names
        }
        return state.pointee.namesOfMany?.updateValue(index, forKey: exactName(index))
    }

    private func exactName(_ index: Int) -> ExactName {
        let member = output.pointee.members[index]
        let bytes = UnsafeBufferPointer(start: output.pointee.bytes + (member.start + 1), count: member.nameLength)
        return ExactName(String(decoding: bytes, as: UTF8.self))
    }

    @inline(__always)
    func closeObject() {
        if output.pointee.isSorted || state.pointee.needsRebuild { rebuild() }
        close(UInt8(ascii: "}"))
        output.pointee.memberCount = state.pointee.firstMember
    }

    /// Rewrites the members in their order, without those that were replaced, and with those that were filled later.
    @inline(never)
    private func rebuild() {
        let first = state.pointee.firstMember
        let start = state.pointee.start + 1
        let all = UnsafeBufferPointer(start: output.pointee.members + first, count: output.pointee.memberCount - first)
        var members = all.filter { $0.start >= 0 }
        let isSorted = !output.pointee.isSorted || sort(&members)
        guard state.pointee.needsRebuild || !isSorted else { return }
        let copy = Array(output.pointee.written[start...])
        output.pointee.count = start
        state.pointee.count = members.count
        copy.withUnsafeBufferPointer { copy in
            for (position, member) in members.enumerated() {
                separate(isFirst: position == 0)
                output.pointee.write(
                    UnsafeBufferPointer(rebasing: copy[(member.start - start)..<(member.end - start)])
                )
                if member.nested >= 0 { write(state.pointee.nested[member.nested].part) }
            }
        }
    }

    /// Sorts the members by the bytes of their names; returns whether they were already sorted.
    private func sort(_ members: inout [EncodedOutput.Member]) -> Bool {
        guard members.count > 1 else { return true }
        let bytes = output.pointee.bytes
        let name = { (member: EncodedOutput.Member) in
            UnsafeBufferPointer(start: bytes + (member.start + 1), count: member.nameLength)
        }
        let precedes: (EncodedOutput.Member, EncodedOutput.Member) -> Bool
        if members.contains(where: \.isEscaped) {
            // Members are in the order of their unescaped names.
            precedes = { left, right in
                JSONText.replacingLoneSurrogates(Array(name(left))[...]).utf8
                    .lexicographicallyPrecedes(JSONText.replacingLoneSurrogates(Array(name(right))[...]).utf8)
            }
        } else {
            precedes = { left, right in
                let length = min(left.nameLength, right.nameLength)
                let order = memcmp(bytes + (left.start + 1), bytes + (right.start + 1), length)
                return order < 0 || order == 0 && left.nameLength < right.nameLength
            }
        }
        var isSorted = true
        for position in 1..<members.count where precedes(members[position], members[position - 1]) {
            isSorted = false
            break
        }
        if !isSorted { members.sort(by: precedes) }
        return isSorted
    }
}
