import LadeCore
import Testing

@Suite("Received header sections", .timeLimit(.minutes(5)))
struct HeaderBlockTests {
    private func append(_ name: String, _ value: String, to builder: inout HeaderBlock.Builder) {
        let line = Array((name + ": " + value).utf8)
        line.withUnsafeBufferPointer { line in
            builder.append(line, name: name.utf8.count, value: (name.utf8.count + 2)..<line.count)
        }
    }

    private func headers(_ builder: HeaderBlock.Builder) -> [String] {
        Headers(checked: builder.block).map { $0.name + "=" + $0.value }
    }

    @Test("a section is empty before its first field")
    func beginsEmpty() {
        let builder = HeaderBlock.Builder()

        #expect(builder.count == 0)
        #expect(Headers(checked: builder.block).isEmpty)
        #expect(Headers(checked: builder.block)["Any"] == nil)
    }

    @Test("finds a name in any case and number as a plain list does, and no other", arguments: 0..<200 as Range<UInt64>)
    func finds(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        // Few letters and lengths, so that names that are not there look like those that are.
        func name() -> String {
            let count = Int.random(in: 1...6, using: &random)
            return String((0..<count).compactMap { _ in "abAB-4_".randomElement(using: &random) })
        }
        var builder = HeaderBlock.Builder()
        var plain = Headers()
        for number in 0..<Int.random(in: 0...5, using: &random) {
            let name = name()
            append(name, "\(number)", to: &builder)
            plain.add(name, "\(number)")
        }
        let received = Headers(checked: builder.block)
        for asked in (0..<60).map({ _ in name() }) + plain.map(\.name) {
            #expect(received.contains(asked) == plain.contains(asked))
            #expect(received[asked] == plain[asked])
            #expect(received.all(asked) == plain.all(asked))
            #expect(received.octets(asked) == plain.octets(asked))
        }
        for prefix in ["a", "b", "-", "4", "ab"] as [StaticString] {
            let names = [prefix, "zz"]
            #expect(received.containsName(startingWithOneOf: names) == plain.containsName(startingWithOneOf: names))
        }
    }

    @Test("keeps any number of fields of any length")
    func grows() {
        var builder = HeaderBlock.Builder()
        let fields = (0..<300).map { number in
            ("X-\(number)", String(repeating: "v", count: number * 7 % 2_000))
        }

        for (name, value) in fields { append(name, value, to: &builder) }

        #expect(builder.count == 300)
        #expect(headers(builder) == fields.map { $0.0 + "=" + $0.1 })
        #expect(Headers(checked: builder.block)["x-299"] == fields[299].1)
    }

    @Test("a copy and a finished section stay unchanged when the builder continues")
    func isAValue() {
        var builder = HeaderBlock.Builder()
        append("A", "1", to: &builder)
        let finished = Headers(checked: builder.block)
        var copy = builder

        append("B", "2", to: &builder)
        append("C", "3", to: &copy)
        Array("more".utf8).withUnsafeBufferPointer { copy.extendLast($0) }

        #expect(finished.map(\.name) == ["A"])
        #expect(headers(builder) == ["A=1", "B=2"])
        #expect(headers(copy) == ["A=1", "C=3 more"])
    }

    @Test("a folded value continues after a space, at any length")
    func extendsValues() {
        var builder = HeaderBlock.Builder()
        append("A", "begin", to: &builder)
        let more = Array(repeating: UInt8(ascii: "m"), count: 400)

        for _ in 0..<5 { more.withUnsafeBufferPointer { builder.extendLast($0) } }

        let expected = "begin" + String(repeating: " " + String(repeating: "m", count: 400), count: 5)
        #expect(Headers(checked: builder.block)["A"] == expected)
    }
}
