public import LadeCore

/// A parameter of a field value, such as `charset=utf-8` (RFC 9110 §5.6.6).
public struct FieldParameter: Sendable, Hashable {
    /// The name, in lower case.
    public let name: String
    /// The value without quotes and escapes; may be empty.
    public let value: String

    /// Makes a parameter that can be written.
    ///
    /// - Throws: `Headers.FieldError` if the name is not a token or the value holds a control character other than the tab.
    public init(name: String, value: String) throws(Headers.FieldError) {
        guard name.isToken else {
            throw Headers.FieldError(field: "parameter", reason: .notWritable("the name"), offset: 0)
        }
        guard value.isQuotable else {
            throw Headers.FieldError(field: "parameter", reason: .notWritable("a control character"), offset: 0)
        }
        self.init(checkedName: name.asciiLowercased, value: value)
    }

    init(checkedName name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Makes a parameter from a parsed name and value; `nil` for a value that could not be written again.
    init?(_ pair: FieldCursor.Pair, absentValue: String? = nil) {
        // `name=` has no value either: only `name=""` has an empty one.
        let isAbsent = pair.value.map { $0.isEmpty && !pair.isWellFormed } ?? true
        guard let value = isAbsent ? absentValue : pair.value, value.isQuotable else { return nil }
        self.init(checkedName: pair.name, value: value)
    }
}

extension FieldParameter: CustomStringConvertible {
    /// The parameter as it is sent: the value as a token if it is one, else as a quoted string.
    public var description: String { "\(name)=\(value.tokenOrQuoted)" }
}

extension [FieldParameter] {
    /// The value of the first parameter of that name; later ones of the same name do not count.
    func first(_ name: String) -> String? { first { $0.name == name }?.value }
}
