#if canImport(ImageIO)
    import CoreGraphics
    import Foundation
    import ImageIO

    /// The codecs of the platform.
    enum Codecs {
        /// Decodes an image whose header was read and is within the limits.
        ///
        /// - Parameters:
        ///   - data: The file.
        ///   - header: The header of the file.
        ///   - width: The width of the bitmap, at most the width of the image.
        ///   - height: The height of the bitmap, at most the height of the image.
        /// - Returns: The bitmap.
        /// - Throws: The error of the codec.
        static func decode(
            _ data: Data,
            header: ImageHeader,
            width: Int,
            height: Int
        ) throws(ImageError) -> Bitmap {
            let none = [kCGImageSourceShouldCache: false] as CFDictionary
            guard let source = CGImageSourceCreateWithData(data as CFData, none), CGImageSourceGetCount(source) > 0
            else { throw .corrupt(header.format, "ImageIO finds no image in it") }
            switch CGImageSourceGetStatusAtIndex(source, 0) {
            case .statusComplete: break
            case .statusUnexpectedEOF, .statusIncomplete, .statusReadingHeader: throw .truncated(header.format)
            default: throw .corrupt(header.format, "ImageIO cannot read it")
            }
            let isSmaller = width < header.width || height < header.height
            let options: [CFString: Any] = [
                kCGImageSourceCreateThumbnailFromImageAlways: true,
                kCGImageSourceThumbnailMaxPixelSize: max(width, height),
                kCGImageSourceCreateThumbnailWithTransform: false,
            ]
            let made =
                isSmaller
                ? CGImageSourceCreateThumbnailAtIndex(source, 0, options as CFDictionary)
                : CGImageSourceCreateImageAtIndex(source, 0, none)
            guard let image = made else { throw .corrupt(header.format, "ImageIO cannot decode it") }
            return try draw(image, format: header.format, width: width, height: height)
        }

        private static func draw(
            _ image: CGImage,
            format: ImageFormat,
            width: Int,
            height: Int
        ) throws(ImageError) -> Bitmap {
            var bytes = [UInt8](repeating: 0, count: width * height * 4)
            let isDrawn = bytes.withUnsafeMutableBytes { pixels in
                guard let space = CGColorSpace(name: CGColorSpace.sRGB),
                    let context = CGContext(
                        data: pixels.baseAddress,
                        width: width,
                        height: height,
                        bitsPerComponent: 8,
                        bytesPerRow: width * 4,
                        space: space,
                        bitmapInfo: CGImageAlphaInfo.premultipliedLast.rawValue
                    )
                else { return false }
                context.draw(image, in: CGRect(x: 0, y: 0, width: width, height: height))
                return true
            }
            guard isDrawn else { throw .outOfMemory(format) }
            // A context draws only premultiplied colours.
            for start in stride(from: 0, to: bytes.count, by: 4) where bytes[start + 3] != 255 {
                let alpha = Int(bytes[start + 3])
                for channel in start..<start + 3 {
                    bytes[channel] = alpha == 0 ? 0 : UInt8(min(255, (Int(bytes[channel]) * 255 + alpha / 2) / alpha))
                }
            }
            return Bitmap(width: width, height: height, checked: bytes)
        }
    }
#endif
