#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The format and size of an image, read from the beginning of its file without a codec.
///
/// For PNG and WebP a few dozen bytes suffice; in a JPEG the size comes after embedded profiles and previews.
public struct ImageHeader: Sendable, Hashable {
    /// The format by the first bytes.
    public let format: ImageFormat
    /// How many pixels a row has; at least 1.
    public let width: Int
    /// How many rows there are; at least 1.
    public let height: Int

    /// Reads the header.
    ///
    /// - Parameter data: An image file, or enough of its beginning.
    /// - Throws: ``ImageError/unknownFormat``, ``ImageError/truncated(_:)`` when the data end before the size,
    ///   ``ImageError/corrupt(_:_:)`` or ``ImageError/unsupported(_:_:)``.
    public init(of data: Data) throws(ImageError) {
        guard let format = ImageFormat(of: data) else { throw .unknownFormat }
        let reader = HeaderReader(data: data, format: format)
        let size: (width: Int, height: Int)
        switch format {
        case .png: size = try Self.sizeOfPNG(reader)
        case .jpeg: size = try Self.sizeOfJPEG(reader)
        case .webP: size = try Self.sizeOfWebP(reader)
        }
        guard size.width > 0, size.height > 0 else { throw .corrupt(format, "a side of it is 0") }
        self.format = format
        (width, height) = size
    }

    // The first chunk is IHDR; PNG, third edition, §11.2.1.
    private static func sizeOfPNG(_ reader: HeaderReader) throws(ImageError) -> (width: Int, height: Int) {
        guard try reader.text(at: 12) == Array("IHDR".utf8) else {
            throw .corrupt(.png, "its first chunk is not IHDR")
        }
        let (width, height) = (try reader.bigEndian32(at: 16), try reader.bigEndian32(at: 20))
        guard width <= Int(Int32.max), height <= Int(Int32.max) else { throw .corrupt(.png, "a side is negative") }
        return (width, height)
    }

    // Segments up to the frame header (ITU-T T.81 §B.1.1, B.2.2). Bytes between them are skipped, as libjpeg does.
    private static func sizeOfJPEG(_ reader: HeaderReader) throws(ImageError) -> (width: Int, height: Int) {
        var offset = 2
        while true {
            while try reader.byte(at: offset) != 0xFF { offset += 1 }
            while try reader.byte(at: offset) == 0xFF { offset += 1 }
            let marker = try reader.byte(at: offset)
            offset += 1
            switch marker {
            case 0x00, 0x01, 0xD0...0xD7:
                // A stuffed byte, a private marker and restarts have no length.
                continue
            case 0xD9, 0xDA:
                throw .corrupt(.jpeg, "its pixels come before its size")
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                let height = try reader.bigEndian16(at: offset + 3)
                let width = try reader.bigEndian16(at: offset + 5)
                guard height > 0 else { throw .unsupported(.jpeg, "its height follows its pixels") }
                return (width, height)
            default:
                let length = try reader.bigEndian16(at: offset)
                guard length >= 2 else { throw .corrupt(.jpeg, "a segment has no length") }
                offset += length
            }
        }
    }

    // The first chunk contains the size (RFC 9649 §2.5–2.7, RFC 6386 §9.1).
    private static func sizeOfWebP(_ reader: HeaderReader) throws(ImageError) -> (width: Int, height: Int) {
        let kind = try reader.text(at: 12)
        if kind == Array("VP8X".utf8) {
            guard try reader.byte(at: 20) & 0x02 == 0 else { throw .unsupported(.webP, "it is an animation") }
            return (try reader.littleEndian(at: 24, count: 3) + 1, try reader.littleEndian(at: 27, count: 3) + 1)
        }
        if kind == Array("VP8L".utf8) {
            guard try reader.byte(at: 20) == 0x2F else { throw .corrupt(.webP, "its signature is wrong") }
            let bits = try reader.littleEndian(at: 21, count: 4)
            return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        }
        guard kind == Array("VP8 ".utf8) else { throw .corrupt(.webP, "its first chunk has no size") }
        guard try reader.littleEndian(at: 23, count: 3) == 0x2A019D else {
            throw .corrupt(.webP, "it does not begin with a whole frame")
        }
        // The upper two bits of each are a scaling hint.
        return (
            try reader.littleEndian(at: 26, count: 2) & 0x3FFF, try reader.littleEndian(at: 28, count: 2) & 0x3FFF
        )
    }
}

/// Reads numbers at offsets of the data.
///
/// An offset beyond the end means a truncated image.
private struct HeaderReader {
    let data: Data
    let format: ImageFormat

    func byte(at offset: Int) throws(ImageError) -> UInt8 {
        guard offset < data.count else { throw .truncated(format) }
        return data[data.startIndex + offset]
    }

    func text(at offset: Int) throws(ImageError) -> [UInt8] {
        guard offset + 4 <= data.count else { throw .truncated(format) }
        return Array(data[data.startIndex + offset..<data.startIndex + offset + 4])
    }

    func littleEndian(at offset: Int, count: Int) throws(ImageError) -> Int {
        var value = 0
        for index in (0..<count).reversed() { value = value << 8 | Int(try byte(at: offset + index)) }
        return value
    }

    func bigEndian16(at offset: Int) throws(ImageError) -> Int {
        Int(try byte(at: offset)) << 8 | Int(try byte(at: offset + 1))
    }

    func bigEndian32(at offset: Int) throws(ImageError) -> Int {
        try bigEndian16(at: offset) << 16 | bigEndian16(at: offset + 2)
    }
}
