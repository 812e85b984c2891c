#if os(Linux)
    import CImageSamples
    import Foundation
    import LadeImages

    /// Images made for the tests.
    enum Sample: String, CaseIterable, Sendable {
        case png, pngInterlaced, pngRGB, pngGray, pngPalette, png16, png16Interlaced
        case jpeg, jpegGray, jpegInks, jpegProgressive
        case webPLossless, webPLossy

        var format: ImageFormat {
            if rawValue.hasPrefix("png") { return .png }
            return rawValue.hasPrefix("jpeg") ? .jpeg : .webP
        }

        var isExact: Bool { format == .png || self == .webPLossless }

        /// Whether it has one channel, so that only grey pictures keep their colours.
        var isGray: Bool { [.pngGray, .pngPalette, .jpegGray].contains(self) }

        var hasAlpha: Bool { format != .jpeg && !isGray && self != .pngRGB }

        /// The file of a picture.
        func file(_ picture: Bitmap) -> Data {
            let (pixels, width, height) = (picture.bytes, Int32(picture.width), Int32(picture.height))
            var count = 0
            let png = { (kind: lade_sample_png, isInterlaced: Bool) in
                lade_sample_png(pixels, width, height, kind, isInterlaced ? 1 : 0, &count)
            }
            let jpeg = { (kind: lade_sample_jpeg) in lade_sample_jpeg(pixels, width, height, kind, 95, &count) }
            let bytes =
                switch self {
                case .png: png(LADE_PNG_RGBA, false)
                case .pngInterlaced: png(LADE_PNG_RGBA, true)
                case .pngRGB: png(LADE_PNG_RGB, false)
                case .pngGray: png(LADE_PNG_GRAY, false)
                case .pngPalette: png(LADE_PNG_PALETTE, false)
                case .png16: png(LADE_PNG_RGBA16, false)
                case .png16Interlaced: png(LADE_PNG_RGBA16, true)
                case .jpeg: jpeg(LADE_JPEG_RGB)
                case .jpegGray: jpeg(LADE_JPEG_GRAY)
                case .jpegInks: jpeg(LADE_JPEG_CMYK)
                case .jpegProgressive: jpeg(LADE_JPEG_PROGRESSIVE)
                case .webPLossless: lade_sample_webp(pixels, width, height, 1, &count)
                case .webPLossy: lade_sample_webp(pixels, width, height, 0, &count)
                }
            defer { free(bytes) }
            return Data(bytes: made(bytes), count: count)
        }

        /// A smooth picture that this kind of file can hold.
        func picture(_ width: Int, _ height: Int) -> Bitmap {
            var bytes: [UInt8] = []
            for row in 0..<height {
                for column in 0..<width {
                    let red = UInt8(column * 255 / max(width - 1, 1))
                    let green = isGray ? red : UInt8(row * 255 / max(height - 1, 1))
                    let blue = isGray ? red : UInt8((column + row) * 255 / max(width + height - 2, 1))
                    // Never fully transparent: WebP discards the colours of invisible pixels.
                    bytes += [red, green, blue, hasAlpha ? 255 - green / 2 : 255]
                }
            }
            return made(Bitmap(width: width, height: height, bytes: bytes))
        }
    }

    /// The results that an encoder or initialiser made from the tests' values.
    private func made<Value>(_ value: Value?) -> Value {
        guard let value else { preconditionFailure("a sample could not be made") }
        return value
    }

    /// The difference of two bitmaps of one size, in levels of a channel: the mean and the maximum.
    func distance(_ first: Bitmap, _ second: Bitmap) -> (mean: Double, most: Int) {
        let differences = zip(first.bytes, second.bytes).map { abs(Int($0) - Int($1)) }
        return (Double(differences.reduce(0, +)) / Double(differences.count), differences.max() ?? 0)
    }

    /// The picture scaled down by definition: each new pixel is the mean of its area, weighted by alpha.
    func averaged(_ picture: Bitmap, _ width: Int, _ height: Int) -> Bitmap {
        func overlap(_ index: Int, _ count: Int, _ made: Int, _ old: Int) -> Double {
            let scale = Double(old) / Double(made)
            let (start, end) = (Double(index) * scale, Double(index + 1) * scale)
            return max(0, min(end, Double(count + 1)) - max(start, Double(count)))
        }
        var bytes: [UInt8] = []
        for row in 0..<height {
            for column in 0..<width {
                var (colors, visible, area) = ([0.0, 0.0, 0.0], 0.0, 0.0)
                for y in 0..<picture.height {
                    let tall = overlap(row, y, height, picture.height)
                    for x in 0..<picture.width where tall > 0 {
                        let weight = tall * overlap(column, x, width, picture.width)
                        guard weight > 0 else { continue }
                        let pixel = picture[x, y]
                        let seen = weight * Double(pixel.alpha)
                        colors[0] += seen * Double(pixel.red)
                        colors[1] += seen * Double(pixel.green)
                        colors[2] += seen * Double(pixel.blue)
                        visible += seen
                        area += weight
                    }
                }
                bytes += colors.map { visible == 0 ? 0 : UInt8(($0 / visible).rounded()) }
                bytes.append(UInt8((visible / area).rounded()))
            }
        }
        return made(Bitmap(width: width, height: height, bytes: bytes))
    }
#endif
