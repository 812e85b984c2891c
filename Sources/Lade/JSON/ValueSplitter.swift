#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON

/// Cuts chunks into the texts of values, as lines or as the elements of an array.
///
/// It is used by one iteration, one call at a time.
final class ValueSplitter {
    private enum Form {
        /// Nothing but white space and a part of a byte order mark has come.
        case undecided(Data)
        case lines
        case array(JSONPointer)
    }

    private var form: Form
    private var splitter = JSONSplitter(.init(list: nil))
    private let valueLimit: Int
    private var offset: Int64 = 0
    /// The bytes of the line that is not complete.
    private var rest = Data()
    /// Complete values, each with a line feed.
    private var ready = Data()
    private var position = 0
    private var failure: (any Error)?
    /// Whether nothing comes after the values that are ready.
    private(set) var isFinished = false

    init(_ framing: Response.Body.JSONFraming, valueLimit: Int) {
        self.valueLimit = valueLimit
        form = .undecided(Data())
        switch framing {
        case .automatic: break
        case .lines: form = .lines
        case .array(let pointer): begin(pointer)
        }
    }

    private func begin(_ pointer: JSONPointer) {
        var settings = JSONSplitter.Settings(list: pointer)
        settings.itemLimit = valueLimit
        splitter = JSONSplitter(settings)
        form = .array(pointer)
    }

    /// The text of the next value that is complete; nil when more bytes are needed, and at the end.
    ///
    /// - Throws: The error of the body, after the values before it.
    func next() throws -> Data? {
        while position < ready.count {
            let rest = ready[(ready.startIndex + position)...]
            let line = rest.prefix { $0 != 0x0A }
            position += line.count + 1
            guard line.contains(where: { !Self.isSpace($0) }) else { continue }
            guard line.count <= valueLimit else {
                let end = offset - Int64(self.rest.count + ready.count - position) - 1
                ready = Data()
                fail(JSONError(.itemTooLarge(limit: valueLimit), offset: end))
                break
            }
            return line
        }
        if let failure { throw failure }
        return nil
    }

    /// Takes the next bytes of the body.
    func consume(_ chunk: Data) {
        ready = Data()
        position = 0
        switch form {
        case .undecided(let head): decide(head + chunk)
        case .lines: cut(chunk)
        case .array: split(chunk)
        }
    }

    private func decide(_ head: Data) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard head.count >= mark.count || !mark.starts(with: head) else {
            form = .undecided(head)
            return
        }
        var text = head.starts(with: mark) ? head.dropFirst(mark.count) : head
        text = text.drop { Self.isSpace($0) }
        guard let first = text.first else {
            // White space alone is not kept; a mark comes at the beginning alone.
            form = .undecided(Data([0x20, 0x20, 0x20]))
            return
        }
        if first == UInt8(ascii: "[") {
            begin([])
            split(text)
        } else {
            form = .lines
            cut(text)
        }
    }

    private func split(_ chunk: Data) {
        do throws(JSONError) { try splitter.consume(chunk) } catch { fail(error) }
        ready = splitter.takeLines()
    }

    private func cut(_ chunk: Data) {
        offset += Int64(chunk.count)
        if let end = chunk.lastIndex(of: 0x0A) {
            ready = rest + chunk[...end]
            rest = Data(chunk[(end + 1)...])
        } else {
            rest.append(chunk)
        }
        if rest.count > valueLimit { fail(JSONError(.itemTooLarge(limit: valueLimit), offset: offset)) }
    }

    /// Takes the end of the body.
    func finish() {
        ready = Data()
        position = 0
        isFinished = true
        switch form {
        case .undecided: break
        case .lines:
            // The line feed that the last line lacks.
            ready = rest + [0x0A]
            rest = Data()
            offset += 1
        case .array(let pointer):
            do throws(JSONError) { try splitter.finish() } catch { fail(error) }
            if failure == nil, splitter.listState != .array {
                fail(ProcessingError.missingList(.init(pointer: pointer, found: splitter.listState)))
            }
        }
    }

    private func fail(_ error: any Error) {
        failure = error
        isFinished = true
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}
