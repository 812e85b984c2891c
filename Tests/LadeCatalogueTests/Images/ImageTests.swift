import Foundation
import Testing

@testable import LadeCatalogue

@Suite("Image addresses", .timeLimit(.minutes(5)))
struct ImageTests {
    let catalogue: Catalogue

    init() throws {
        catalogue = try Catalogue(.production)
    }

    private func expectScaled(
        _ original: String,
        _ format: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let url = try #require(catalogue.imageURL(for: CatalogueImage(URL(string: original)), width: .width320))
        let items = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems)

        #expect(url.scheme == "https" && url.host() == "il.srgssr.ch", sourceLocation: location)
        #expect(url.path(percentEncoded: false) == "/images/", sourceLocation: location)
        #expect(items.map(\.name) == ["imageUrl", "format", "width"], sourceLocation: location)
        #expect(items.map(\.value) == [original, format, "320"], sourceLocation: location)
    }

    @Test("catalogue IL-IMG1 the image of an RSI video is scaled as JPG")
    func original1() throws {
        try expectScaled("http://www.example.org/rsi-api/resize/image/EPISODE_IMAGE/9231/", "jpg")
    }

    @Test("catalogue IL-IMG2 the image of an RSI audio is scaled as JPG")
    func original2() throws {
        try expectScaled("http://www.example.org/rsi-api/resize/image/EPISODE_IMAGE/61/", "jpg")
    }

    @Test("catalogue IL-IMG3 the image of an RTR video is scaled as PNG")
    func original3() throws {
        try expectScaled("https://ws.srf.ch/asset/image/audio/123.png", "png")
    }

    @Test("catalogue IL-IMG4 the image of an RTR audio behind the scaling service is scaled as JPG")
    func original4() throws {
        try expectScaled(
            "https://il.srgssr.ch/integrationlayer/2.0/image-scale-sixteen-to-nine/https://example.org/a.jpg",
            "jpg"
        )
    }

    @Test("catalogue IL-IMG5 the image of an RTS video is scaled as JPG")
    func original5() throws {
        try expectScaled("https://www.example.org/2023/04/02/19/30/100.image/16x9", "jpg")
    }

    @Test("catalogue IL-IMG6 the image of an RTS audio is scaled as JPG")
    func original6() throws {
        try expectScaled("https://www.example.org/2023/04/02/19/30/200.image/16x9", "jpg")
    }

    @Test("catalogue IL-IMG7 the image of an SRF video is scaled as JPG")
    func original7() throws {
        try expectScaled("https://ws.srf.ch/asset/image/video/123.jpg", "jpg")
    }

    @Test("catalogue IL-IMG8 the image of an SRF audio is scaled as PNG")
    func original8() throws {
        try expectScaled("https://ws.srf.ch/asset/image/audio/456.png", "png")
    }

    @Test("catalogue IL-IMG9 the image of an SWI video is scaled as JPG")
    func original9() throws {
        try expectScaled("https://www.example.org/srgscalableimage/41981254/16x9", "jpg")
    }

    @Test("catalogue IL-IMG10 an uploaded picture behind the scaling service is scaled as JPG")
    func original10() throws {
        try expectScaled(
            "https://il.srgssr.ch/image-service/image-scale-sixteen-to-nine/https://example.org/a.jpeg",
            "jpg"
        )
    }

    @Test("catalogue IL-IMG11 a drawing is scaled as PNG")
    func original11() throws {
        try expectScaled("https://example.org/guide/channel.svg", "png")
    }

    @Test("catalogue IL-IMG12 a drawing that the service converts is scaled as PNG")
    func original12() throws {
        try expectScaled("https://il.srgssr.ch/image-service/dynamic/https://example.org/x.svg/format/png", "png")
    }

    @Test("catalogue IL-IMG13 an image of 320 pixels in 16:9 is 180 pixels high")
    func sixteenToNine() {
        #expect(CatalogueImage.recommendedSize(for: .small) == (320, 180))
    }

    private func expectSizes(
        _ size: CatalogueImage.Size,
        _ sizes: [CatalogueImage.Variant: (Int, Int)],
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(sizes.count == 3, sourceLocation: location)
        for (variant, expected) in sizes {
            let image = CatalogueImage(URL(string: "https://img.example.org/a.jpg"), variant: variant)
            let url = try #require(catalogue.imageURL(for: image, size: size))

            #expect(CatalogueImage.recommendedSize(for: size, variant) == expected, sourceLocation: location)
            #expect(
                CatalogueImage.recommendedWidth(for: size, variant).rawValue == expected.0,
                sourceLocation: location
            )
            #expect(url.query()?.hasSuffix("width=\(expected.0)") == true, sourceLocation: location)
        }
    }

    @Test("catalogue IL-IMG14 a small image has the recommended size of its variant")
    func small() throws {
        try expectSizes(.small, [.default: (320, 180), .poster: (240, 360), .podcast: (320, 320)])
    }

    @Test("catalogue IL-IMG15 a medium image has the recommended size of its variant")
    func medium() throws {
        try expectSizes(.medium, [.default: (480, 270), .poster: (320, 480), .podcast: (480, 480)])
    }

    @Test("catalogue IL-IMG16 a large image has the recommended size of its variant")
    func large() throws {
        try expectSizes(.large, [.default: (960, 540), .poster: (480, 720), .podcast: (960, 960)])
    }

    @Test("no image has no address, a local one keeps its own, and the port of the service is kept")
    func edges() throws {
        let file = CatalogueImage(URL(filePath: "/tmp/a.png"))
        var other = try Catalogue("http://127.0.0.1:8080/prefix/")
        other.globalParameters = ["forceLocation": "WW"]
        let image = CatalogueImage(URL(string: "https://img.example.org/a b.jpg?x=1&y=%2F#z"))
        let url = try #require(other.imageURL(for: image, width: .width1920))

        #expect(
            catalogue.imageURL(for: nil, width: .width240) == nil && catalogue.imageURL(for: nil, size: .large) == nil
        )
        #expect(catalogue.imageURL(for: file, width: .width240) == file?.url)
        let shouting = CatalogueImage(URL(string: "FILE:///tmp/a.png"))
        #expect(catalogue.imageURL(for: shouting, width: .width240) == shouting?.url)
        let numeric = try Catalogue("http://[::1]:8080").imageURL(for: image, width: .width240)
        #expect(numeric?.absoluteString.hasPrefix("http://[::1]:8080/images/?imageUrl=") == true)
        #expect(url.absoluteString.hasPrefix("http://127.0.0.1:8080/images/?imageUrl="))
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems
        #expect(items?.first?.value == image?.url.absoluteString && items?.count == 3)
        let upper = CatalogueImage(URL(string: "https://img.example.org/A.PNG"))
        #expect(catalogue.imageURL(for: upper, width: .width240)?.query()?.contains("format=jpg") == true)
    }

    @Test("catalogue IL-SEED26 the first generation scales to a width by the path")
    func seedWidth() throws {
        try expectSeedScaling("width") { $0.url(scaledToWidth: $1) }
    }

    @Test("catalogue IL-SEED27 the first generation scales to a height by the path")
    func seedHeight() throws {
        try expectSeedScaling("height") { $0.url(scaledToHeight: $1) }
    }

    private func expectSeedScaling(_ name: String, _ scale: (CatalogueImage, Double) -> URL) throws {
        func scaled(_ text: String, _ value: Double) throws -> String {
            scale(try #require(CatalogueImage(URL(string: text))), value).absoluteString
        }
        #expect(try scaled("https://example.org/a.jpg", 300) == "https://example.org/a.jpg/scale/\(name)/300")
        #expect(try scaled("https://example.org/a/?x=1", 299.5) == "https://example.org/a/scale/\(name)/299.5?x=1")
        #expect(try scaled("https://example.org/a.jpg", 0) == "https://example.org/a.jpg")
        #expect(try scaled("file:///tmp/a.jpg", 300) == "file:///tmp/a.jpg")
        for value in [-Double.infinity, .infinity, .nan, -1] {
            #expect(try scaled("https://example.org/a.jpg", value) == "https://example.org/a.jpg")
        }
        #expect(try scaled("https://example.org/a#b?c", 300) == "https://example.org/a/scale/\(name)/300#b?c")
    }

    @Test("images are equal when address and variant are")
    func equality() {
        let url = URL(string: "https://img.example.org/a.jpg")

        #expect(CatalogueImage(url) == CatalogueImage(url))
        #expect(CatalogueImage(url) != CatalogueImage(url, variant: .poster))
        #expect(CatalogueImage(nil) == nil)
    }
}
