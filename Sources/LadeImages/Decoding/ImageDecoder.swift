#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Decodes PNG, JPEG and WebP files to bitmaps: with libpng, libjpeg-turbo and libwebp on Linux, with ImageIO
/// elsewhere.
///
/// ```swift
/// let thumbnail = try ImageDecoder(maximumPixelSize: 320).decode(data)
/// ```
///
/// The size is read from the header and compared with the limits before a codec sees a byte. A decoder is a value
/// without state and can be used by any number of threads.
public struct ImageDecoder: Sendable, Hashable {
    /// The limits on the cost of an image.
    public struct Limits: Sendable, Hashable {
        /// The maximum number of pixels in the file; 50 million by default, at most 2³¹.
        ///
        /// A bitmap takes four bytes per pixel. Interlaced PNG and progressive JPEG need memory for the whole image
        /// during decoding (at most four and six bytes per pixel).
        public var pixels: Int
        /// The maximum size of the file in bytes; 64 MiB by default.
        public var bytes: Int

        /// Makes limits.
        public init(pixels: Int = 50_000_000, bytes: Int = 64 << 20) {
            self.pixels = pixels
            self.bytes = bytes
        }
    }

    /// The limits on the cost of an image; checked before decoding.
    public var limits: Limits

    /// The maximum length of the bitmap's longer side; nil, the default, keeps the size of the image.
    ///
    /// A larger image is scaled down during decoding, with its proportions kept to the nearest pixel; a smaller one
    /// keeps its size. Scaling down reduces the memory for every format, and the time for JPEG: a tenth of the size
    /// takes a third of the time. Values below 1 count as 1.
    public var maximumPixelSize: Int?

    /// Makes a decoder.
    public init(limits: Limits = Limits(), maximumPixelSize: Int? = nil) {
        self.limits = limits
        self.maximumPixelSize = maximumPixelSize
    }

    /// Decodes an image.
    ///
    /// It runs on the calling thread. A photograph of 12 million pixels took 0.07 s as JPEG, 0.2 s as PNG and 0.3 s as
    /// WebP. A PNG or JPEG with all its pixels is accepted even if its end mark is missing.
    ///
    /// - Parameter data: The bytes of the whole file.
    /// - Returns: The bitmap.
    /// - Throws: An ``ImageError``; there are no partial images.
    public func decode(_ data: Data) throws(ImageError) -> Bitmap {
        guard data.count <= limits.bytes else { throw .tooManyBytes(data.count, limit: limits.bytes) }
        let header = try ImageHeader(of: data)
        // Below 2^31 pixels no sum in the codecs or here can overflow.
        let limit = min(limits.pixels, 1 << 31)
        let (pixels, isTooLarge) = header.width.multipliedReportingOverflow(by: header.height)
        guard !isTooLarge, pixels <= limit else {
            throw .tooManyPixels(width: header.width, height: header.height, limit: limit)
        }
        // Each row costs time of its own, however short it is: 50 million rows of one pixel took 2.4 s, interlaced 4.8 s.
        guard max(header.width, header.height) <= Self.sideLimit else {
            throw .unsupported(header.format, "a side is longer than \(Self.sideLimit) pixels")
        }
        let size = Self.size(of: header, within: maximumPixelSize)
        return try Codecs.decode(data, header: header, width: size.width, height: size.height)
    }

    /// The maximum length of a side; only PNG can have longer ones.
    private static let sideLimit = 1 << 20

    /// The size after scaling: 4000 × 3000 within 1000 is 1000 × 750; 10 × 4000 within 100 is 1 × 100.
    static func size(of header: ImageHeader, within maximum: Int?) -> (width: Int, height: Int) {
        let longer = max(header.width, header.height)
        guard let maximum = maximum.map({ max($0, 1) }), longer > maximum else { return (header.width, header.height) }
        func scaled(_ side: Int) -> Int { max(1, (side * maximum + longer / 2) / longer) }
        return (scaled(header.width), scaled(header.height))
    }
}
