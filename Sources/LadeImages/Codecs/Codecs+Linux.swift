#if os(Linux)
    import CImageCodecs

    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif

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
            var job = lade_image_job()
            (job.width, job.height) = (UInt32(header.width), UInt32(header.height))
            (job.outWidth, job.outHeight) = (UInt32(width), UInt32(height))
            var status = Int32(LADE_IMAGE_CORRUPT.rawValue)
            let size = width * height * 4
            // The codec writes directly into the array. On success it has written every byte; on failure the array is
            // not used.
            let bytes = [UInt8](unsafeUninitializedCapacity: size) { pixels, count in
                data.withUnsafeBytes { source in
                    job.bytes = source.bindMemory(to: UInt8.self).baseAddress
                    job.count = source.count
                    job.pixels = pixels.baseAddress
                    switch header.format {
                    case .png: status = lade_decode_png(&job)
                    case .jpeg: status = lade_decode_jpeg(&job)
                    case .webP: status = lade_decode_webp(&job)
                    }
                }
                count = status == Int32(LADE_IMAGE_DECODED.rawValue) ? size : 0
            }
            switch lade_image_status(UInt32(status)) {
            case LADE_IMAGE_DECODED: return Bitmap(width: width, height: height, checked: bytes)
            case LADE_IMAGE_TRUNCATED: throw .truncated(header.format)
            case LADE_IMAGE_UNSUPPORTED: throw .unsupported(header.format, text(of: job))
            case LADE_IMAGE_NO_MEMORY: throw .outOfMemory(header.format)
            default: throw .corrupt(header.format, text(of: job))
            }
        }

        private static func text(of job: lade_image_job) -> String {
            withUnsafeBytes(of: job.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
    }
#endif
