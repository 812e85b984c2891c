import Foundation
import Testing

@testable import LadeCatalogue

@Suite("Image addresses", .timeLimit(.minutes(1)))
struct ImageTests {
    let catalogue: Catalogue

    init() throws {
        catalogue = try Catalogue(.production)
    }

    static let originals: [Case<(String, String)>] = [
        Case("IL-IMG1", ("http://www.example.org/rsi-api/resize/image/EPISODE_IMAGE/9231/", "jpg")),
        Case("IL-IMG2", ("http://www.example.org/rsi-api/resize/image/EPISODE_IMAGE/61/", "jpg")),
        Case("IL-IMG3", ("https://ws.srf.ch/asset/image/audio/123.png", "png")),
        Case(
            "IL-IMG4",
            ("https://il.srgssr.ch/integrationlayer/2.0/image-scale-sixteen-to-nine/https://example.org/a.jpg", "jpg")
        ),
        Case("IL-IMG5", ("https://www.example.org/2023/04/02/19/30/100.image/16x9", "jpg")),
        Case("IL-IMG6", ("https://www.example.org/2023/04/02/19/30/200.image/16x9", "jpg")),
        Case("IL-IMG7", ("https://ws.srf.ch/asset/image/video/123.jpg", "jpg")),
        Case("IL-IMG8", ("https://ws.srf.ch/asset/image/audio/456.png", "png")),
        Case("IL-IMG9", ("https://www.example.org/srgscalableimage/41981254/16x9", "jpg")),
        Case(
            "IL-IMG10",
            ("https://il.srgssr.ch/image-service/image-scale-sixteen-to-nine/https://example.org/a.jpeg", "jpg")
        ),
        Case("IL-IMG11", ("https://example.org/guide/channel.svg", "png")),
        Case("IL-IMG12", ("https://il.srgssr.ch/image-service/dynamic/https://example.org/x.svg/format/png", "png")),
    ]

    @Test(
        "catalogue IL-IMG1 to IL-IMG12: an image is scaled by the service, in the format of the original",
        arguments: originals
    )
    func scaling(_ entry: Case<(String, String)>) throws {
        let url = try #require(catalogue.imageURL(for: CatalogueImage(URL(string: entry.row.0)), width: .width320))
        let items = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems)

        #expect(url.scheme == "https" && url.host() == "il.srgssr.ch" && url.path(percentEncoded: false) == "/images/")
        #expect(items.map(\.name) == ["imageUrl", "format", "width"])
        #expect(items.map(\.value) == [entry.row.0, entry.row.1, "320"])
    }

    @Test("catalogue IL-IMG13 and IL-IMG17: an image of 320 pixels in 16:9 is 180 pixels high")
    func sixteenToNine() {
        #expect(CatalogueImage.recommendedSize(for: .small) == (320, 180))
    }

    static let sizes: [Case<(CatalogueImage.Variant, [CatalogueImage.Size: (Int, Int)])>] = [
        Case("IMG14–16 default", (.default, [.small: (320, 180), .medium: (480, 270), .large: (960, 540)])),
        Case("IMG14–16 poster", (.poster, [.small: (240, 360), .medium: (320, 480), .large: (480, 720)])),
        Case("IMG14–16 podcast", (.podcast, [.small: (320, 320), .medium: (480, 480), .large: (960, 960)])),
    ]

    @Test("catalogue IL-IMG14, IL-IMG15, IL-IMG16: semantic sizes are the recommended ones", arguments: sizes)
    func semanticSizes(_ entry: Case<(CatalogueImage.Variant, [CatalogueImage.Size: (Int, Int)])>) throws {
        let image = CatalogueImage(URL(string: "https://img.example.org/a.jpg"), variant: entry.row.0)
        for (size, expected) in entry.row.1 {
            let url = try #require(catalogue.imageURL(for: image, size: size))

            #expect(CatalogueImage.recommendedSize(for: size, entry.row.0) == expected)
            #expect(CatalogueImage.recommendedWidth(for: size, entry.row.0).rawValue == expected.0)
            #expect(url.query()?.hasSuffix("width=\(expected.0)") == true)
        }
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
        #expect(url.absoluteString.hasPrefix("http://127.0.0.1:8080/images/?imageUrl="))
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems
        #expect(items?.first?.value == image?.url.absoluteString && items?.count == 3)
        let upper = CatalogueImage(URL(string: "https://img.example.org/A.PNG"))
        #expect(catalogue.imageURL(for: upper, width: .width240)?.query()?.contains("format=jpg") == true)
    }

    @Test(
        "catalogue IL-SEED26, IL-SEED27: the first generation scales by the path",
        arguments: CatalogueImage.Dimension.allCases
    )
    func seedScaling(dimension: CatalogueImage.Dimension) throws {
        func scaled(_ text: String, _ value: Double) throws -> String {
            try #require(CatalogueImage(URL(string: text))).seedURL(dimension, value).absoluteString
        }
        let name = dimension.rawValue

        #expect(try scaled("https://example.org/a.jpg", 300) == "https://example.org/a.jpg/scale/\(name)/300")
        #expect(try scaled("https://example.org/a/?x=1", 299.5) == "https://example.org/a/scale/\(name)/299.5?x=1")
        #expect(try scaled("https://example.org/a.jpg", 0) == "https://example.org/a.jpg")
        #expect(try scaled("file:///tmp/a.jpg", 300) == "file:///tmp/a.jpg")
        #expect(try scaled("https://example.org/a.jpg", -.infinity) == "https://example.org/a.jpg")
    }

    @Test("images are equal when address and variant are")
    func equality() {
        let url = URL(string: "https://img.example.org/a.jpg")

        #expect(CatalogueImage(url) == CatalogueImage(url))
        #expect(CatalogueImage(url) != CatalogueImage(url, variant: .poster))
        #expect(CatalogueImage(nil) == nil)
    }
}
