/// A decoded image: rows of pixels with red, green, blue and alpha, one byte each.
///
/// Rows go from top to bottom, pixels from left to right. Alpha is straight: colours are not multiplied by it. Colours
/// are as in the file, in practice sRGB; colour profiles and the orientation in camera metadata are not applied.
public struct Bitmap: Sendable, Hashable {
    /// How many pixels a row has; at least 1.
    public let width: Int
    /// How many rows there are; at least 1.
    public let height: Int
    /// The distance in bytes between the beginnings of two rows; four times the width.
    public let rowStride: Int
    /// The pixels, ``height`` × ``rowStride`` bytes.
    public let bytes: [UInt8]

    /// Makes a bitmap from existing pixels; nil when their number does not match the size, or a side is below 1.
    ///
    /// - Parameters:
    ///   - width: The number of pixels in a row.
    ///   - height: The number of rows.
    ///   - bytes: The pixels without gaps between rows, `width` × `height` × 4 bytes.
    public init?(width: Int, height: Int, bytes: [UInt8]) {
        guard width > 0, height > 0, bytes.count.isMultiple(of: 4), bytes.count / 4 / width == height,
            bytes.count / 4 % width == 0
        else { return nil }
        self.init(width: width, height: height, checked: bytes)
    }

    /// Makes a bitmap from bytes whose number the caller has checked.
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
        /// The opacity, from 0 (transparent) to 255 (opaque).
        public var alpha: UInt8

        /// Makes a pixel; opaque by default.
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
