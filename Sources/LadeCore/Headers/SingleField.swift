#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A field that has one value, and the meaning of all its lines in a message.
///
/// A sender must not send such a field twice (RFC 9110 §5.3), but servers and the proxies before them do. A proxy may also combine
/// two lines into one list (§5.2). So equal copies, on lines of their own or in one list, are one value. Different values
/// contradict each other, and every reader of a field reacts in the same way:
///
/// | field | different values | source |
/// | --- | --- | --- |
/// | `Age` | the first | RFC 9111 §5.1 |
/// | `Content-Disposition` | no file name | RFC 9110 §5.3 |
/// | `Content-Length` | transports refuse the response; else, no length | RFC 9110 §8.6, RFC 9112 §6.3 |
/// | `Content-Location` | no address | RFC 9110 §8.7 |
/// | `Content-Range` | a part of unknown place | RFC 9110 §14.4 |
/// | `Content-Type` | an unknown type, because recipients differ in the value that they use | RFC 9110 §8.3 |
/// | `Date` | as without the field | RFC 9110 §6.6.1 |
/// | `ETag`, `Last-Modified` | no version is named | RFC 9110 §8.8 |
/// | `Expires` | it has passed | RFC 9111 §4.2.1, §5.3 |
/// | `Location` | the redirect is refused | RFC 9110 §10.2.2 |
/// | `Retry-After` | the longest delay of all lines, so that no call comes early; none of a line with a list | RFC 9110 §10.2.3 |
/// | quotas of services | no quota | – |
///
/// A value that cannot be read differs from every other one. Empty values say nothing, unless the field is one whose empty
/// value has a meaning.
package struct SingleField: Sendable {
    /// The meaning of a comma in a value.
    private enum Comma {
        /// It separates values, outside of quoted strings.
        case separates
        /// It separates values, except for the one after the name of a weekday.
        case separatesDates
        /// It belongs to the value.
        case belongs
    }

    /// The meaning of all lines of a field together.
    package enum Reading: Sendable, Hashable {
        /// No line has a value.
        case none
        /// All lines have this value.
        case one(Headers.Field)
        /// The lines have these different values, in order.
        case contradiction([Headers.Field])
    }

    /// The name of the field.
    package let name: String
    private let comma: Comma
    /// Whether an empty value contradicts others.
    private var countsEmpty = false
    /// Whether the first of different values counts.
    fileprivate var prefersFirst = false

    private init(_ name: String, _ comma: Comma, countsEmpty: Bool = false, prefersFirst: Bool = false) {
        self.name = name
        self.comma = comma
        self.countsEmpty = countsEmpty
        self.prefersFirst = prefersFirst
    }

    /// Makes a field of another name, whose value contains no comma.
    package init(number name: String) { self.init(name, .separates) }

    /// Makes a field of another name, whose value is a number or a date.
    package init(date name: String) { self.init(name, .separatesDates) }

    /// Makes a field of another name, whose value may contain commas.
    package init(text name: String) { self.init(name, .belongs) }

    package static let age = SingleField("Age", .separates, prefersFirst: true)
    package static let contentDisposition = SingleField("Content-Disposition", .belongs)
    package static let contentLength = SingleField("Content-Length", .separates, countsEmpty: true)
    package static let contentLocation = SingleField("Content-Location", .belongs)
    package static let contentRange = SingleField("Content-Range", .separates)
    package static let contentType = SingleField("Content-Type", .separates)
    package static let date = SingleField("Date", .separatesDates)
    package static let entityTag = SingleField("ETag", .separates)
    package static let expires = SingleField("Expires", .separatesDates, countsEmpty: true)
    package static let lastModified = SingleField("Last-Modified", .separatesDates)
    package static let location = SingleField("Location", .belongs, countsEmpty: true)
    package static let retryAfter = SingleField("Retry-After", .separatesDates)

    // MARK: - Values of a line

    /// Passes each value of a line on.
    fileprivate func forEachValue(of line: Headers.Field, _ body: (Headers.Field) -> Void) {
        guard !line.value.isEmpty else {
            if countsEmpty { body(line) }
            return
        }
        guard mayBeList(line.value) else { return body(line) }
        var cursor = FieldCursor(line.octets, field: name)
        while true {
            cursor.skipWhitespace()
            let octets = value(&cursor)
            if countsEmpty || !octets.isEmpty { body(Headers.Field(uncheckedName: name, octets: octets)) }
            guard cursor.take(",") else { return }
        }
    }

    /// Whether a line may have several values; most have none of the commas that it takes.
    private func mayBeList(_ text: String) -> Bool {
        switch comma {
        case .belongs: return false
        case .separates: return text.utf8.contains(UInt8(ascii: ","))
        case .separatesDates:
            let rest = text.utf8.drop(while: \.isLetter)
            let isDated = rest.startIndex > text.startIndex && rest.first == UInt8(ascii: ",")
            return rest.dropFirst(isDated ? 1 : 0).contains(UInt8(ascii: ","))
        }
    }

    /// The value up to the next comma that separates, without the white space before it.
    private func value(_ cursor: inout FieldCursor) -> [UInt8] {
        let start = cursor.position
        if comma == .separatesDates {
            let weekday = cursor.take(while: \.isLetter)
            if !weekday.isEmpty { _ = cursor.take(",") }
        }
        cursor.skip(to: .comma)
        return cursor.octets(start..<cursor.position)
    }
}

extension Headers {
    /// The meaning of all lines of a field together: the one function that decides which of them counts.
    package func reading(_ field: SingleField) -> SingleField.Reading {
        var first: Field?
        var others: [Field] = []
        forEach(named: field.name) { line in
            field.forEachValue(of: line) { value in
                guard let known = first else { return first = value }
                guard !known.hasValue(of: value), !others.contains(where: value.hasValue) else { return }
                others.append(value)
            }
        }
        guard let first else { return .none }
        return others.isEmpty ? .one(first) : .contradiction([first] + others)
    }

    /// The value of a field by the rule of its kind; nil without one.
    package func field(_ field: SingleField) -> Field? {
        switch reading(field) {
        case .none: nil
        case .one(let value): value
        case .contradiction(let values): field.prefersFirst ? values.first : nil
        }
    }

    /// The text of a field's value by the rule of its kind; nil without one.
    package func value(_ field: SingleField) -> String? { self.field(field)?.value }

    // MARK: - Values with a type

    /// `Content-Length`; nil where there is none, or none that can be read.
    package var contentLength: Int64? {
        value(.contentLength).flatMap { Whole.count($0) }.flatMap { $0 == .max ? nil : $0 }
    }

    /// `Date`; nil where there is none, or none that can be read.
    ///
    /// - Parameter now: The reference for two-digit years.
    /// - Returns: The date.
    package func date(now: @autoclosure () -> Date) -> Date? {
        field(.date).flatMap { try? Headers.HTTPDate(bytes: $0.octets, now: now()) }?.date
    }

    /// The delay that `Retry-After` requests, measured against the response's own `Date`; nil without a valid field.
    ///
    /// - Parameter now: The time of arrival, which a date is compared with where the response has none.
    /// - Returns: The delay.
    package func requestedDelay(now: Date) -> Duration? {
        let reading = reading(.retryAfter)
        if reading == .none { return nil }
        var values: [Field] = []
        if case .one(let value) = reading { values = [value] }
        if case .contradiction = reading {
            // A list in one line may be a number with separators, as `1,000`: it is no value.
            forEach(named: SingleField.retryAfter.name) { line in
                if case .one(let value) = Headers(checked: [line]).reading(.retryAfter) { values.append(value) }
            }
        }
        // A malformed value requests nothing.
        let delays = values.compactMap { try? Headers.RetryAfter(bytes: $0.octets, now: now) }
        guard !delays.isEmpty else { return nil }
        let serverDate = date(now: now)
        return delays.map { $0.delay(serverDate: serverDate, now: now) }.max()
    }

    /// The content codings of all lines in the order in which they were applied, in lower case, without `identity` (RFC 9110
    /// §8.4).
    package var contentCodings: [String] { Self.codings(in: all("Content-Encoding")) }

    /// The content codings that lines of `Content-Encoding` name.
    package static func codings(in lines: [String]) -> [String] {
        lines.flatMap { $0.parts(at: ",", omitsEmpty: true) }.map { $0.trimmedOfSpace.asciiLowercased }
            .filter { !$0.isEmpty && $0 != "identity" }
    }
}
