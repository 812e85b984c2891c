import Foundation
import LadeCatalogue
import LadeCatalogueServer
import Testing

/// Images that the catalogue names, loaded from the local catalogue.
@Suite("Images over the wire", .timeLimit(.minutes(5)))
struct CatalogueImageTests {
    private let server: LocalCatalogue
    private let catalogue: Catalogue
    private let loader: Loader

    init() throws {
        server = try LocalCatalogue()
        catalogue = try Catalogue(server.address(""))
        loader = try Loader()
    }

    private func pixels(_ url: URL?) async throws -> [Int] {
        let data = try await loader.load(Endpoint(Request(try #require(url))))
        let bytes = [UInt8](data)
        // A PNG has its width and height in its first chunk, big-endian.
        try #require(bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) && bytes.count > 24)
        return [16, 20].map { start in bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
    }

    @Test("catalogue IL-IMG13 an image of 320 pixels is loaded as 320 × 180")
    func width() async throws {
        let media = try await loader.load(try catalogue.media(urn: "urn:rts:video:100001"))

        #expect(try await pixels(catalogue.imageURL(for: media.image, width: .width320)) == [320, 180])
    }

    @Test("catalogue IL-IMG14 IL-IMG15 IL-IMG16 each size of each variant is loaded with the recommended pixels")
    func sizes() async throws {
        let show = try await loader.load(try catalogue.show(urn: "urn:rts:show:tv:sh1000"))
        let images: [(CatalogueImage.Variant, CatalogueImage?)] = [
            (.default, show.image), (.poster, show.posterImage), (.podcast, show.podcastImage),
        ]
        for (variant, image) in images {
            #expect(image?.variant == variant)
            for size in CatalogueImage.Size.allCases {
                let (width, height) = CatalogueImage.recommendedSize(for: size, variant)
                let loaded = try await pixels(catalogue.imageURL(for: image, size: size))
                #expect(loaded == [width, height], "\(variant) \(size)")
            }
        }
        let poster = try await pixels(catalogue.imageURL(for: show.posterImage, size: .small))
        let podcast = try await pixels(catalogue.imageURL(for: show.podcastImage, size: .large))
        #expect(poster == [240, 360] && podcast == [960, 960])
    }

    @Test(
        "catalogue IL-IMG17 images of videos and audios of each business unit are loaded as 320 × 180",
        arguments: Catalogue.BusinessUnit.allCases
    )
    func units(unit: Catalogue.BusinessUnit) async throws {
        for urn in ["urn:\(unit):video:100007", "urn:\(unit):audio:a100007"] {
            let media = try await loader.load(try catalogue.media(urn: urn))
            let url = try #require(catalogue.imageURL(for: media.image, width: .width320))

            #expect(media.urn == urn && url.port == Int(server.port))
            #expect(try await pixels(url) == [320, 180])
        }
    }
}
