import Foundation
import Testing

@testable import LadeJSON

/// The nesting limit on threads of 512 KB, as secondary threads on Apple platforms are.
@Suite("Stack of small threads", .timeLimit(.minutes(5)))
struct StackSpaceTests {
    private final class Node: Codable {
        var name: String
        var child: Node?

        init(name: String, child: Node?) {
            self.name = name
            self.child = child
        }

        // A chain is released one by one: the release of nested objects recurses, too.
        func depth() -> Int {
            var (count, node) = (1, child)
            while let next = node { (count, node) = (count + 1, next.child) }
            return count
        }
    }

    private indirect enum Tree: Codable {
        case leaf
        case branch([Tree])

        init(from decoder: any Decoder) throws {
            let children = try decoder.singleValueContainer().decode([Tree].self)
            self = children.isEmpty ? .leaf : .branch(children)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .leaf: try container.encode([Tree]())
            case .branch(let children): try container.encode(children)
            }
        }
    }

    private static func nodes(_ count: Int) -> Data {
        let open = String(repeating: #"{"name":"n","child":"#, count: count - 1)
        return Data((open + #"{"name":"n"}"# + String(repeating: "}", count: count - 1)).utf8)
    }

    /// Runs a closure on a thread with a stack of 512 KB.
    private func onSmallStack<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try body() }) }
            thread.stackSize = 512 << 10
            thread.start()
        }
    }

    @Test("finding HF-15 the nesting limit is decoded into a recursive class", arguments: [64, 65, 66, 200, 511, 512])
    func decodes(depth: Int) async throws {
        let document = Self.nodes(depth)

        let found = try await onSmallStack { try FastJSONDecoder().decode(Node.self, from: document).depth() }

        #expect(found == depth)
    }

    @Test("finding HF-15 the nesting limit is encoded from a recursive class", arguments: [64, 65, 128, 200, 511])
    func encodes(depth: Int) async throws {
        let document = Self.nodes(depth)

        let written = try await onSmallStack {
            var node = Node(name: "n", child: nil)
            for _ in 1..<depth { node = Node(name: "n", child: node) }
            return try FastJSONEncoder().encode(node)
        }

        #expect(written == document)
    }

    @Test("finding HF-15 nested arrays, values of JSON and errors at the limit need no larger stack")
    func others() async throws {
        let arrays = Data((String(repeating: "[", count: 511) + String(repeating: "]", count: 511)).utf8)
        let wrong = Data(
            (String(repeating: #"{"name":"n","child":"#, count: 511) + "1"
                + String(repeating: "}", count: 511)).utf8
        )
        let text = try await onSmallStack {
            let tree = try FastJSONDecoder().decode(Tree.self, from: arrays)
            let value = try JSONValue(parsing: arrays)
            let decoded = try FastJSONDecoder().decode(JSONValue.self, from: arrays)
            #expect(value == decoded)
            #expect(try FastJSONEncoder().encode(value) == arrays)
            return try FastJSONEncoder().encode(tree)
        }
        #expect(text == arrays)

        let error = await #expect(throws: DecodingError.self) {
            try await onSmallStack { _ = try FastJSONDecoder().decode(Node.self, from: wrong) }
        }
        guard case .typeMismatch(_, let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.count == 511)
    }

    @Test("finding HF-15 a value that is nested too deeply is the usual error on a small stack")
    func tooDeep() async throws {
        let document = Self.nodes(513)
        await #expect(throws: DecodingError.self) {
            try await onSmallStack { _ = try FastJSONDecoder().decode(Node.self, from: document) }
        }
        await #expect(throws: EncodingError.self) {
            try await onSmallStack {
                var node = Node(name: "n", child: nil)
                for _ in 1..<600 { node = Node(name: "n", child: node) }
                _ = try FastJSONEncoder().encode(node)
            }
        }
    }
}
