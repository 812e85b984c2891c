/// A decoded image: rows of pixels of red, green, blue and alpha, a byte each.
///
/// Rows go from top to bottom, pixels from left to right. Alpha is straight: colours are not multiplied by it. Colours are
/// as the file has them, in practice sRGB; profiles and the orientation that cameras note down are not applied.
public struct Bitmap: Sendable, Hashable {
    /// How many pixels a row has; at least 1.
    public let width: Int
    /// How many rows there are; at least 1.
    public let height: Int
    /// How many bytes there are from the beginning of a row to that of the next; four times the width.
    public let rowStride: Int
    /// The pixels, ``height`` × ``rowStride`` bytes.
    public let bytes: [UInt8]

    /// Makes a bitmap of pixels that are at hand; nil when their number does not fit the sides, or a side is below 1.
    ///
    /// - Parameters:
    ///   - width: Pixels of a row.
    ///   - height: Rows.
    ///   - bytes: The pixels without gaps between rows, `width` × `height` × 4 bytes.
    public init?(width: Int, height: Int, bytes: [UInt8]) {
        guard width > 0, height > 0, bytes.count.isMultiple(of: 4), bytes.count / 4 / width == height,
            bytes.count / 4 % width == 0
        else { return nil }
        self.init(width: width, height: height, checked: bytes)
    }

    /// Makes a bitmap of as many bytes as it needs, which the caller has seen to.
    init(width: Int, height: Int, checked bytes: [UInt8]) {
        self.width = width
        self.height = height
        rowStride = width * 4
        self.bytes = bytes
    }

    /// One pixel.
    public struct Pixel: Sendable, Hashable {
        /// Red, from 0 to 255.
        public var red: UInt8
        /// Green, from 0 to 255.
        public var green: UInt8
        /// Blue, from 0 to 255.
        public var blue: UInt8
        /// How much of it covers what is behind, from 0 (nothing) to 255 (all).
        public var alpha: UInt8

        /// Makes a pixel; opaque unless told otherwise.
        public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
            self.red = red
            self.green = green
            self.blue = blue
            self.alpha = alpha
        }
    }

    /// The pixel in a column from the left and a row from the top, both from 0; traps outside the bitmap.
    public subscript(column: Int, row: Int) -> Pixel {
        precondition((0..<width).contains(column) && (0..<height).contains(row), "pixel outside the bitmap")
        let start = row * rowStride + column * 4
        return Pixel(red: bytes[start], green: bytes[start + 1], blue: bytes[start + 2], alpha: bytes[start + 3])
    }
}

extension Bitmap: CustomStringConvertible {
    /// Its size, without the pixels.
    public var description: String { "bitmap of \(width) × \(height) pixels" }
}
