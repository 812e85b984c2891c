/// A reply of the store: the kinds of RESP2.
package enum StoreReply: Equatable, Sendable {
    case status(String)
    case error(String)
    case integer(Int64)
    case text([UInt8])
    case nothing
    case list([StoreReply])

    /// The number in an integer or a text; nil for anything else, and for what is not finite.
    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .text(let bytes): Double(String(decoding: bytes, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    /// The text; nil for other kinds and for what is not UTF-8.
    package var string: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// Reads the replies of the store out of bytes that arrive in pieces of any size.
///
/// Nothing is reserved for what a length announces: memory grows with the bytes that have arrived.
package struct StoreReader {
    /// The store sent what no script returns; the connection cannot be used any longer.
    package struct Fault: Error, Equatable {
        package let reason: String
    }

    private enum Parsed {
        case reply(StoreReply, end: Int)
        case incomplete
    }

    /// Received bytes; the owner appends to them.
    package var bytes: [UInt8] = []
    private static let mostBytes = 1 << 20
    private static let mostElements = 4_096
    private static let mostDepth = 2

    package init() {}

    /// The next whole reply; nil until more arrives.
    ///
    /// - Throws: A ``Fault`` for what is no RESP2, or is larger than any reply of a script.
    package mutating func next() throws(Fault) -> StoreReply? {
        guard !bytes.isEmpty else { return nil }
        var elements = 0
        switch try parse(from: 0, depth: 0, &elements) {
        case .reply(let reply, let end):
            bytes.removeFirst(end)
            return reply
        case .incomplete:
            guard bytes.count <= Self.mostBytes else { throw Fault(reason: "a reply of more than 1 MiB") }
            return nil
        }
    }

    private func parse(from start: Int, depth: Int, _ elements: inout Int) throws(Fault) -> Parsed {
        elements += 1
        guard elements <= Self.mostElements + 1 else { throw Fault(reason: "a reply of more than 4,096 elements") }
        guard start < bytes.count else { return .incomplete }
        let kind = bytes[start]
        guard let lineEnd = try end(of: start + 1) else { return .incomplete }
        let line = bytes[(start + 1)..<lineEnd]
        let next = lineEnd + 2
        switch kind {
        case UInt8(ascii: "+"): return .reply(.status(String(decoding: line, as: UTF8.self)), end: next)
        case UInt8(ascii: "-"): return .reply(.error(String(decoding: line, as: UTF8.self)), end: next)
        case UInt8(ascii: ":"): return .reply(.integer(try Self.integer(line)), end: next)
        case UInt8(ascii: "$"):
            let length = try Self.integer(line)
            if length == -1 { return .reply(.nothing, end: next) }
            guard (0...Int64(Self.mostBytes)).contains(length) else { throw Fault(reason: "a text of \(length) bytes") }
            let end = next + Int(length)
            guard end + 2 <= bytes.count else { return .incomplete }
            guard bytes[end] == 0x0D, bytes[end + 1] == 0x0A else { throw Fault(reason: "a text without its end") }
            return .reply(.text(Array(bytes[next..<end])), end: end + 2)
        case UInt8(ascii: "*"):
            let count = try Self.integer(line)
            if count == -1 { return .reply(.nothing, end: next) }
            guard depth < Self.mostDepth, (0...Int64(Self.mostElements)).contains(count) else {
                throw Fault(reason: "a list of \(count) elements at depth \(depth + 1)")
            }
            var (list, place) = ([StoreReply](), next)
            for _ in 0..<count {
                guard case .reply(let reply, let end) = try parse(from: place, depth: depth + 1, &elements) else {
                    return .incomplete
                }
                list.append(reply)
                place = end
            }
            return .reply(.list(list), end: place)
        default: throw Fault(reason: "a reply that begins with the byte \(kind)")
        }
    }

    /// The position of the CR LF that ends a line; nil until it has arrived.
    private func end(of start: Int) throws(Fault) -> Int? {
        var index = start
        while index < bytes.count {
            if bytes[index] == 0x0A { throw Fault(reason: "a line that ends with LF alone") }
            if bytes[index] == 0x0D {
                guard index + 1 < bytes.count else { return nil }
                guard bytes[index + 1] == 0x0A else { throw Fault(reason: "a line with a single CR") }
                return index
            }
            index += 1
            guard index - start <= 4_096 else { throw Fault(reason: "a line of more than 4,096 bytes") }
        }
        return nil
    }

    private static func integer(_ line: ArraySlice<UInt8>) throws(Fault) -> Int64 {
        guard line.count <= 20, let value = Int64(String(decoding: line, as: UTF8.self)) else {
            throw Fault(reason: "a number that is none")
        }
        return value
    }
}

/// Writes commands as the store reads them.
package enum StoreCommand {
    /// A command of texts.
    package static func bytes(_ words: [String]) -> [UInt8] {
        var bytes = Array("*\(words.count)\r\n".utf8)
        for word in words {
            bytes += Array("$\(word.utf8.count)\r\n".utf8)
            bytes += Array(word.utf8)
            bytes += [0x0D, 0x0A]
        }
        return bytes
    }
}
