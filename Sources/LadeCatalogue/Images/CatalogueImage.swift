#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An image of the catalogue, for which ``Catalogue/imageURL(for:width:)`` makes addresses in different sizes.
///
/// Images are equal when their addresses and variants are.
public struct CatalogueImage: Sendable, Hashable {
    /// The purpose of an image, which decides its aspect ratio.
    public enum Variant: Sendable, Hashable, CaseIterable {
        /// Landscape, 16:9.
        case `default`
        /// Portrait, 2:3.
        case poster
        /// A square.
        case podcast
    }

    /// The sizes for layouts.
    public enum Size: Sendable, Hashable, CaseIterable {
        /// A row of a list.
        case small
        /// A tile.
        case medium
        /// The width of a screen.
        case large
    }

    /// The widths that the scaling service supports, in pixels.
    public enum Width: Int, Sendable, Hashable, CaseIterable {
        /// 240 pixels.
        case width240 = 240
        /// 320 pixels.
        case width320 = 320
        /// 480 pixels.
        case width480 = 480
        /// 960 pixels.
        case width960 = 960
        /// 1920 pixels.
        case width1920 = 1920
    }

    /// The address of the original.
    let url: URL
    /// The purpose of the image.
    public let variant: Variant

    init?(_ url: URL?, variant: Variant = .default) {
        guard let url else { return nil }
        self.url = url
        self.variant = variant
    }

    /// Makes an image from the address of its original in a response; nil when the address cannot be parsed.
    package init?(_ address: String) {
        self.init(URL(string: address))
    }

    /// The address of the image with a width, for services of the first generation.
    ///
    /// The service derives the height from the image's aspect ratio.
    ///
    /// - Parameter width: The width in pixels. For 0 and for a local file, the result is the address of the original.
    /// - Returns: The address.
    public func url(scaledToWidth width: Double) -> URL { url(scaledTo: "width", width) }

    /// The address of the image with a height, for services of the first generation; as ``url(scaledToWidth:)``.
    public func url(scaledToHeight height: Double) -> URL { url(scaledTo: "height", height) }

    private func url(scaledTo dimension: String, _ value: Double) -> URL {
        guard value > 0, value.isFinite, url.scheme?.lowercased() != "file" else { return url }
        let whole = url.absoluteString
        let base = whole.prefix { $0 != "?" && $0 != "#" }
        let number = Int(exactly: value).map(String.init) ?? String(value)
        let slash = base.hasSuffix("/") ? "" : "/"
        return URL(string: "\(base)\(slash)scale/\(dimension)/\(number)\(whole.dropFirst(base.count))") ?? url
    }

    /// The width to request for a size.
    public static func recommendedWidth(for size: Size, _ variant: Variant = .default) -> Width {
        switch (variant, size) {
        case (.poster, .small): .width240
        case (.default, .small), (.podcast, .small), (.poster, .medium): .width320
        case (.default, .medium), (.podcast, .medium), (.poster, .large): .width480
        case (.default, .large), (.podcast, .large): .width960
        }
    }

    /// The width and height in pixels of an image with the recommended width.
    public static func recommendedSize(
        for size: Size,
        _ variant: Variant = .default
    ) -> (width: Int, height: Int) {
        let width = recommendedWidth(for: size, variant).rawValue
        switch variant {
        case .default: return (width, width * 9 / 16)
        case .poster: return (width, width * 3 / 2)
        case .podcast: return (width, width)
        }
    }
}
