/// Formats JSON while it arrives: each member and element on its own line, indented by two spaces per level, with
/// optional colours.
///
/// Only white space and escapes change: numbers keep their digits, and members keep their order and duplicates. An
/// escape is replaced by its character, unless the character could control a terminal or end the string. A text that is
/// not JSON keeps all its characters.
///
/// ```swift
/// var printer = JSONPrinter()
/// var text = ""
/// for scalar in #"{"a":[1,2]}"#.unicodeScalars { printer.write(scalar, to: &text) }
/// printer.end(&text)
/// ```
package struct JSONPrinter: Sendable {
    private enum Colour: String {
        case key = "\u{1B}[34;1m"
        case string = "\u{1B}[32m"
        case number = "\u{1B}[33m"
        case word = "\u{1B}[35m"
        case none = "\u{1B}[0m"
    }

    private enum Place {
        /// Between values and punctuation.
        case between
        /// In a number, a literal, or any other text outside a string.
        case bare
        case string
        /// In a string, after a backslash.
        case escape
        /// In a string, within the digits of an escape.
        case digits
    }

    private struct Container {
        var isObject: Bool
        var isEmpty = true
        var expectsKey: Bool
    }

    private let isColoured: Bool
    private let isUnsafe: @Sendable (Unicode.Scalar) -> Bool
    private var place = Place.between
    private var containers: [Container] = []
    private var isColourOn = false
    /// Incomplete escapes in their original form, and their meaning so far.
    private var escapes = ""
    private var unit: UInt16 = 0
    private var digitCount = 0
    private var high: UInt16?
    private var isAtStart = true
    // A value directly after another is not JSON; a space separates them.
    private var followsValue = false

    // Deeper levels are not indented further, so that a page of brackets does not become a screen of spaces.
    private static let deepestIndentation = 40

    /// Makes a printer.
    ///
    /// - Parameters:
    ///   - isColoured: Whether names and values are coloured for a terminal (ECMA-48); false by default.
    ///   - isUnsafe: The characters that are written as JSON escapes; none by default.
    package init(
        isColoured: Bool = false,
        escaping isUnsafe: @escaping @Sendable (Unicode.Scalar) -> Bool = { _ in false }
    ) {
        self.isColoured = isColoured
        self.isUnsafe = isUnsafe
    }

    /// Prints the next character.
    package mutating func write(_ scalar: Unicode.Scalar, to result: inout String) {
        switch place {
        case .string, .escape, .digits:
            writeInString(scalar, to: &result)
        case .bare:
            guard Self.endsBareValue(scalar) else { return append(scalar, to: &result) }
            endValue(&result)
            writeBetween(scalar, to: &result)
        case .between:
            writeBetween(scalar, to: &result)
        }
    }

    /// Ends the text: resets the colours and adds a final line end.
    package mutating func end(_ result: inout String) {
        flushEscapes(to: &result)
        if place != .between { endValue(&result) }
        if !isAtStart { result += "\n" }
        isAtStart = true
    }

    private mutating func writeInString(_ scalar: Unicode.Scalar, to result: inout String) {
        switch place {
        case .digits: return writeDigit(scalar, to: &result)
        case .escape:
            escapes.unicodeScalars.append(scalar)
            place = .string
            if scalar == "u" {
                (place, unit, digitCount) = (.digits, 0, 0)
            } else {
                if scalar == "/" { escapes = String(escapes.dropLast(2)) + "/" }
                flushEscapes(to: &result)
            }
        case .string where scalar == "\\":
            escapes += "\\"
            place = .escape
        default:
            flushEscapes(to: &result)
            append(scalar, to: &result)
            if scalar == "\"" { endValue(&result) }
        }
    }

    private mutating func writeDigit(_ scalar: Unicode.Scalar, to result: inout String) {
        guard scalar.isASCII, let digit = Character(scalar).hexDigitValue else {
            place = .string
            flushEscapes(to: &result)
            return writeInString(scalar, to: &result)
        }
        escapes.unicodeScalars.append(scalar)
        unit = unit << 4 | UInt16(digit)
        digitCount += 1
        guard digitCount == 4 else { return }
        place = .string
        if UTF16.isLeadSurrogate(unit), high == nil {
            // The other half must follow immediately.
            high = unit
            return
        }
        let units = [high, unit].compactMap(\.self)
        let meant = String(decoding: units, as: UTF16.self).unicodeScalars
        if meant.count == 1, let character = meant.first, character != "\u{FFFD}", isShown(character) {
            escapes = String(character)
        }
        flushEscapes(to: &result)
    }

    private func isShown(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 && !isUnsafe(scalar) && !["\"", "\\", "\u{2028}", "\u{2029}", "\u{FEFF}"].contains(scalar)
    }

    private mutating func flushEscapes(to result: inout String) {
        guard !escapes.isEmpty else { return }
        for scalar in escapes.unicodeScalars { append(scalar, to: &result) }
        (escapes, high) = ("", nil)
    }

    private mutating func writeBetween(_ scalar: Unicode.Scalar, to result: inout String) {
        switch scalar {
        case " ", "\n", "\r", "\t":
            return
        case "{", "[":
            startValue(nil, &result)
            result.unicodeScalars.append(scalar)
            containers.append(Container(isObject: scalar == "{", expectsKey: scalar == "{"))
            followsValue = false
        case "}", "]":
            if containers.popLast()?.isEmpty == false { breakLine(&result) }
            result.unicodeScalars.append(scalar)
            isAtStart = false
            followsValue = true
        case ",":
            result += ","
            // The next value starts a line, as after an opening bracket.
            modifyTop {
                $0.isEmpty = true; $0.expectsKey = $0.isObject
            }
            followsValue = false
        case ":":
            result += ": "
            modifyTop { $0.expectsKey = false }
            followsValue = false
        case "\"":
            startValue(containers.last?.expectsKey == true ? .key : .string, &result)
            result += "\""
            place = .string
        default:
            let isNumber = scalar == "-" || ("0"..."9").contains(scalar)
            startValue(isNumber ? .number : .word, &result)
            append(scalar, to: &result)
            place = .bare
        }
    }

    private mutating func startValue(_ colour: Colour?, _ result: inout String) {
        if containers.last?.isEmpty == true {
            breakLine(&result)
            modifyTop { $0.isEmpty = false }
        } else if followsValue {
            result += containers.isEmpty ? "\n" : " "
        }
        isAtStart = false
        if isColoured, let colour {
            result += colour.rawValue
            isColourOn = true
        }
    }

    private mutating func endValue(_ result: inout String) {
        if isColourOn { result += Colour.none.rawValue }
        isColourOn = false
        place = .between
        followsValue = true
    }

    private func breakLine(_ result: inout String) {
        result += "\n" + String(repeating: "  ", count: min(containers.count, Self.deepestIndentation))
    }

    private mutating func modifyTop(_ change: (inout Container) -> Void) {
        guard !containers.isEmpty else { return }
        change(&containers[containers.count - 1])
    }

    private mutating func append(_ scalar: Unicode.Scalar, to result: inout String) {
        if isUnsafe(scalar) {
            result += JSONQuoting.escaped(scalar)
        } else {
            result.unicodeScalars.append(scalar)
        }
    }

    private static func endsBareValue(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case " ", "\n", "\r", "\t", "{", "}", "[", "]", ",", ":", "\"": true
        default: false
        }
    }
}
