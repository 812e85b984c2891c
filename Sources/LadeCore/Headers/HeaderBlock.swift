/// A received header section: its bytes, and the positions of the names and values.
///
/// Most callers read one or two fields of a response, or none; strings are made only for those.
package struct HeaderBlock: @unchecked Sendable {
    /// Collects a section line by line.
    package struct Builder: @unchecked Sendable {
        private var memory: Memory?
        // Cached here because this is the hottest loop over a response's head: what the memory contains, its capacity,
        // and its address.
        private var marks: UnsafeMutablePointer<Mark>?
        private var text: UnsafeMutablePointer<UInt8>?
        private var room = (marks: 0, bytes: 0)
        private var bytes = 0
        private var names = NameSet()
        /// How many fields there are.
        package private(set) var count = 0

        /// Begins an empty section.
        package init() {}

        /// The section as collected so far.
        package var block: HeaderBlock {
            memory?.setSizes(marks: count, bytes: bytes, names)
            return HeaderBlock(memory: memory)
        }

        /// Appends a field whose name and value were validated already.
        ///
        /// - Parameters:
        ///   - line: The field's line.
        ///   - name: The length of the name, which starts the line.
        ///   - value: The range of the value within the line, after the name.
        package mutating func append(_ line: UnsafeBufferPointer<UInt8>, name: Int, value: Range<Int>) {
            makeRoom(bytes: value.upperBound, marks: 1)
            guard let marks, let text, let source = line.baseAddress else { return }
            (text + bytes).update(from: source, count: value.upperBound)
            let start = Int32(truncatingIfNeeded: bytes)
            let lower = start &+ Int32(truncatingIfNeeded: value.lowerBound)
            let upper = start &+ Int32(truncatingIfNeeded: value.upperBound)
            let mark = Mark(
                name: Range(uncheckedBounds: (start, start &+ Int32(truncatingIfNeeded: name))),
                value: Range(uncheckedBounds: (lower, upper))
            )
            (marks + count).initialize(to: mark)
            names.insert(UnsafeBufferPointer(start: source, count: name))
            bytes += value.upperBound
            count += 1
        }

        /// Appends a space and more text to the last field's value.
        package mutating func extendLast(_ value: UnsafeBufferPointer<UInt8>) {
            guard count > 0 else { return }
            makeRoom(bytes: value.count + 1, marks: 0)
            guard let marks, let text else { return }
            text[bytes] = 0x20
            if let source = value.baseAddress { (text + bytes + 1).update(from: source, count: value.count) }
            bytes += value.count + 1
            let last = marks + (count - 1)
            last.pointee.value = last.pointee.value.lowerBound..<Int32(truncatingIfNeeded: bytes)
        }

        /// Makes the memory unique to this builder and large enough for this much more.
        private mutating func makeRoom(bytes more: Int, marks moreMarks: Int) {
            let hasRoom = bytes + more <= room.bytes && count + moreMarks <= room.marks
            if hasRoom, isKnownUniquelyReferenced(&memory) { return }
            move(bytes: more, marks: moreMarks)
        }

        @inline(never)
        private mutating func move(bytes more: Int, marks moreMarks: Int) {
            // Enough for a usual head; doubled when it is too small.
            let larger = (marks: max(16, 2 * (count + moreMarks)), bytes: max(512, 2 * (bytes + more)))
            let new = Memory.make(marks: larger.marks, bytes: larger.bytes)
            let places = new.places
            if let marks, let text {
                places.marks.update(from: marks, count: count)
                places.text.update(from: text, count: bytes)
            }
            (memory, marks, text, room) = (new, places.marks, places.text, larger)
        }
    }

    /// The positions of one field's name and value.
    fileprivate struct Mark {
        var name: Range<Int32>
        var value: Range<Int32>
    }

    /// The names that may be in a section; most lookups are of absent fields.
    ///
    /// A set of bits. A name that is in the section has both of its bits, and few others have them too.
    fileprivate struct NameSet: Equatable {
        private(set) var bits: UInt64 = 0

        /// Adds a name, which is not empty.
        mutating func insert(_ name: UnsafeBufferPointer<UInt8>) {
            bits |= Self.bits(of: name)
        }

        /// The bits of a name: one of its first letter, and one of its last letter and its length.
        ///
        /// The lowest five bits of a letter are the same in both cases.
        static func bits(of name: UnsafeBufferPointer<UInt8>) -> UInt64 {
            let last = Int(name[name.count - 1] & 31)
            return 1 << UInt64(name[0] & 31) | 1 << UInt64(32 + (last &+ 5 &* name.count) & 31)
        }
    }

    fileprivate struct Sizes {
        var marks = 0
        var bytes = 0
        var names = NameSet()
        let markCapacity: Int
    }

    /// The marks and the bytes of a section in one allocation, because every response makes one and every copy of a
    /// response copies the reference.
    ///
    /// Only a builder that is the unique owner changes it; afterwards it is constant. That is the proof for
    /// `@unchecked Sendable` of the types that hold it. It is accessed through pointers, because each use of the
    /// property `header` has an exclusivity check.
    fileprivate final class Memory: ManagedBuffer<Sizes, Mark> {
        static func make(marks: Int, bytes: Int) -> Memory {
            let stride = MemoryLayout<Mark>.stride
            let buffer = create(minimumCapacity: marks + (bytes + stride - 1) / stride) { _ in
                Sizes(markCapacity: marks)
            }
            return unsafeDowncast(buffer, to: Memory.self)
        }

        /// The addresses of the marks and the bytes.
        var places: (marks: UnsafeMutablePointer<Mark>, text: UnsafeMutablePointer<UInt8>) {
            withUnsafeMutablePointers { sizes, marks in
                let text = UnsafeMutableRawPointer(marks + sizes.pointee.markCapacity)
                return (marks, text.assumingMemoryBound(to: UInt8.self))
            }
        }

        func setSizes(marks: Int, bytes: Int, _ names: NameSet) {
            withUnsafeMutablePointerToHeader { sizes in
                // Sections that share memory have the same sizes: nothing is written while another thread may read.
                guard sizes.pointee.marks != marks || sizes.pointee.bytes != bytes else { return }
                sizes.pointee.marks = marks
                sizes.pointee.bytes = bytes
                sizes.pointee.names = names
            }
        }

        /// The names that may be in the section.
        var names: NameSet { withUnsafeMutablePointerToHeader { $0.pointee.names } }

        /// How many marks there are.
        var count: Int { withUnsafeMutablePointerToHeader { $0.pointee.marks } }

        func mark(_ position: Int) -> Mark {
            precondition(position >= 0 && position < count, "no field at position \(position)")
            return withUnsafeMutablePointerToElements { $0[position] }
        }

        func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
            withUnsafeMutablePointers { sizes, marks in
                let start = UnsafeRawPointer(marks + sizes.pointee.markCapacity)
                let bytes = start.assumingMemoryBound(to: UInt8.self)
                return body(UnsafeBufferPointer(start: bytes, count: sizes.pointee.bytes))
            }
        }
    }

    private let memory: Memory?

    private init(memory: Memory?) {
        self.memory = memory
    }

    /// How many fields there are.
    package var count: Int { memory?.count ?? 0 }

    /// Whether the name of some field begins with one of the given texts, which are in lower case and not empty.
    func containsName(startingWithOneOf prefixes: [StaticString]) -> Bool {
        guard let memory, prefixes.contains(where: { memory.names.bits & 1 << UInt64($0.utf8Start.pointee & 31) != 0 })
        else { return false }
        return memory.withBytes { bytes in
            (0..<memory.count).contains { position in
                let name = memory.mark(position).name
                let start = Int(name.lowerBound)
                let first = bytes[start].lowercasedASCII
                return prefixes.contains { prefix in
                    // Most names differ in their first letter.
                    guard prefix.utf8Start.pointee == first, name.count >= prefix.utf8CodeUnitCount else {
                        return false
                    }
                    return prefix.withUTF8Buffer { prefix in
                        prefix.indices.allSatisfy { bytes[start + $0].lowercasedASCII == prefix[$0] }
                    }
                }
            }
        }
    }

    /// Whether a field may have the given name; false is certain.
    func mayContain(_ name: String) -> Bool {
        guard let memory, !name.isEmpty else { return false }
        var name = name
        let bits = name.withUTF8(NameSet.bits)
        return memory.names.bits & bits == bits
    }

    /// The positions of the fields with the given name, in order.
    func positions(of name: String) -> [Int] {
        guard mayContain(name) else { return [] }
        var found: [Int] = []
        for position in 0..<count where isNamed(name, at: position) { found.append(position) }
        return found
    }

    /// Whether the field at a position has the given name.
    func isNamed(_ name: String, at position: Int) -> Bool {
        guard let memory else { return false }
        let range = memory.mark(position).name
        guard range.count == name.utf8.count else { return false }
        return memory.withBytes { bytes in
            var offset = Int(range.lowerBound)
            for byte in name.utf8 {
                guard bytes[offset].lowercasedASCII == byte.lowercasedASCII else { return false }
                offset += 1
            }
            return true
        }
    }

    /// Calls a closure with the position and the bytes of each name, in order.
    func forEachName(_ body: (Int, UnsafeBufferPointer<UInt8>) -> Void) {
        guard let memory else { return }
        memory.withBytes { bytes in
            for position in 0..<memory.count {
                let name = memory.mark(position).name
                body(position, UnsafeBufferPointer(rebasing: bytes[Int(name.lowerBound)..<Int(name.upperBound)]))
            }
        }
    }

    /// The value of the field at a position, which must exist.
    func value(at position: Int) -> String {
        guard let memory else { preconditionFailure("an empty section has no field") }
        return memory.withBytes { Self.text($0, memory.mark(position).value) }
    }

    /// The value of the field at a position, which must exist, as it was received.
    func octets(at position: Int) -> [UInt8] {
        guard let memory else { preconditionFailure("an empty section has no field") }
        let range = memory.mark(position).value
        return memory.withBytes { Array($0[Int(range.lowerBound)..<Int(range.upperBound)]) }
    }

    /// The field at a position, which must exist.
    func field(at position: Int) -> Headers.Field {
        guard let memory else { preconditionFailure("an empty section has no field") }
        let mark = memory.mark(position)
        return memory.withBytes { bytes in
            let value = UnsafeBufferPointer(rebasing: bytes[Int(mark.value.lowerBound)..<Int(mark.value.upperBound)])
            let text = Self.valid(value)
            return Headers.Field(
                uncheckedName: Self.text(bytes, mark.name),
                value: text ?? Self.text(bytes, mark.value),
                octets: text == nil ? Array(value) : nil
            )
        }
    }

    /// UTF-8 where valid and ISO-8859-1 otherwise, so that no byte is lost (RFC 9110 §5.5).
    private static func text(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int32>) -> String {
        let part = UnsafeBufferPointer(rebasing: bytes[Int(range.lowerBound)..<Int(range.upperBound)])
        if let text = valid(part) { return text }
        var result = ""
        for byte in part { result.unicodeScalars.append(Unicode.Scalar(byte)) }
        return result
    }

    /// The bytes as text; nil where they are not UTF-8.
    private static func valid(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        // Nearly every field is ASCII, which is not worth the general validation.
        bytes.allSatisfy { $0 < 0x80 }
            ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
    }
}
