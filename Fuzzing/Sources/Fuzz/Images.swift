import LadeImages

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Target {
    /// An image file, as it is and made smaller.
    static let images = Target(name: "images") { bytes in
        let file = Data(bytes)
        var decoder = ImageDecoder(limits: .init(pixels: 1 << 20))
        let whole = try? decoder.decode(file)
        decoder.maximumPixelSize = 5
        let small = try? decoder.decode(file)
        guard let whole else { return }
        expect(whole.bytes.count == whole.height * whole.rowStride, "bytes are missing")
        expect(whole.width * whole.height <= 1 << 20, "there are more pixels than allowed")
        guard let header = try? ImageHeader(of: file) else { fatalError("an image without a header was decoded") }
        expect(header.width == whole.width && header.height == whole.height, "the header has another size")
        if let small { expect(max(small.width, small.height) <= 5, "it is not small") }
    }
}
