public import Lade

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Makes a bitmap of the body; bytes that are no image are an error.
///
/// The lenient one, for which they are no value, is `ImageProcessor(ImageDecoder())`.
public struct BitmapProcessor: ResponseProcessor {
    private let decoder: ImageDecoder

    /// Makes a processor of a decoder.
    public init(_ decoder: ImageDecoder = ImageDecoder()) {
        self.decoder = decoder
    }

    /// Makes the bitmap.
    ///
    /// - Throws: An ``ImageFault``.
    public func process(_ input: Data, of response: Response) throws -> Bitmap {
        try decoder.decode(input)
    }
}

extension ImageProcessor where Image == Bitmap {
    /// Makes a processor whose value is nil for bytes that are no image or pass a limit: the call succeeds without one.
    ///
    /// Source: brief `bbc-httpclient.txt`, `client-decorators-processors.md` §7.3, CD-25.
    public init(_ decoder: ImageDecoder) {
        self.init { data in try decoder.decode(data) }
    }
}

extension Endpoint where Value == Data {
    /// The endpoint whose value is a bitmap; nil for bytes that are no image or pass a limit.
    ///
    /// - Parameter decoder: Its limits, and how large the bitmap is to be.
    /// - Returns: The changed copy.
    public func bitmap(_ decoder: ImageDecoder = ImageDecoder()) -> Endpoint<Bitmap?> {
        processing(with: ImageProcessor(decoder))
    }

    /// The endpoint whose value is a bitmap; anything else fails with a decoding error whose cause is an ``ImageFault``.
    ///
    /// - Parameter decoder: Its limits, and how large the bitmap is to be.
    /// - Returns: The changed copy.
    public func requiredBitmap(_ decoder: ImageDecoder = ImageDecoder()) -> Endpoint<Bitmap> {
        processing(with: BitmapProcessor(decoder))
    }
}
