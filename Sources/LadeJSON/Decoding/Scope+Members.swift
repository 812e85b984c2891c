#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Member look-up. As in Foundation, the first of equal names counts, and names are compared as Swift strings.
extension Scope {
    /// Prepares the members of the object for a keyed container.
    @inline(__always)
    func prepareMembers() throws {
        state.pointee.uses |= Uses.other
        guard !state.pointee.isPrepared else { return }
        let word = word
        guard word.kind == .object else { throw containerFailure([String: Any].self, "keyed") }
        let index = state.pointee.index
        state.pointee.cursor = index &+ 1
        state.pointee.snakeCursor = index &+ 1
        state.pointee.end = index &+ word.span
        state.pointee.passed = NameSummary()
        state.pointee.isSummarised = false
        // Objects of one type often have the same members.
        state.pointee.absences = state.pointee.absences > Self.fewAbsences ? Self.fewAbsences : 0
        if state.pointee.members != nil { state.pointee.members = nil }
        if word.flag || core.pointee.keyMode != .plain { try prepareUnusualMembers(word) }
        state.pointee.isPrepared = true
    }

    @inline(never)
    private func prepareUnusualMembers(_ word: IndexWord) throws {
        state.pointee.cursor = state.pointee.end
        // Names with escapes or non-ASCII characters must be valid even if they are never requested.
        if word.flag || core.pointee.keyMode == .custom { try makeMembers() }
    }

    /// Calls a closure with the index of each name, in document order.
    @inline(__always)
    func forEachName(_ body: (_ name: Int, _ value: Int) throws -> Bool) rethrows {
        let end = state.pointee.index &+ word.span
        var position = state.pointee.index &+ 1
        while position < end {
            let value = position &+ core.pointee.word(position).width
            guard try body(position, value) else { return }
            position = value &+ core.pointee.word(value).width
        }
    }

    /// The names of the members after conversion, each once, in document order.
    var memberNames: [String] {
        let path = core.pointee.keyMode == .custom ? path : []
        var seen: Set<String> = []
        var names: [String] = []
        forEachName { name, _ in
            // The keyed container was created, so every name is valid.
            if let raw = text(name).string() {
                let name = converted(raw, path)
                if seen.insert(name).inserted { names.append(name) }
            }
            return true
        }
        return names
    }

    /// Builds the dictionary of the members.
    private func makeMembers() throws {
        var members: [String: Int] = [:]
        members.reserveCapacity(word.count)
        let path = core.pointee.keyMode == .custom ? path : []
        try forEachName { name, value in
            guard let raw = text(name).string() else { throw corrupted(name) }
            let name = converted(raw, path)
            if members[name] == nil { members[name] = value }
            return true
        }
        state.pointee.members = members
    }

    /// The converted form of a name in the document.
    func converted(_ name: String, _ path: [any CodingKey]) -> String {
        switch core.pointee.options.keyDecodingStrategy {
        case .useDefaultKeys: return name
        case .convertFromSnakeCase: return SnakeCase.converted(name)
        case .custom(let convert): return convert(path + [MemberKey(name)]).stringValue
        @unknown default: return name
        }
    }

    /// The index of a member's value; −1 when the member is missing.
    @inline(__always)
    func find(_ name: String) -> Int {
        var name = name
        return name.withUTF8 { find($0) }
    }

    @inline(__always)
    private func find(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        let state = state
        let cursor = state.pointee.cursor
        if cursor < state.pointee.end {
            let word = core.pointee.word(cursor)
            if isEqual(word, name) {
                // An equal name earlier in the object would count instead of this one.
                if state.pointee.passed.insert(NameSummary.place(name)) {
                    let value = cursor &+ 1
                    state.pointee.cursor = value &+ core.pointee.word(value).width
                    return value
                }
            }
        }
        return findElsewhere(name)
    }

    @inline(__always)
    private func isEqual(_ word: IndexWord, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard word.shortLength == name.count, let wanted = name.baseAddress else { return false }
        return Bytes.areEqual(core.pointee.base + word.offset, wanted, name.count)
    }

    @inline(never)
    private func findElsewhere(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        if let members = state.pointee.members { return members[String(decoding: name, as: UTF8.self)] ?? -1 }
        if core.pointee.keyMode == .snakeCase { return findSnakeCase(name) }
        if !state.pointee.isSummarised, word.count > 48 { return findInDictionary(name) }
        let place = NameSummary.place(name)
        // After several missing names, a summary of the existing names saves time.
        if !state.pointee.isSummarised, state.pointee.absences >= Self.fewAbsences {
            summarise(from: state.pointee.cursor, isExact: true)
        }
        if !state.pointee.isSummarised || state.pointee.summary.contains(place) {
            let isNew = !state.pointee.passed.contains(place)
            let first = isNew ? state.pointee.cursor : state.pointee.index &+ 1
            if let found = scan(from: first, cursor: &state.pointee.cursor, isExact: true, { isEqual($0, name) }) {
                return found
            }
        }
        state.pointee.absences &+= 1
        // A non-ASCII name may equal an ASCII one: the Kelvin sign and the letter K.
        return Self.isASCII(name) ? -1 : findInDictionary(name)
    }

    /// The number of missing names after which a summary takes less time than searching.
    private static let fewAbsences = 2

    @inline(__always)
    private static func isASCII(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        name.baseAddress.map { Bytes.areASCII($0, name.count) } ?? true
    }

    /// Searches the members for a name from an index, and moves the cursor past the match if it is further on.
    @inline(__always)
    private func scan(from: Int, cursor: inout Int, isExact: Bool, _ isWanted: (IndexWord) -> Bool) -> Int? {
        var position = from
        let end = state.pointee.end
        while position < end {
            let word = core.pointee.word(position)
            let value = position &+ 1
            let next = value &+ core.pointee.word(value).width
            if isWanted(word) {
                while cursor <= position {
                    _ = state.pointee.passed.insert(place(of: core.pointee.word(cursor), isExact: isExact))
                    cursor = cursor &+ 1 &+ core.pointee.word(cursor &+ 1).width
                }
                return value
            }
            position = next
        }
        return nil
    }

    /// Adds the names from the cursor on to those before it.
    private func summarise(from cursor: Int, isExact: Bool) {
        let core = core
        var summary = state.pointee.passed
        var position = cursor
        let end = state.pointee.end
        while position < end {
            _ = summary.insert(place(of: core.pointee.word(position), isExact: isExact))
            let value = position &+ 1
            position = value &+ core.pointee.word(value).width
        }
        state.pointee.summary = summary
        state.pointee.isSummarised = true
    }

    @inline(__always)
    private func place(of word: IndexWord, isExact: Bool) -> UInt64 {
        let name = UnsafeBufferPointer(start: core.pointee.base + word.offset, count: word.shortLength)
        return isExact ? NameSummary.place(name) : NameSummary.snakePlace(name)
    }

    /// Looks up a name in the dictionary, for large objects and for names that need Unicode comparison.
    private func findInDictionary(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        // All names of an object without unusual names are valid, so this throws only for objects that already failed.
        if state.pointee.members == nil, (try? makeMembers()) == nil { return -1 }
        state.pointee.cursor = state.pointee.end
        return state.pointee.members?[String(decoding: name, as: UTF8.self)] ?? -1
    }

    // MARK: - Snake case

    private func findSnakeCase(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        let cursor = state.pointee.snakeCursor
        let place = NameSummary.snakePlace(name)
        if cursor < state.pointee.end, isSnakeCase(core.pointee.word(cursor), name),
            state.pointee.passed.insert(place)
        {
            let value = cursor &+ 1
            state.pointee.snakeCursor = value &+ core.pointee.word(value).width
            return value
        }
        if !state.pointee.isSummarised {
            guard word.count <= 64 else { return findInDictionary(name) }
            summarise(from: cursor, isExact: false)
        }
        guard Self.isASCII(name) else { return findInDictionary(name) }
        guard state.pointee.summary.contains(place) else { return -1 }
        let first = state.pointee.passed.contains(place) ? state.pointee.index &+ 1 : cursor
        return scan(from: first, cursor: &state.pointee.snakeCursor, isExact: false) { isSnakeCase($0, name) } ?? -1
    }

    @inline(__always)
    private func isSnakeCase(_ word: IndexWord, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        let raw = UnsafeBufferPointer(start: core.pointee.base + word.offset, count: word.shortLength)
        return SnakeCase.matches(raw, name) ?? isConverted(raw, name)
    }

    @inline(never)
    private func isConverted(_ raw: UnsafeBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        SnakeCase.converted(String(decoding: raw, as: UTF8.self)).utf8.elementsEqual(name)
    }
}
