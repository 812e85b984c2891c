#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Lade

/// Why an image could not be decoded.
@nonexhaustive
public enum ImageError: Error, Sendable, Hashable {
    /// The first bytes match no supported format.
    case unknownFormat
    /// The file is larger than ``ImageDecoder/Limits/bytes``; nothing was read.
    case tooManyBytes(Int, limit: Int)
    /// The header states more pixels than ``ImageDecoder/Limits/pixels``; nothing was decoded.
    case tooManyPixels(width: Int, height: Int, limit: Int)
    /// The bytes end before the image does.
    case truncated(ImageFormat)
    /// The bytes contradict the format; the text comes from the codec.
    case corrupt(ImageFormat, String)
    /// The image is of an unsupported kind, such as an animation.
    case unsupported(ImageFormat, String)
    /// The codec could not allocate its working memory.
    case outOfMemory(ImageFormat)
}

extension ImageError: CustomStringConvertible {
    /// One plain clause.
    public var description: String {
        switch self {
        case .unknownFormat: "the bytes are no PNG, JPEG or WebP image"
        case .tooManyBytes(let count, let limit): "the image has \(count) bytes, more than \(limit)"
        case .tooManyPixels(let width, let height, let limit):
            "the image has \(width) × \(height) pixels, more than \(limit) in all"
        case .truncated(let format): "the \(format) image ends early"
        case .corrupt(let format, let reason): "the \(format) image is broken: \(reason)"
        case .unsupported(let format, let reason): "the \(format) image cannot be read: \(reason)"
        case .outOfMemory(let format): "there is no memory to decode the \(format) image"
        }
    }
}

extension ImageError: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var localizedDescription: String { description.asSentence }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}
