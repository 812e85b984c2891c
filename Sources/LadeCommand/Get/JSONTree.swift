import Lade

/// A JSON document built from items whose names are paths: `a[b]=1`, `a[list][]=2`, `[]=3`.
///
/// Members keep the order of the items. A repeated path keeps its first position and takes the last value.
struct JSONTree {
    private indirect enum Node {
        case none
        /// A value that is already JSON.
        case leaf(String)
        case object([(name: String, node: Node)])
        case array([Node])
    }

    /// A step of a path.
    enum Step: Equatable {
        /// A member of an object.
        case member(String)
        /// An element of an array.
        case element(Int)
        /// A new element at the end of an array.
        case append
    }

    // A larger index is probably a mistake, and would create a list of empty elements.
    private static let highestIndex = 999
    private static let deepest = 100

    private var root = Node.none

    /// Sets the value at a path.
    ///
    /// - Parameters:
    ///   - value: The value as JSON.
    ///   - name: The path.
    /// - Throws: A usage error for a malformed path, and for a path that conflicts with a value of another kind.
    mutating func set(_ value: String, at name: String) throws(CommandError) {
        let steps = try Self.steps(of: name)
        guard Self.set(value, at: steps[...], in: &root) else {
            throw .usage(
                "the item “\(name)” needs an object or a list where another item has something else",
                advice: "Give each path one kind of value."
            )
        }
    }

    /// The document.
    var text: String { Self.text(of: root) }

    // MARK: - Paths

    /// Parses a path; a backslash makes the next bracket literal, and makes a number a name.
    ///
    /// - Throws: A usage error that shows the path.
    static func steps(of name: String) throws(CommandError) -> [Step] {
        var rest = name.unicodeScalars[...]
        var steps: [Step] = []
        let first = takeText(&rest, upTo: "[")
        if !first.text.isEmpty { steps.append(.member(first.text)) }
        while rest.popFirst() != nil {
            let step = takeText(&rest, upTo: "]")
            guard rest.popFirst() != nil, rest.isEmpty || rest.first == "[" else {
                throw .usage(
                    "the item “\(name)” has no path like a[b] or a[]",
                    advice: "Close each bracket; \\[ is the character."
                )
            }
            if step.text.isEmpty {
                steps.append(.append)
            } else if !step.isEscaped, step.text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
                guard let index = Int(step.text), index <= highestIndex else {
                    throw .usage(
                        "the item “\(name)” has an index above \(highestIndex)",
                        advice: "Write \\ before a number that is a name."
                    )
                }
                steps.append(.element(index))
            } else {
                steps.append(.member(step.text))
            }
        }
        guard steps.count <= deepest else {
            throw .usage("an item has a path of more than \(deepest) steps", advice: "Send a file with --json @FILE.")
        }
        return steps
    }

    private static func takeText(
        _ rest: inout Substring.UnicodeScalarView,
        upTo end: Unicode.Scalar
    ) -> (text: String, isEscaped: Bool) {
        var text = ""
        var isEscaped = false
        while let character = rest.first, character != end {
            rest.removeFirst()
            if character == "\\", let next = rest.first,
                "[]\\".has(next) || (text.isEmpty && ("0"..."9").contains(next))
            {
                text.unicodeScalars.append(next)
                rest.removeFirst()
                isEscaped = true
            } else {
                text.unicodeScalars.append(character)
            }
        }
        return (text, isEscaped)
    }

    // MARK: - Nodes

    /// Sets the value; false when a value of another kind is in the way.
    private static func set(_ value: String, at steps: ArraySlice<Step>, in node: inout Node) -> Bool {
        guard let step = steps.first else {
            switch node {
            case .none, .leaf:
                node = .leaf(value)
                return true
            case .object, .array: return false
            }
        }
        switch (step, node) {
        case (.member(let name), .none), (.member(let name), .object):
            var members: [(name: String, node: Node)] = []
            if case .object(let present) = node { members = present }
            let index = members.firstIndex { $0.name == name } ?? members.count
            if index == members.count { members.append((name, .none)) }
            guard set(value, at: steps.dropFirst(), in: &members[index].node) else { return false }
            node = .object(members)
        case (.element, .none), (.element, .array), (.append, .none), (.append, .array):
            var elements: [Node] = []
            if case .array(let present) = node { elements = present }
            var index = elements.count
            if case .element(let named) = step { index = named }
            while elements.count <= index { elements.append(.none) }
            guard set(value, at: steps.dropFirst(), in: &elements[index]) else { return false }
            node = .array(elements)
        default: return false
        }
        return true
    }

    private static func text(of node: Node) -> String {
        switch node {
        case .none: "null"
        case .leaf(let value): value
        case .object(let members): JSONQuoting.object(members.map { ($0.name, text(of: $0.node)) })
        case .array(let elements): "[" + elements.map(text).joined(separator: ",") + "]"
        }
    }
}
