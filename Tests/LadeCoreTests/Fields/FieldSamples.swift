import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@testable import LadeCore

/// Random values for round trips; the same seed gives the same values again.
struct FieldSamples {
    private(set) var seed: UInt64
    private var state: UInt64

    init(seed: UInt64 = .random(in: .min ... .max)) {
        self.seed = seed
        self.state = seed
    }

    /// The details that a failing expectation needs to be reproduced.
    var note: Comment { "seed \(seed)" }

    mutating func int(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }

    mutating func int64(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &self) }

    mutating func bool() -> Bool { .random(using: &self) }

    mutating func optional<Value>(_ make: (inout FieldSamples) -> Value) -> Value? { bool() ? make(&self) : nil }

    mutating func array<Value>(_ count: ClosedRange<Int>, _ make: (inout FieldSamples) -> Value) -> [Value] {
        (0..<int(count)).map { _ in make(&self) }
    }

    mutating func text(_ alphabet: String, _ count: ClosedRange<Int>) -> String {
        let scalars = Array(alphabet.unicodeScalars)
        var text = String.UnicodeScalarView()
        for _ in 0..<int(count) { text.append(scalars[int(0...scalars.count - 1)]) }
        return String(text)
    }

    mutating func token() -> String { text("abcxyz019!#$%&'*+-.^_`|~", 1...12) }

    /// Printable text with everything that needs care: quotes, escapes, delimiters, characters beyond ASCII.
    mutating func value() -> String { text("\t" + #"abz 09",;=\<>%'*üß漢🎈/"#, 0...20) }

    mutating func bytes(_ count: ClosedRange<Int>) -> [UInt8] { array(count) { UInt8($0.int(0...255)) } }

    /// Bytes that fields consist of, so that parsers get past their first check.
    mutating func fieldBytes(_ count: ClosedRange<Int>) -> [UInt8] {
        let frequent = Array(#"ab01 ,;="\<>/()*:?@%-.'"#.utf8)
        return array(count) { samples in
            samples.int(0...9) == 0 ? UInt8(samples.int(0...255)) : frequent[samples.int(0...frequent.count - 1)]
        }
    }
}

extension FieldSamples: RandomNumberGenerator {
    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

private let hostileShapes: [(name: String, unit: String)] = [
    ("commas", ","), ("semicolons", ";"), ("blanks", " "), ("tabs and commas", "\t,"), ("quotes", "\""),
    ("escapes", "\\\""), ("open brackets", "<"), ("empty links", "<>,"), ("open targets", "<a,"),
    ("parameters", ";a=b"), ("repeated extended values", ";a*=UTF-8''%41"), ("open strings", ";a=\""),
    ("blank before delimiter", "a ,"), ("equal signs", "="), ("digits", "9"), ("letters", "a"), ("percent", "%41"),
    ("lists", "a,"), ("names and values", "a=1,"), ("inner lists", "(a),"), ("open inner lists", "("),
    ("display strings", "%\"%c3%bc\", "), ("base64", ":AAAA:,"), ("dots", "."), ("dashes", "-"), ("slashes", "/"),
    ("apostrophes", "'"), ("combining marks", "\u{301}"), ("flags", "🇨🇭"), ("plus", "+"), ("colons", ":"),
]

/// 64 KiB of each shape: linear parsers take milliseconds, others would not end within a test's time limit.
let hostileFields: [(name: String, value: String)] = hostileShapes.map { name, unit in
    (name, String(repeating: unit, count: 32_768 / unit.utf8.count))
}
