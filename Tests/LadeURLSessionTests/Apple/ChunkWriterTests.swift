import Foundation
import LadeCore
import LadeTesting
import Testing

@testable import LadeURLSession

@Suite(.timeLimit(.minutes(5)))
struct ChunkWriterTests {
    /// A pipe that takes at most so many bytes at a time, and then has no space until it is emptied.
    private struct Pipe {
        var capacity: Int
        var received: [UInt8] = []
        private(set) var space: Int

        init(capacity: Int) {
            self.capacity = capacity
            space = capacity
        }

        mutating func take(_ bytes: Data, at most: Int) -> Int {
            let count = min(bytes.count, space, most)
            received += bytes.prefix(count)
            space -= count
            return count
        }

        mutating func empty() { space = capacity }
    }

    /// The name of a step, with the bytes to write.
    private func name(_ step: ChunkWriter<Int>.Step) -> String {
        switch step {
        case .wait: "wait"
        case .write(let rest): "write \(rest.count)"
        case .end(let waiter, let isAccepted): "end \(waiter) \(isAccepted)"
        }
    }

    @Test("finding AF-7 a chunk ends when the pipe has all of it, and waits while the pipe is full")
    func writes() {
        var writer = ChunkWriter<Int>()
        #expect(name(writer.next(hasSpace: true)) == "wait")
        writer.begin(Data(count: 10), 1)
        #expect(name(writer.next(hasSpace: false)) == "wait")
        #expect(name(writer.next(hasSpace: true)) == "write 10")
        writer.wrote(4)
        #expect(name(writer.next(hasSpace: true)) == "write 6")
        writer.wrote(6)
        #expect(name(writer.next(hasSpace: false)) == "end 1 true")
        #expect(name(writer.next(hasSpace: true)) == "wait")
    }

    @Test("finding AF-7 a closed pipe ends the chunk and all later ones, once each", arguments: [0, -1])
    func breaks(_ count: Int) {
        var writer = ChunkWriter<Int>()
        writer.begin(Data(count: 10), 1)
        #expect(name(writer.next(hasSpace: true)) == "write 10")
        writer.wrote(count)
        #expect(name(writer.next(hasSpace: true)) == "end 1 false")
        #expect(name(writer.next(hasSpace: true)) == "wait")
        writer.begin(Data(count: 10), 2)
        #expect(name(writer.next(hasSpace: true)) == "end 2 false")
        writer.breakOff()
        #expect(name(writer.next(hasSpace: true)) == "wait")
    }

    @Test(
        "finding AF-7 every byte arrives once and in order, however the pipe takes them",
        arguments: 0..<20 as Range<UInt64>
    )
    func random(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        var writer = ChunkWriter<Int>()
        var pipe = Pipe(capacity: 1 + Int(random.next() % 50))
        var sent: [UInt8] = []
        var ended: [Int] = []
        for number in 0..<30 {
            // A slice, as bodies produce them: its indices do not begin at zero.
            let chunk = Data((0..<Int(1 + random.next() % 40)).map { UInt8(truncatingIfNeeded: $0 &+ number) })
            sent += chunk.dropFirst()
            writer.begin(chunk.dropFirst(), number)
            steps: while true {
                switch writer.next(hasSpace: pipe.space > 0) {
                case .wait: pipe.empty()
                case .write(let rest): writer.wrote(pipe.take(rest, at: 1 + Int(random.next() % 9)))
                case .end(let waiter, let isAccepted):
                    #expect(isAccepted)
                    ended.append(waiter)
                    break steps
                }
            }
        }
        #expect(pipe.received == sent)
        #expect(ended == Array(0..<30))
    }
}
