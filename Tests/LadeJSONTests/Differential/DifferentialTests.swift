#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Testing

/// The same questions to Foundation's decoder and to this module's: the same responses, but for the listed differences.
@Suite(.timeLimit(.minutes(5))) struct DifferentialTests {
    /// Options that both decoders get.
    struct Setting: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout FastJSONDecoder) -> Void

        static let all: [Setting] = [
            Setting(testDescription: "defaults") { _ in },
            Setting(testDescription: "ISO 8601, deferred data, texts for numbers that are none") {
                $0.dateDecodingStrategy = .iso8601
                $0.dataDecodingStrategy = .deferredToData
                $0.nonConformingFloatDecodingStrategy = .convertFromString(
                    positiveInfinity: "inf",
                    negativeInfinity: "-inf",
                    nan: "nan"
                )
            },
            Setting(testDescription: "snake case, seconds, user information") {
                $0.keyDecodingStrategy = .convertFromSnakeCase
                $0.dateDecodingStrategy = .secondsSince1970
                if let key = CodingUserInfoKey(rawValue: "mark") { $0.userInfo[key] = 7 }
            },
            Setting(testDescription: "closures") {
                $0.keyDecodingStrategy = .custom { path in
                    AnyKey((path.last?.stringValue ?? "") == "x" ? "a" : (path.last?.stringValue ?? "").lowercased())
                }
                $0.dateDecodingStrategy = .custom { decoder in
                    let depth = Double(decoder.codingPath.count) + Double(Outcome.path(decoder.codingPath).count)
                    return Date(timeIntervalSince1970: try decoder.singleValueContainer().decode(Double.self) + depth)
                }
                $0.dataDecodingStrategy = .custom { decoder in
                    Data(Outcome.path(decoder.codingPath).utf8)
                        + Data(try decoder.singleValueContainer().decode(String.self).utf8)
                }
            },
            Setting(testDescription: "milliseconds") { $0.dateDecodingStrategy = .millisecondsSince1970 },
        ]

        var decoders: (JSONDecoder, FastJSONDecoder) {
            var fast = FastJSONDecoder()
            change(&fast)
            let foundation = JSONDecoder()
            foundation.dateDecodingStrategy = fast.dateDecodingStrategy
            foundation.dataDecodingStrategy = fast.dataDecodingStrategy
            foundation.nonConformingFloatDecodingStrategy = fast.nonConformingFloatDecodingStrategy
            foundation.keyDecodingStrategy = fast.keyDecodingStrategy
            foundation.userInfo = fast.userInfo
            return (foundation, fast)
        }
    }

    @Test(arguments: Setting.all)
    func answersAsFoundationDoes(_ setting: Setting) {
        let (foundation, fast) = setting.decoders
        var differences: [String] = []
        var count = 0
        for data in Samples.all {
            for subject in Subject.all {
                count += 1
                let expected = subject.foundation(foundation, data)
                let found = subject.fast(fast, data)
                guard expected != found, Difference.known(subject.name, data, expected, found) == nil else { continue }
                differences.append(
                    "\(subject.name) of \(String(decoding: data.prefix(150), as: UTF8.self))\n  Foundation: \(expected)\n  found:      \(found)"
                )
            }
        }
        #expect(count >= 1_200)
        #expect(
            differences.isEmpty,
            "\(differences.count) of \(count):\n\(differences.prefix(20).joined(separator: "\n"))"
        )
    }
}

/// A deliberate difference from Foundation, as the documentation lists them.
enum Difference {
    /// Malformed numbers, escapes and control characters are found even where nothing is decoded.
    case checkedEverywhere
    /// The error of a text that is not a date has the key of the date in its path.
    case pathOfDates
    /// Integers that are written with a point or an exponent are exact, or refused when they have a fraction.
    case exactIntegers
    /// Of several errors in a dictionary, the first in the document is thrown; Foundation's order changes from run to run.
    case orderOfDictionaries
    /// Foundation refuses the floating-point numbers `0e1` to `0e9`.
    case zeroTimesPower

    static func known(_ subject: String, _ data: Data, _ expected: String, _ found: String) -> Difference? {
        if found == Outcome.invalid, !Grammar.accepts(data) { return .checkedEverywhere }
        let date = "Expected date string to be ISO8601-formatted."
        if expected.hasPrefix("dataCorrupted ["), found.hasPrefix("dataCorrupted ["), found.contains(date),
            expected.contains(date)
        {
            return .pathOfDates
        }
        let isError = !expected.hasPrefix("value ") && !found.hasPrefix("value ")
        if subject.contains("Dictionary<"), isError { return .orderOfDictionaries }
        // Foundation rounds to a `Double` first, or cuts off the fraction.
        // A type may catch the error and continue, so any type but one of fractions may have another value.
        let isOfFractions = ["Double", "Float", "Decimal"].contains { subject.contains($0) }
        if !isOfFractions, expected.hasPrefix("value "), hasRoundedInteger(data) { return .exactIntegers }
        // Foundation decodes the number as 64 bits first.
        if subject.contains("Int128"), expected == Outcome.invalid, found.hasPrefix("value ") { return .exactIntegers }
        if expected == Outcome.invalid, hasZeroTimesPower(data) { return .zeroTimesPower }
        return nil
    }

    private static func hasZeroTimesPower(_ data: Data) -> Bool {
        numbers(data).contains { $0.count == 3 && ($0.starts(with: "0e".utf8) || $0.starts(with: "0E".utf8)) }
    }

    private static func numbers(_ data: Data) -> [Data] { data.split { !"+-.eE0123456789".utf8.contains($0) } }

    /// Whether a document has a number with a fraction whose nearest `Double` is an integer.
    private static func hasRoundedInteger(_ data: Data) -> Bool {
        numbers(data).contains { text in
            guard let number = JSONValue.Number(String(decoding: text, as: UTF8.self)) else { return false }
            return number.double.rounded() == number.double && number != JSONValue.Number(finite: number.double)
        }
    }
}
