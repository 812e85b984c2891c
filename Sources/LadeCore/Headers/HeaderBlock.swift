/// A received header section as it came: its bytes, and where the names and values are.
///
/// Most answers are asked for one or two of their fields, or none; strings are made for those alone.
package struct HeaderBlock: Sendable {
    /// Where one field's name and value stand.
    package struct Mark: Sendable {
        fileprivate var name: Range<Int32>
        fileprivate var value: Range<Int32>
    }

    private var bytes: [UInt8] = []
    private var marks: [Mark] = []

    /// Makes an empty section.
    package init() {}

    /// How many fields there are.
    package var count: Int { marks.count }

    /// Appends a field whose name and value were checked already.
    package mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        if bytes.isEmpty {
            bytes.reserveCapacity(512)
            marks.reserveCapacity(16)
        }
        let start = Int32(truncatingIfNeeded: bytes.count)
        let middle = start + Int32(truncatingIfNeeded: name.count)
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
        marks.append(Mark(name: start..<middle, value: middle..<Int32(truncatingIfNeeded: bytes.count)))
    }

    /// Appends a space and more text to the last field's value.
    package mutating func extendLast(_ value: UnsafeBufferPointer<UInt8>) {
        guard let last = marks.indices.last else { return }
        bytes.append(0x20)
        bytes.append(contentsOf: value)
        marks[last].value = marks[last].value.lowerBound..<Int32(truncatingIfNeeded: bytes.count)
    }

    /// Whether the field at a position has that name.
    func isNamed(_ name: String, at position: Int) -> Bool {
        let range = marks[position].name
        guard range.count == name.utf8.count else { return false }
        var offset = Int(range.lowerBound)
        for byte in name.utf8 {
            guard bytes[offset].lowercasedASCII == byte.lowercasedASCII else { return false }
            offset += 1
        }
        return true
    }

    /// The value of the field at a position.
    func value(at position: Int) -> String {
        text(marks[position].value)
    }

    /// The field at a position.
    func field(at position: Int) -> Headers.Field {
        Headers.Field(uncheckedName: text(marks[position].name), value: text(marks[position].value))
    }

    /// UTF-8 where it can be and ISO-8859-1 otherwise, so that no byte is lost (RFC 9110 §5.5).
    private func text(_ range: Range<Int32>) -> String {
        let slice = bytes[Int(range.lowerBound)..<Int(range.upperBound)]
        if let text = String(validating: slice, as: UTF8.self) { return text }
        var result = ""
        for byte in slice { result.unicodeScalars.append(Unicode.Scalar(byte)) }
        return result
    }
}
