#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeCore

extension StructuredField {
    /// A value without parameters (RFC 9651 §3.3).
    ///
    /// The format has these eight types, and a `switch` over them stays exhaustive.
    public enum BareItem: Sendable, Hashable {
        /// A whole number of at most 15 digits (§3.3.1).
        case integer(Int64)
        /// A number with at most 12 digits before and 3 after the point (§3.3.2).
        case decimal(Decimal)
        /// Printable ASCII text (§3.3.3).
        case string(String)
        /// A short word: a letter or `*`, then token bytes, `:` and `/` (§3.3.4).
        case token(String)
        /// Bytes (§3.3.5).
        case byteSequence([UInt8])
        /// True or false (§3.3.6).
        case boolean(Bool)
        /// A moment, to the second (§3.3.7).
        case date(Date)
        /// Unicode text for display to people (§3.3.8).
        case displayString(String)
    }

    /// A number with at most 12 digits before and 3 after the point, kept exactly (RFC 9651 §3.3.2).
    public struct Decimal: Sendable, Hashable {
        /// The number times 1,000; the magnitude is less than 10¹⁵.
        public let thousandths: Int64

        /// Makes the number of this many thousandths; `nil` if it has more than 12 digits before the point.
        public init?(thousandths: Int64) {
            guard thousandths.magnitude < 1_000_000_000_000_000 else { return nil }
            self.thousandths = thousandths
        }

        /// Makes the nearest number with three digits after the point; ties go to the even one (§4.1.5).
        ///
        /// 0.0015 and 0.0025 both become 0.002. `nil` if it has more than 12 digits before the point, or is NaN.
        public init?(_ value: Double) {
            let rounded = (value * 1_000).rounded(.toNearestOrEven)
            guard rounded.magnitude < 1e15 else { return nil }
            self.thousandths = Int64(rounded)
        }

        /// The nearest floating-point number.
        public var doubleValue: Double { Double(thousandths) / 1_000 }
    }
}

extension StructuredField.Decimal: CustomStringConvertible {
    /// The number with at least one and at most three digits after the point: `4.5`, `-1.0`, `0.125`.
    public var description: String {
        let magnitude = thousandths.magnitude
        var fraction = String(magnitude % 1_000)
        fraction = String(repeating: "0", count: 3 - fraction.count) + fraction
        while fraction.hasSuffix("0"), fraction.count > 1 { fraction.removeLast() }
        return "\(thousandths < 0 ? "-" : "")\(magnitude / 1_000).\(fraction)"
    }
}

extension StructuredField.BareItem {
    /// The number of an integer or a decimal.
    public var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .decimal(let decimal): decimal.doubleValue
        default: nil
        }
    }

    /// The text of a string, token or display string.
    public var text: String? {
        switch self {
        case .string(let text), .token(let text), .displayString(let text): text
        default: nil
        }
    }
}
