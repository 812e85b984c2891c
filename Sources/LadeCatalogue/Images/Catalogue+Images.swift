#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeCore

extension Catalogue {
    /// The address of an image with a given width; no request is sent.
    ///
    /// - Parameters:
    ///   - image: The image; the result is nil without one.
    ///   - width: The width in pixels, independent of the screen's scale.
    /// - Returns: An address of the scaling service, or the image's own address for a local file.
    public func imageURL(for image: CatalogueImage?, width: CatalogueImage.Width) -> URL? {
        guard let image else { return nil }
        guard image.url.scheme?.lowercased() != "file" else { return image.url }
        guard let origin = serviceURL.originText else { return nil }
        let original = image.url.absoluteString
        let format = Self.format(of: image.url)
        return URL(
            string: "\(origin)/images/?imageUrl=\(original.queryItemEncoded)&format=\(format)&width=\(width.rawValue)"
        )
    }

    /// The address of an image with the recommended width for a size; no request is sent.
    public func imageURL(for image: CatalogueImage?, size: CatalogueImage.Size) -> URL? {
        guard let image else { return nil }
        return imageURL(for: image, width: CatalogueImage.recommendedWidth(for: size, image.variant))
    }

    /// The format for scaled images: graphics stay lossless.
    private static func format(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        // A trailing slash does not end a component.
        let last = path.parts(at: "/", omitsEmpty: true).last ?? ""
        let graphics: [Substring] = ["png", "svg"]
        if let (_, ending) = last.cut(atLast: "."), graphics.contains(ending) { return "png" }
        return graphics.contains(last) ? "png" : "jpg"
    }
}

extension URL {
    /// The scheme, host and port.
    fileprivate var originText: String? {
        guard let scheme, let host = host(percentEncoded: true) else { return nil }
        let bracketed = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return "\(scheme)://\(bracketed)" + (port.map { ":\($0)" } ?? "")
    }
}
