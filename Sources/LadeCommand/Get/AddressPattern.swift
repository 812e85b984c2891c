/// An address that stands for several: `{a,b}` is each of a list, `[1-3]`, `[001-100:10]` and `[a-z]` are ranges.
struct AddressPattern {
    /// One of the addresses, and the text that each of its parts stands for.
    struct Match: Equatable {
        var text: String
        var parts: [String]

        /// A file name with `#1` replaced by the text of the address's first part.
        func fileName(_ name: String) -> String {
            var result: [UInt8] = []
            var rest = Array(name.utf8)[...]
            while let byte = rest.popFirst() {
                let digits = byte == UInt8(ascii: "#") ? rest.prefix { (0x30...0x39).contains($0) } : []
                if let number = Int(String(decoding: digits, as: UTF8.self)), number > 0, number <= parts.count {
                    result += parts[number - 1].utf8
                    rest = rest.dropFirst(digits.count)
                } else {
                    result.append(byte)
                }
            }
            return String(decoding: result, as: UTF8.self)
        }
    }

    /// Why a text is not a pattern.
    struct Fault: Error, Equatable {
        var reason: String
    }

    private enum Piece {
        case text([UInt8])
        case choice([[UInt8]])
    }

    // curl has the same limit.
    private static let limit = 100_000

    private var pieces: [Piece] = []

    /// Parses a pattern.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - isStrict: Whether brackets and braces that are no pattern are an error. Otherwise they are characters of the
    ///     address, and so is a backslash.
    /// - Throws: A fault for a text that is no pattern, and for a pattern that stands for too many addresses.
    init(_ text: String, isStrict: Bool) throws(Fault) {
        var plain: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            var ahead = rest.dropFirst()
            switch byte {
            case UInt8(ascii: "\\") where isStrict && ahead.first.map { "{}[]".utf8.contains($0) } == true:
                plain.append(ahead.removeFirst())
                rest = ahead
                continue
            case UInt8(ascii: "["):
                if let end = Self.numericAddress(ahead) {
                    plain += rest[..<end]
                    rest = rest[end...]
                    continue
                }
                if let choice = try Self.range(&ahead, isStrict) {
                    pieces += [.text(plain), .choice(choice)]
                    (plain, rest) = ([], ahead)
                    continue
                }
            case UInt8(ascii: "{"):
                if let choice = try Self.list(&ahead, isStrict) {
                    pieces += [.text(plain), .choice(choice)]
                    (plain, rest) = ([], ahead)
                    continue
                }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if isStrict { throw Fault(reason: "has a “\(Unicode.Scalar(byte))” without a beginning") }
            default: break
            }
            plain.append(byte)
            rest.removeFirst()
        }
        pieces.append(.text(plain))
        let count = pieces.reduce(1) { count, piece in
            guard case .choice(let choice) = piece else { return count }
            let (product, overflow) = count.multipliedReportingOverflow(by: choice.count)
            return overflow ? .max : product
        }
        guard count <= Self.limit else { throw Fault(reason: "stands for more than \(Self.limit) addresses") }
    }

    /// All addresses, the last part changing first.
    var matches: [Match] {
        var matches: [(bytes: [UInt8], parts: [[UInt8]])] = [([], [])]
        for piece in pieces {
            switch piece {
            case .text(let text): for index in matches.indices { matches[index].bytes += text }
            case .choice(let choice):
                matches = matches.flatMap { match in
                    choice.map { (match.bytes + $0, match.parts + [$0]) }
                }
            }
        }
        return matches.map { bytes, parts in
            Match(
                text: String(decoding: bytes, as: UTF8.self),
                parts: parts.map { String(decoding: $0, as: UTF8.self) }
            )
        }
    }

    /// The end of a numeric IPv6 address whose opening bracket was read.
    private static func numericAddress(_ rest: ArraySlice<UInt8>) -> Int? {
        guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
        let inside = rest[..<end]
        let zone = inside.firstIndex(of: UInt8(ascii: "%")) ?? end
        let isAddress = inside[..<zone].allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xDF) || ":.".utf8.contains(byte)
        }
        return isAddress && inside.contains(UInt8(ascii: ":")) && inside.count { $0 == UInt8(ascii: ":") } > 1
            ? end + 1 : nil
    }

    // New releases of curl read a name there, old ones a character.
    private static let namedFault = Fault(reason: "has a list or a range with a name")

    /// A list whose opening brace was read; nil when the brace is a character.
    private static func list(_ rest: inout ArraySlice<UInt8>, _ isStrict: Bool) throws(Fault) -> [[UInt8]]? {
        if isStrict, rest.first == UInt8(ascii: "<") { throw namedFault }
        var items: [[UInt8]] = [[]]
        var ahead = rest
        while let byte = ahead.popFirst() {
            switch byte {
            case UInt8(ascii: "}"):
                if !isStrict, items.count < 2 { return nil }
                if items == [[]] { throw Fault(reason: "has an empty list") }
                rest = ahead
                return items
            case UInt8(ascii: ","): items.append([])
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "]"):
                guard isStrict else { return nil }
                throw Fault(reason: "has a list in a list")
            case UInt8(ascii: "\\") where isStrict && ahead.first.map { "{}[],".utf8.contains($0) } == true:
                items[items.count - 1].append(ahead.removeFirst())
            default: items[items.count - 1].append(byte)
            }
        }
        guard isStrict else { return nil }
        throw Fault(reason: "has a “{” without an end")
    }

    /// A range whose opening bracket was read; nil when the bracket is a character.
    private static func range(_ rest: inout ArraySlice<UInt8>, _ isStrict: Bool) throws(Fault) -> [[UInt8]]? {
        if isStrict, rest.first == UInt8(ascii: "<") { throw namedFault }
        guard let end = rest.firstIndex(of: UInt8(ascii: "]")), let choice = choice(of: rest[..<end]) else {
            guard isStrict else { return nil }
            throw Fault(reason: "has a range that is none")
        }
        rest = rest[(end + 1)...]
        return choice
    }

    private static func choice(of text: ArraySlice<UInt8>) -> [[UInt8]]? {
        let halves = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard halves.count < 3, let bounds = halves.first else { return nil }
        let ends = bounds.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let least = ends.first, let most = ends.last else { return nil }
        var step = 1
        if halves.count == 2 {
            guard let number = number(halves[1]), number > 0 else { return nil }
            step = number
        }
        if least.count == 1, most.count == 1, let low = least.first, let high = most.first, low.isLetter, high.isLetter
        {
            guard low <= high, high - low <= 25, low & 0x20 == high & 0x20 else { return nil }
            return stride(from: Int(low), through: Int(high), by: step).map { [UInt8($0)] }
        }
        guard let low = number(least), let high = number(most), low <= high, (high - low) / step < limit else {
            return nil
        }
        // A leading zero gives all numbers the width of the first.
        let width = least.first == UInt8(ascii: "0") ? least.count : 0
        return stride(from: low, through: high, by: step).map { number in
            let digits = Array(String(number).utf8)
            return [UInt8](repeating: UInt8(ascii: "0"), count: max(0, width - digits.count)) + digits
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        // The greatest number has no successor.
        return Int(String(decoding: digits, as: UTF8.self)).flatMap { $0 == .max ? nil : $0 }
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (0x41...0x5A).contains(self & 0xDF) && self & 0xC0 == 0x40 }
}
