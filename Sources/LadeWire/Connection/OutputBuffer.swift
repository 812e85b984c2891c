/// Bytes that the socket has not accepted yet.
struct OutputBuffer {
    private var bytes: [UInt8] = []
    private var start = 0

    var isEmpty: Bool { start == bytes.count }
    var count: Int { bytes.count - start }

    mutating func append(contentsOf more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

    /// Calls a closure that appends to the bytes.
    mutating func append(_ write: (inout [UInt8]) -> Void) { write(&bytes) }

    /// Calls a closure that writes up to `capacity` bytes to the end and returns their number.
    mutating func append(capacity: Int, _ write: (UnsafeMutableRawBufferPointer) -> Int) {
        let end = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: capacity))
        let written = bytes.withUnsafeMutableBytes { write(UnsafeMutableRawBufferPointer(rebasing: $0[end...])) }
        bytes.removeLast(capacity - written)
    }

    /// Calls a closure with the unsent bytes.
    func withUnsent<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// Records that the socket has accepted bytes.
    mutating func consume(_ count: Int) {
        start += count
        guard start == bytes.count else { return }
        start = 0
        // A buffer that once held an upload is not kept for the idle life of the connection.
        bytes.removeAll(keepingCapacity: bytes.capacity <= 16 << 10)
    }

    mutating func removeAll() { consume(count) }
}
