/// Why bytes did not become a bitmap.
@nonexhaustive
public enum ImageFault: Error, Sendable, Hashable {
    /// The first bytes are those of no format that is read here.
    case unknownFormat
    /// There are more bytes than ``ImageDecoder/Limits/bytes`` allows; nothing was read.
    case tooManyBytes(Int, limit: Int)
    /// The header tells more pixels than ``ImageDecoder/Limits/pixels`` allows; nothing was decoded.
    case tooManyPixels(width: Int, height: Int, limit: Int)
    /// The bytes end before the image does.
    case truncated(ImageFormat)
    /// The bytes contradict the format; the text is the codec's.
    case corrupt(ImageFormat, String)
    /// The image is of a kind that is not read, as an animation.
    case unsupported(ImageFormat, String)
    /// The codec got no memory for what it keeps besides the pixels.
    case outOfMemory(ImageFormat)
}

extension ImageFault: CustomStringConvertible {
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
