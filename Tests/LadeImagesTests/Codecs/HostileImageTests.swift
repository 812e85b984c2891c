#if os(Linux)
    import Foundation
    import LadeCore
    import LadeImages
    import Testing

    /// Files that are corrupt, or made to attack decoders.
    @Suite(.timeLimit(.minutes(5)))
    struct HostileImageTests {
        private func fault(_ data: Data, _ decoder: ImageDecoder = ImageDecoder()) -> ImageError? {
            do throws(ImageError) {
                _ = try decoder.decode(data)
                return nil
            } catch {
                return error
            }
        }

        @Test("refuses more bytes than the limit before it reads one")
        func limitsBytes() {
            let decoder = ImageDecoder(limits: .init(bytes: 100))

            #expect(fault(Data(count: 101), decoder) == .tooManyBytes(101, limit: 100))
            #expect(fault(Data(count: 100), decoder) == .unknownFormat)
        }

        @Test(
            "refuses the size that a few bytes claim, before a codec sees them",
            arguments: [
                ("89504E470D0A1A0A0000000D494844527FFFFFFF7FFFFFFF0806000000", 0x7FFF_FFFF, 0x7FFF_FFFF),
                ("FFD8FFE000044A46FFC00011 08 FFDC FFDC 03012200021101031101", 65_500, 65_500),
                ("524946460000000057454250 56503820 00000000 000000 9D012A FF3F FF3F", 16_383, 16_383),
                ("524946460000000057454250 5650384C 00000000 2F FFFFFF0F", 16_384, 16_384),
                ("524946460000000057454250 56503858 0A000000 00000000 FFFF00 FFFF00", 65_536, 65_536),
            ]
        )
        func limitsPixels(hex: String, width: Int, height: Int) throws {
            let data = try #require(Data(hex: hex))

            #expect(fault(data) == .tooManyPixels(width: width, height: height, limit: 50_000_000))
        }

        @Test(
            "finding HF-18 a side of millions of pixels is refused, which would cost seconds for a few bytes",
            arguments: [(1, 50_000_000), (50_000_000, 1), (1, 1_048_577), (1, 1_048_576), (47, 1_048_576)],
            [0, 1] as [UInt8]
        )
        func limitsSides(_ size: (width: Int, height: Int), interlace: UInt8) {
            func bytes(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
            let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
            let header = start + bytes(size.width) + bytes(size.height) + [8, 6, 0, 0, interlace]

            let isTooLong = max(size.width, size.height) > 1 << 20
            let refusal = ImageError.unsupported(.png, "a side is longer than 1048576 pixels")
            #expect((fault(Data(header)) == refusal) == isTooLong)
        }

        @Test("the limit counts the pixels of the file, not those of the thumbnail", arguments: Sample.allCases)
        func limitsBeforeScaling(sample: Sample) {
            let file = sample.file(sample.picture(101, 100))

            let decoder = ImageDecoder(limits: .init(pixels: 10_000), maximumPixelSize: 10)

            #expect(fault(file, decoder) == .tooManyPixels(width: 101, height: 100, limit: 10_000))
        }

        @Test(
            "says what is wrong with a header",
            arguments: [
                ("", ImageError.unknownFormat), ("474946383961", .unknownFormat), ("89504E47", .unknownFormat),
                ("89504E470D0A1A0A", .truncated(.png)), ("FFD8FF", .truncated(.jpeg)),
                ("52494646000000005745425056503858", .truncated(.webP)),
                ("89504E470D0A1A0A0000000D49484452000000000000000108060000", .corrupt(.png, "a side of it is 0")),
                ("FFD8FFC00011080000001003012200", .unsupported(.jpeg, "its height follows its pixels")),
                ("FFD8FFDA000C", .corrupt(.jpeg, "its pixels come before its size")),
                ("FFD8FFE00001", .corrupt(.jpeg, "a segment has no length")),
                (
                    "524946460000000057454250 56503858 0A000000 02000000 0F0000 0F0000",
                    .unsupported(.webP, "it is an animation")
                ),
                (
                    "89504E470D0A1A0A 0000000D 67414D41 00000001 00000001 0806000000",
                    .corrupt(.png, "its first chunk is not IHDR")
                ),
                (
                    "89504E470D0A1A0A 0000000D 49484452 80000000 00000001 0806000000",
                    .corrupt(.png, "a side is negative")
                ),
                (
                    "89504E470D0A1A0A 0000000D 49484452 00000001 80000000 0806000000",
                    .corrupt(.png, "a side is negative")
                ),
                ("524946460000000057454250 5650384C 00000000 2E 00000000", .corrupt(.webP, "its signature is wrong")),
                (
                    "524946460000000057454250 56503820 00000000 000000 9D012B 0100 0100",
                    .corrupt(.webP, "it does not begin with a whole frame")
                ),
                (
                    "524946460000000057454250 414C5048 00000000 000000 9D012A 0100 0100",
                    .corrupt(.webP, "its first chunk has no size")
                ),
                ("FFD8FFE00002FFD9", .corrupt(.jpeg, "its pixels come before its size")),
            ]
        )
        func checksHeaders(hex: String, expected: ImageError) throws {
            #expect(fault(try #require(Data(hex: hex))) == expected)
        }

        @Test(
            "finds the size behind everything that may come before it",
            arguments: [
                // Fill bytes, restarts, bytes between segments, other tables, and a segment without contents.
                ("FFD8 FFFFFFFFC0 0011 08 0003 0005 03", 5, 3), ("FFD8 FFD0 FFD7 FF01 FFC2 0011 08 0003 0005 03", 5, 3),
                ("FFD8 FFE00002 1234 FF00 FFC1 0011 08 0003 0005 03", 5, 3),
                ("FFD8 FFC40004 0101 FFC80004 0101 FFCC0004 0101 FFCF 0011 08 0003 0005 03", 5, 3),
                // The upper two bits are a scaling hint.
                ("524946460000000057454250 56503820 00000000 000000 9D012A 05C0 0380", 5, 3),
                ("524946460000000057454250 5650384C 00000000 2F 04800000", 5, 3),
                ("524946460000000057454250 56503858 0A000000 00000000 040000 020000", 5, 3),
            ]
        )
        func findsSizes(hex: String, width: Int, height: Int) throws {
            let header = try ImageHeader(of: try #require(Data(hex: hex)))

            #expect(header.width == width && header.height == height)
        }

        @Test("a file at the limits is decoded, and no limit of pixels is above 2³¹")
        func atTheLimits() throws {
            let file = Sample.png.file(Sample.png.picture(20, 10))
            #expect(fault(file, ImageDecoder(limits: .init(pixels: 200, bytes: file.count))) == nil)
            #expect(fault(file, ImageDecoder(limits: .init(pixels: 199))) != nil)
            let huge = try #require(Data(hex: "524946460000000057454250 56503858 0A000000 00000000 FFFF00 FFFF00"))
            let limits = ImageDecoder.Limits(pixels: .max)
            #expect(
                fault(huge, ImageDecoder(limits: limits))
                    == .tooManyPixels(width: 65_536, height: 65_536, limit: 1 << 31)
            )
        }

        @Test("half an image is none, at whatever byte it is cut", arguments: Sample.allCases)
        func refusesTruncated(sample: Sample) throws {
            let file = sample.file(sample.picture(33, 21))
            let whole = try ImageDecoder().decode(file)

            for count in 0..<file.count {
                let cut = file.prefix(count)
                switch fault(cut) {
                // Everything after the last pixel may be missing.
                case nil: #expect(try ImageDecoder().decode(cut) == whole && count > file.count - 40, "\(count)")
                case .truncated(sample.format): break
                case .unknownFormat: #expect(count < 12)
                case let other?: Issue.record("cut at \(count) of \(file.count): \(other)")
                }
            }
        }

        @Test("a JPEG without its end mark is whole")
        func toleratesMissingEnd() throws {
            let file = Sample.jpeg.file(Sample.jpeg.picture(64, 64))

            #expect(try ImageDecoder().decode(file.dropLast(2)) == ImageDecoder().decode(file))
        }

        @Test("a PNG with a wrong checksum is corrupt")
        func checksSums() throws {
            var file = Sample.png.file(Sample.png.picture(64, 64))
            let start = try #require(file.range(of: Data("IDAT".utf8))).upperBound
            file[start + 20] ^= 1

            guard case .corrupt(.png, let reason) = fault(file) else {
                Issue.record("\(String(describing: fault(file)))")
                return
            }
            #expect(!reason.isEmpty)
        }

        @Test("a JPEG of hundreds of scans is refused")
        func limitsScans() throws {
            let file = Sample.jpegProgressive.file(Sample.jpegProgressive.picture(64, 64))
            let scan = try #require(file.range(of: Data([0xFF, 0xDA]))).lowerBound
            let next = try #require(file.range(of: Data([0xFF, 0xC4]), in: scan..<file.endIndex)).lowerBound
            let repeated = Data(repeatElement(file[scan..<next], count: 300).joined())

            guard case .corrupt(.jpeg, _) = fault(file[..<scan] + repeated + file[next...]) else {
                Issue.record("it was decoded")
                return
            }
        }

        @Test("corrupt bytes give at most the allowed number of pixels, or a fault", arguments: Sample.allCases)
        func survivesMutations(sample: Sample) throws {
            let seed = UInt64.random(in: 0...UInt64.max)
            let random = SeededRandom(seed: seed)
            let file = sample.file(sample.picture(33, 21))
            var decoder = ImageDecoder(limits: .init(pixels: 100_000))

            for round in 0..<1_000 {
                var broken = file
                for _ in 0..<(1 + random.next() % 4) {
                    // Half of the changes affect the beginning, where most is decided.
                    let span = random.next() % 2 == 0 ? UInt64(min(64, broken.count)) : UInt64(broken.count)
                    broken[Int(random.next() % span)] = UInt8(truncatingIfNeeded: random.next())
                }
                decoder.maximumPixelSize = round % 2 == 0 ? nil : 16
                do throws(ImageError) {
                    let bitmap = try decoder.decode(broken)
                    let isSound = bitmap.bytes.count == bitmap.width * bitmap.height * 4
                    #expect(isSound && bitmap.width * bitmap.height <= 100_000, "seed \(seed)")
                } catch {
                    #expect(!error.description.isEmpty)
                }
            }
        }
    }

    extension Data {
        /// Bytes from hexadecimal digits; spaces are for readability.
        fileprivate init?(hex: String) {
            let digits = hex.filter { $0 != " " }.compactMap(\.hexDigitValue)
            guard digits.count.isMultiple(of: 2) else { return nil }
            self.init(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
        }
    }
#endif
