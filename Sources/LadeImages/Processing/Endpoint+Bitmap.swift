public import Lade

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Decodes a bitmap from the body; bytes that are not an image are an error.
///
/// ``Endpoint/bitmap(_:)`` returns nil instead of the error.
package struct BitmapProcessor: Service.Processor {
    private let decoder: ImageDecoder

    /// Makes a processor from a decoder.
    package init(_ decoder: ImageDecoder = ImageDecoder()) {
        self.decoder = decoder
    }

    /// Decodes the bitmap.
    ///
    /// - Throws: An ``ImageError``.
    package func process(_ input: Data, of response: Response) throws -> Bitmap {
        try decoder.decode(input)
    }
}

extension Service.ImageProcessor where Image == Bitmap {
    /// Makes a processor that returns nil for bytes that are not an image or exceed a limit: the call then succeeds
    /// without a value.
    package init(_ decoder: ImageDecoder) {
        self.init { data in try decoder.decode(data) }
    }
}

extension Endpoint where Value == Data {
    /// The endpoint with a bitmap; nil for bytes that are not an image or exceed a limit.
    ///
    /// - Parameter decoder: The decoder, with its limits and the maximum size of the bitmap.
    /// - Returns: The changed copy.
    public func bitmap(_ decoder: ImageDecoder = ImageDecoder()) -> Endpoint<Bitmap?> {
        processing(with: Service.ImageProcessor(decoder))
    }

    /// The endpoint with a bitmap; anything else fails with a decoding error whose cause is an ``ImageError``.
    ///
    /// - Parameter decoder: The decoder, with its limits and the maximum size of the bitmap.
    /// - Returns: The changed copy.
    public func requiredBitmap(_ decoder: ImageDecoder = ImageDecoder()) -> Endpoint<Bitmap> {
        processing(with: BitmapProcessor(decoder))
    }
}
