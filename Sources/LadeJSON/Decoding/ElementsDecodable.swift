/// A collection that is decoded without a container for its elements.
protocol ElementsDecodable {
    /// Decodes the value of a scope into memory for a value of this type.
    static func decodeElements(_ scope: Scope, into memory: UnsafeMutableRawPointer) throws
}

extension Array: ElementsDecodable where Element: Decodable {
    static func decodeElements(_ scope: Scope, into memory: UnsafeMutableRawPointer) throws {
        guard scope.word.kind == .array else { throw scope.containerFailure([Any].self, "unkeyed") }
        if Element.self == Double.self {
            memory.initializeMemory(as: [Double].self, to: try scope.scalars { scope.double($0) })
        } else if Element.self == String.self {
            memory.initializeMemory(as: [String].self, to: try scope.scalars { scope.string($0) })
        } else if Element.self == Int.self {
            memory.initializeMemory(as: [Int].self, to: try scope.scalars { scope.integer($0, as: Int.self) })
        } else {
            memory.initializeMemory(as: Self.self, to: try decode(scope))
        }
    }

    private static func decode(_ scope: Scope) throws -> Self {
        let core = scope.core
        var index = scope.state.pointee.index &+ 1
        let end = scope.state.pointee.index &+ core.pointee.word(index &- 1).span
        var elements: [Element] = []
        elements.reserveCapacity(Swift.min(core.pointee.word(index &- 1).count, 1 << 16))
        var position = 0
        while index < end {
            elements.append(try scope.value(Element.self, index, ElementKey(position)))
            index &+= core.pointee.word(index).width
            position &+= 1
        }
        return elements
    }
}

extension Dictionary: ElementsDecodable where Key == String, Value: Decodable {
    static func decodeElements(_ scope: Scope, into memory: UnsafeMutableRawPointer) throws {
        let mode = scope.core.pointee.keyMode
        guard scope.word.kind == .object else {
            // With a key strategy, Foundation decodes dictionaries by different rules.
            if mode != .plain, scope.word.isNull { throw scope.null([String: Any].self, nil) }
            throw scope.containerFailure([String: Any].self, "keyed")
        }
        var members: [String: Value] = [:]
        members.reserveCapacity(Swift.min(scope.word.count, 1 << 16))
        if scope.word.flag, mode == .plain { try scope.prepareMembers() }
        // The keys of dictionaries are never converted. The first of equal names counts; with a key strategy the others
        // are decoded too.
        try scope.forEachName { name, index in
            guard let name = scope.text(name).string() else { throw scope.corrupted(name) }
            if mode == .plain, members[name] != nil { return true }
            let value = try scope.value(Value.self, index, MemberKey(name))
            if mode == .plain || members[name] == nil { members[name] = value }
            return true
        }
        memory.initializeMemory(as: Self.self, to: members)
    }
}

extension Scope {
    /// The elements of an array of scalars.
    @inline(__always)
    func scalars<T>(_ scalar: (_ index: Int) -> T?) throws -> [T] {
        let core = core
        var index = state.pointee.index &+ 1
        let end = state.pointee.index &+ word.span
        var elements: [T] = []
        elements.reserveCapacity(min(word.count, 1 << 16))
        while index < end {
            guard let element = scalar(index) else { throw failure(T.self, index, ElementKey(elements.count)) }
            elements.append(element)
            index &+= core.pointee.word(index).width
        }
        return elements
    }
}
