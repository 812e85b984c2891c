#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A format of image files that ``ImageDecoder`` reads.
@nonexhaustive
public enum ImageFormat: String, Sendable, Hashable, CaseIterable {
    /// Portable Network Graphics (RFC 2083 and its third edition).
    ///
    /// The default image of an animation is decoded.
    case png = "PNG"
    /// JPEG as libjpeg reads it: baseline and progressive, grey, colour and CMYK, 8 bits per sample.
    case jpeg = "JPEG"
    /// WebP, lossy and lossless, without animations (RFC 9649).
    case webP = "WebP"

    /// The format by the first bytes, independently of name and `Content-Type`; nil for any other format.
    public init?(of data: Data) {
        if data.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if data.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if data.starts(with: Array("RIFF".utf8)), data.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            self = .webP
        } else {
            return nil
        }
    }

    /// The media type, such as `image/png`.
    public var mediaType: String {
        switch self {
        case .png: "image/png"
        case .jpeg: "image/jpeg"
        case .webP: "image/webp"
        }
    }
}

extension ImageFormat: CustomStringConvertible {
    /// Its usual name.
    public var description: String { rawValue }
}
