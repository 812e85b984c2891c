#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An image of the catalogue, of which ``Catalogue/imageURL(for:width:)`` makes an address in the size that is needed.
///
/// Images are equal when address and variant are.
public struct CatalogueImage: Sendable, Hashable {
    /// What an image is made for, and so its format.
    public enum Variant: Sendable, Hashable, CaseIterable {
        /// Landscape, 16:9.
        case `default`
        /// Portrait, 2:3.
        case poster
        /// A square.
        case podcast
    }

    /// The sizes that layouts need.
    public enum Size: Sendable, Hashable, CaseIterable {
        /// A row of a list.
        case small
        /// A tile.
        case medium
        /// The width of a screen.
        case large
    }

    /// The widths that the service scales to, in pixels.
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

    /// The original.
    let url: URL
    /// What it is made for.
    public let variant: Variant

    init?(_ url: URL?, variant: Variant = .default) {
        guard let url else { return nil }
        self.url = url
        self.variant = variant
    }

    /// What the services of the first generation scale an image to.
    public enum Dimension: String, Sendable, Hashable, CaseIterable {
        /// A width.
        case width
        /// A height.
        case height
    }

    /// The address of the image in a size, for services of the first generation.
    ///
    /// The other side follows from the format of the image, which the service decides.
    ///
    /// - Parameters:
    ///   - dimension: Which side the value is of.
    ///   - value: The size in pixels; for 0 the result is the address of the original, as it is for a local file.
    /// - Returns: The address.
    public func seedURL(_ dimension: Dimension, _ value: Double) -> URL {
        guard value > 0, value.isFinite, url.scheme?.lowercased() != "file" else { return url }
        let whole = url.absoluteString
        let base = whole.prefix { $0 != "?" && $0 != "#" }
        let number = Int(exactly: value).map(String.init) ?? String(value)
        let slash = base.hasSuffix("/") ? "" : "/"
        return URL(string: "\(base)\(slash)scale/\(dimension.rawValue)/\(number)\(whole.dropFirst(base.count))") ?? url
    }

    /// The width to ask for where a layout needs an image of a size.
    public static func recommendedWidth(for size: Size, _ variant: Variant = .default) -> Width {
        switch (variant, size) {
        case (.poster, .small): .width240
        case (.default, .small), (.podcast, .small), (.poster, .medium): .width320
        case (.default, .medium), (.podcast, .medium), (.poster, .large): .width480
        case (.default, .large), (.podcast, .large): .width960
        }
    }

    /// Width and height in pixels of an image of the recommended width.
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
