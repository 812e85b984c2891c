#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// The address of an image in a width; nothing is sent.
    ///
    /// - Parameters:
    ///   - image: The image; without one the result is nil.
    ///   - width: The width in pixels. The scale of the screen is not applied.
    /// - Returns: The address at the service's scaler, or that of the image itself when it is a local file.
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

    /// The address of an image in the width that is recommended for a size; nothing is sent.
    public func imageURL(for image: CatalogueImage?, size: CatalogueImage.Size) -> URL? {
        guard let image else { return nil }
        return imageURL(for: image, width: CatalogueImage.recommendedWidth(for: size, image.variant))
    }

    /// The format that keeps what an original has: graphics stay lossless.
    private static func format(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        // The last component; a slash at the end belongs to none.
        let last = path.split(separator: "/").last ?? ""
        let graphics: [Substring] = ["png", "svg"]
        if let dot = last.lastIndex(of: "."), graphics.contains(last[last.index(after: dot)...]) { return "png" }
        return graphics.contains(last) ? "png" : "jpg"
    }
}

extension URL {
    /// Scheme, host and port.
    fileprivate var originText: String? {
        guard let scheme, let host = host(percentEncoded: true) else { return nil }
        let bracketed = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return "\(scheme)://\(bracketed)" + (port.map { ":\($0)" } ?? "")
    }
}
