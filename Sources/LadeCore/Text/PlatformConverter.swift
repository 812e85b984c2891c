#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import CoreFoundation
    import Foundation
#endif

/// Converts a charset of the platform to UTF-8.
///
/// A program without the platform's tables, such as one on a system without the modules of glibc, has no converter.
// One decoder owns the handle and reads one piece at a time. A copy of a decoder must not be used beside the original;
// the lock keeps the handle safe should that happen.
final class PlatformConverter: Sendable {
    /// A part of a text.
    struct Converted {
        var text: [UInt8] = []
        var isMalformed = false
    }

    private static let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]

    #if canImport(Glibc) || canImport(Musl)
        private struct Handle: @unchecked Sendable { let value: iconv_t }

        private let handle: Locked<Handle>

        /// Makes a converter for a name of `iconv`; nil when it has no such charset.
        init?(_ name: String) {
            // iconv reports failure by a handle of -1.
            guard let opened = iconv_open("UTF-8", name), Int(bitPattern: opened) != -1 else { return nil }
            handle = Locked(Handle(value: opened))
        }

        deinit {
            handle.withLock { _ = iconv_close($0.value) }
        }

        /// Converts the whole characters of some bytes, and removes them.
        ///
        /// - Parameters:
        ///   - bytes: The bytes; those of an incomplete character stay.
        ///   - isLast: Whether no bytes follow, so that an incomplete character is malformed.
        ///   - exceptions: Characters of bytes that the platform refuses.
        /// - Returns: The text in UTF-8.
        func convert(
            _ bytes: inout [UInt8],
            isLast: Bool,
            _ exceptions: [UInt8: Unicode.Scalar] = [:]
        ) -> Converted {
            handle.withLock { handle in
                var result = Converted()
                var position = 0
                while position < bytes.count {
                    let code = Self.step(handle.value, bytes, &position, &result.text)
                    if code == 0 || code == E2BIG { continue }
                    if code == EINVAL, !isLast { break }
                    if code == EILSEQ, let scalar = exceptions[bytes[position]] {
                        result.text += Array(String(scalar).utf8)
                    } else {
                        result.text += Self.replacement
                        result.isMalformed = true
                    }
                    position += code == EINVAL ? bytes.count - position : 1
                }
                bytes.removeFirst(min(position, bytes.count))
                if isLast { Self.flush(handle.value, &result.text) }
                return result
            }
        }

        /// Converts as much as one call does; returns its error, or 0.
        private static func step(
            _ handle: iconv_t,
            _ bytes: [UInt8],
            _ position: inout Int,
            _ text: inout [UInt8]
        ) -> Int32 {
            var output = [CChar](repeating: 0, count: 4 * min(bytes.count - position, 16 << 10) + 16)
            let capacity = output.count
            var code: Int32 = 0
            var written = 0
            bytes.withUnsafeBytes { buffer in
                output.withUnsafeMutableBufferPointer { output in
                    // iconv takes a mutable pointer and does not write through it.
                    var input = buffer.baseAddress.map {
                        UnsafeMutableRawPointer(mutating: $0 + position).assumingMemoryBound(to: CChar.self)
                    }
                    var left = bytes.count - position
                    var target = output.baseAddress
                    var room = capacity
                    if iconv(handle, &input, &left, &target, &room) == -1 { code = errno }
                    position = bytes.count - left
                    written = capacity - room
                }
            }
            text += output[..<written].map(UInt8.init(bitPattern:))
            return code
        }

        /// Takes the character that iconv holds back because a mark could follow it, and resets the state.
        private static func flush(_ handle: iconv_t, _ text: inout [UInt8]) {
            var output = [CChar](repeating: 0, count: 32)
            var room = output.count
            output.withUnsafeMutableBufferPointer { output in
                var target = output.baseAddress
                _ = iconv(handle, nil, nil, &target, &room)
            }
            text += output[..<(output.count - room)].map(UInt8.init(bitPattern:))
        }
    #else
        private let encoding: String.Encoding

        /// Makes a converter for a registered name; nil when Foundation has no such charset.
        init?(_ name: String) {
            let number = CFStringConvertIANACharSetNameToEncoding(name as CFString)
            guard number != kCFStringEncodingInvalidId else { return nil }
            encoding = String.Encoding(rawValue: UInt(CFStringConvertEncodingToNSStringEncoding(number)))
        }

        /// Converts the whole characters of some bytes, up to the end of a line, and removes them.
        ///
        /// Foundation keeps no state between pieces, and every charset is in its initial state at the end of a line.
        func convert(
            _ bytes: inout [UInt8],
            isLast: Bool,
            _ exceptions: [UInt8: Unicode.Scalar] = [:]
        ) -> Converted {
            let end = isLast ? bytes.count : (bytes.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0)
            let whole = bytes[..<end]
            defer { bytes.removeFirst(end) }
            if let text = String(bytes: whole, encoding: encoding) { return Converted(text: Array(text.utf8)) }
            var result = Converted()
            var position = 0
            while position < end {
                let lengths = 1...min(4, end - position)
                let found = lengths.lazy.compactMap { length in
                    String(bytes: whole[position..<position + length], encoding: self.encoding).map { ($0, length) }
                }.first
                if let (text, length) = found {
                    result.text += Array(text.utf8)
                    position += length
                    continue
                }
                if let scalar = exceptions[whole[position]] {
                    result.text += Array(String(scalar).utf8)
                } else {
                    result.text += Self.replacement
                    result.isMalformed = true
                }
                position += 1
            }
            return result
        }
    #endif
}
