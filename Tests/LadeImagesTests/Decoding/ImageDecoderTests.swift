#if os(Linux)
    import Foundation
    import LadeCore
    import LadeImages
    import Testing

    @Suite(.timeLimit(.minutes(5)))
    struct ImageDecoderTests {
        @Test("decodes every kind of file to the picture it was made of", arguments: Sample.allCases)
        func decodes(sample: Sample) throws {
            let picture = sample.picture(61, 47)

            let bitmap = try ImageDecoder().decode(sample.file(picture))

            #expect(bitmap.width == 61 && bitmap.height == 47 && bitmap.rowStride == 244)
            let apart = distance(bitmap, picture)
            #expect(sample.isExact ? bitmap == picture : apart.mean < 3 && apart.most < 32, "\(apart)")
        }

        @Test("reads format and size of every kind without decoding", arguments: Sample.allCases)
        func readsHeaders(sample: Sample) throws {
            let file = sample.file(sample.picture(300, 7))

            let header = try ImageHeader(of: file)

            #expect(header.format == sample.format && header.width == 300 && header.height == 7)
            #expect(ImageFormat(of: file) == sample.format)
        }

        @Test("a slice of data is decoded like data of its own", arguments: [Sample.png, .jpeg, .webPLossy])
        func decodesSlices(sample: Sample) throws {
            let file = sample.file(sample.picture(20, 10))

            let slice = (Data([1, 2, 3]) + file).dropFirst(3)

            #expect(try ImageDecoder().decode(slice) == ImageDecoder().decode(file))
        }

        @Test("one pixel is an image", arguments: Sample.allCases)
        func decodesOnePixel(sample: Sample) throws {
            let bitmap = try ImageDecoder(maximumPixelSize: 1).decode(sample.file(sample.picture(1, 1)))

            #expect(bitmap.width == 1 && bitmap.height == 1)
        }

        // MARK: - Smaller

        @Test(
            "keeps the proportions of what it makes smaller, and leaves small images alone",
            arguments: [
                (80, 60, 20, 20, 15), (60, 80, 20, 15, 20), (50, 40, 100, 50, 40), (20, 8, 20, 20, 8),
                (10, 80, 20, 3, 20), (2, 80, 20, 1, 20), (37, 23, 0, 1, 1), (97, 61, 64, 64, 40),
            ]
        )
        func scales(width: Int, height: Int, maximum: Int, newWidth: Int, newHeight: Int) throws {
            for sample in Sample.allCases {
                let file = sample.file(sample.picture(width, height))

                let bitmap = try ImageDecoder(maximumPixelSize: maximum).decode(file)

                #expect(bitmap.width == newWidth && bitmap.height == newHeight, "\(sample)")
            }
        }

        @Test("a smaller image looks like the larger one averaged", arguments: Sample.allCases)
        func averages(sample: Sample) throws {
            let picture = sample.picture(97, 61)

            let bitmap = try ImageDecoder(maximumPixelSize: 40).decode(sample.file(picture))

            let expected = averaged(picture, 40, 25)
            let apart = distance(bitmap, expected)
            // For PNG it is exact except for halves, which the two methods may round differently.
            #expect(sample.format == .png ? apart.most <= 1 : apart.mean < 4 && apart.most < 40, "\(apart)")
        }

        @Test("what cannot be seen does not bleed into what can")
        func weighsAlpha() throws {
            let picture = try #require(
                Bitmap(width: 2, height: 1, bytes: [255, 0, 0, 255, 0, 255, 0, 0])
            )

            let bitmap = try ImageDecoder(maximumPixelSize: 1).decode(Sample.png.file(picture))

            #expect(bitmap[0, 0] == Bitmap.Pixel(red: 255, green: 0, blue: 0, alpha: 128))
        }

        // MARK: - Bitmaps

        @Test("a bitmap needs exactly as many bytes as its size")
        func checksBytes() {
            #expect(Bitmap(width: 2, height: 1, bytes: Array(repeating: 0, count: 8)) != nil)
            #expect(Bitmap(width: 2, height: 1, bytes: Array(repeating: 0, count: 9)) == nil)
            #expect(Bitmap(width: 3, height: 1, bytes: Array(repeating: 0, count: 8)) == nil)
            #expect(Bitmap(width: 2, height: 1, bytes: Array(repeating: 0, count: 12)) == nil)
            #expect(Bitmap(width: 0, height: 0, bytes: []) == nil)
            #expect(Bitmap(width: .max, height: .max, bytes: []) == nil)
        }
    }
#endif
