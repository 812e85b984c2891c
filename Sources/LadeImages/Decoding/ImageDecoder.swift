#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Makes bitmaps of PNG, JPEG and WebP files: by libpng, libjpeg-turbo and libwebp on Linux, by ImageIO elsewhere.
///
/// ```swift
/// let thumbnail = try ImageDecoder(maximumPixelSize: 320).decode(data)
/// ```
///
/// The size is read from the header and compared with the limits before a codec sees a byte. A decoder is a value without
/// state; any number of threads can use one.
public struct ImageDecoder: Sendable, Hashable {
    /// What an image may cost.
    public struct Limits: Sendable, Hashable {
        /// The most pixels, before making smaller; 50 million by default, 2³¹ at the most.
        ///
        /// A bitmap has four bytes a pixel, and interlaced PNG and progressive JPEG are held whole while they are decoded
        /// (four and six bytes a pixel at the most).
        public var pixels: Int
        /// The most bytes of the file; 64 MiB by default.
        public var bytes: Int

        /// Makes limits.
        public init(pixels: Int = 50_000_000, bytes: Int = 64 << 20) {
            self.pixels = pixels
            self.bytes = bytes
        }
    }

    /// What an image may cost; checked before decoding.
    public var limits: Limits

    /// How long the longer side of the bitmap may be; nil, the default, leaves images as large as they are.
    ///
    /// A larger image is made smaller while it is decoded, its proportions kept to the nearest pixel; a smaller one stays
    /// as it is. Every format then costs less memory, and JPEG less time: a third for a tenth of the size. Values below 1
    /// count as 1.
    public var maximumPixelSize: Int?

    /// Makes a decoder.
    public init(limits: Limits = Limits(), maximumPixelSize: Int? = nil) {
        self.limits = limits
        self.maximumPixelSize = maximumPixelSize
    }

    /// Decodes an image.
    ///
    /// Runs on the calling thread until done: for a photograph of 12 million pixels that was 0.07 s as JPEG, 0.2 s as PNG
    /// and 0.3 s as WebP. A PNG or JPEG whose pixels are all there is whole, even when its end mark is not.
    ///
    /// - Parameter data: The whole file.
    /// - Returns: The bitmap.
    /// - Throws: An ``ImageFault``; there are no partial images.
    public func decode(_ data: Data) throws(ImageFault) -> Bitmap {
        guard data.count <= limits.bytes else { throw .tooManyBytes(data.count, limit: limits.bytes) }
        let header = try ImageHeader(of: data)
        // Below 2^31 pixels no sum of a codec or of ours can overflow.
        let limit = min(limits.pixels, 1 << 31)
        let (pixels, isTooLarge) = header.width.multipliedReportingOverflow(by: header.height)
        guard !isTooLarge, pixels <= limit else {
            throw .tooManyPixels(width: header.width, height: header.height, limit: limit)
        }
        let size = Self.size(of: header, within: maximumPixelSize)
        return try Codecs.decode(data, header: header, width: size.width, height: size.height)
    }

    /// The size after making smaller: 4000 × 3000 within 1000 is 1000 × 750; 10 × 4000 within 100 is 1 × 100.
    static func size(of header: ImageHeader, within maximum: Int?) -> (width: Int, height: Int) {
        let longer = max(header.width, header.height)
        guard let maximum = maximum.map({ max($0, 1) }), longer > maximum else { return (header.width, header.height) }
        func scaled(_ side: Int) -> Int { max(1, (side * maximum + longer / 2) / longer) }
        return (scaled(header.width), scaled(header.height))
    }
}
