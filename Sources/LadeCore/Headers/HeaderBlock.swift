/// A received header section as it came: its bytes, and where the names and values are.
///
/// Most answers are asked for one or two of their fields, or none; strings are made for those alone.
package struct HeaderBlock: Sendable {
    /// Where one field's name and value stand.
    package struct Mark: Sendable {
        fileprivate var name: Range<Int32>
        fileprivate var value: Range<Int32>
    }

    /// Collects a section line by line.
    package struct Builder: Sendable {
        private var bytes: [UInt8] = []
        private var marks: [Mark] = []

        /// Begins an empty section.
        package init() {}

        /// How many fields there are.
        package var count: Int { marks.count }

        /// What was collected so far.
        package var block: HeaderBlock { HeaderBlock(contents: marks.isEmpty ? nil : Contents(bytes, marks)) }

        /// Appends a field whose name and value were checked already.
        ///
        /// - Parameters:
        ///   - line: The field's line.
        ///   - name: Where in it the name stands; at its beginning.
        ///   - value: Where in it the value stands; behind the name.
        package mutating func append(_ line: UnsafeBufferPointer<UInt8>, name: Range<Int>, value: Range<Int>) {
            if marks.isEmpty {
                bytes.reserveCapacity(512)
                marks.reserveCapacity(16)
            }
            let start = bytes.count
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: line[..<value.upperBound]))
            marks.append(Mark(name: Self.moved(name, by: start), value: Self.moved(value, by: start)))
        }

        private static func moved(_ range: Range<Int>, by start: Int) -> Range<Int32> {
            let lower = Int32(truncatingIfNeeded: start + range.lowerBound)
            return lower..<Int32(truncatingIfNeeded: start + range.upperBound)
        }

        /// Appends a space and more text to the last field's value.
        package mutating func extendLast(_ value: UnsafeBufferPointer<UInt8>) {
            guard let last = marks.indices.last else { return }
            bytes.append(0x20)
            bytes.append(contentsOf: value)
            let start = marks[last].value.lowerBound
            marks[last].value = start..<Int32(truncatingIfNeeded: bytes.count)
        }
    }

    // One reference, for every copy of a response copies it.
    private final class Contents: Sendable {
        let bytes: [UInt8]
        let marks: [Mark]

        init(_ bytes: [UInt8], _ marks: [Mark]) {
            self.bytes = bytes
            self.marks = marks
        }
    }

    private let contents: Contents?

    private init(contents: Contents?) {
        self.contents = contents
    }

    private var bytes: [UInt8] { contents?.bytes ?? [] }
    private var marks: [Mark] { contents?.marks ?? [] }

    /// How many fields there are.
    package var count: Int { contents?.marks.count ?? 0 }

    /// Whether the name of some field begins with the given text in lower case.
    func containsName(startingWith prefix: StaticString) -> Bool {
        guard let contents else { return false }
        return prefix.withUTF8Buffer { prefix in
            contents.bytes.withUnsafeBufferPointer { bytes in
                contents.marks.contains { mark in
                    let start = Int(mark.name.lowerBound)
                    guard mark.name.count >= prefix.count, bytes[start].lowercasedASCII == prefix[0] else {
                        return false
                    }
                    return prefix.indices.allSatisfy { bytes[start + $0].lowercasedASCII == prefix[$0] }
                }
            }
        }
    }

    /// Whether the field at a position has that name.
    func isNamed(_ name: String, at position: Int) -> Bool {
        guard let contents else { return false }
        let range = contents.marks[position].name
        guard range.count == name.utf8.count else { return false }
        var offset = Int(range.lowerBound)
        for byte in name.utf8 {
            guard contents.bytes[offset].lowercasedASCII == byte.lowercasedASCII else { return false }
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
