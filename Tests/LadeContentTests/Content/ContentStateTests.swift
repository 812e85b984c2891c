import LadeContent
import Testing

@Suite("States of content", .timeLimit(.minutes(5)))
struct ContentStateTests {
    @Test("states are equal when they are the same case with equal values")
    func equality() {
        let states: [ContentState<Int>] = [.unloaded, .loading, .success(1), .success(2), .empty]
        for (position, state) in states.enumerated() {
            for (other, second) in states.enumerated() { #expect((state == second) == (position == other)) }
        }
    }

    @Test("errors that can be compared are equal as they say, whatever their descriptions are")
    func equatableErrors() {
        struct Numbered: Error, Equatable, CustomDebugStringConvertible {
            var number: Int
            var debugDescription: String { "error" }
        }
        #expect(ContentState<Int>.error(Numbered(number: 1)) == .error(Numbered(number: 1)))
        #expect(ContentState<Int>.error(Numbered(number: 1)) != .error(Numbered(number: 2)))
    }

    @Test("errors that cannot be compared are equal when they are described alike")
    func otherErrors() {
        struct Described: Error, CustomDebugStringConvertible { var debugDescription: String }
        #expect(
            ContentState<Int>.error(Described(debugDescription: "a")) == .error(Described(debugDescription: "a"))
        )
        #expect(
            ContentState<Int>.error(Described(debugDescription: "a")) != .error(Described(debugDescription: "b"))
        )
    }
}
