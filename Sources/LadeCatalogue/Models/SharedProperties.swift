#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The properties that several models have in common. Models with many of them store them in a part, which reads them; the
// protocol of the part gives the model its properties.

/// Properties that several models have in common.
///
/// A part reads its properties from the members of an object, next to the other properties of the model.
protocol ModelPart: Sendable, Hashable {
    init()
    mutating func read(_ members: borrowing ModelMembers) throws
}

extension Catalogue {
    /// A model with identifiers and a broadcaster.
    public protocol Identified: CatalogueModel {
        /// The identifier within its business unit and kind; from `id`.
        var uid: String { get set }
        /// The identifier among everything in the catalogue; from `urn`.
        var urn: String { get set }
        /// The broadcaster; from `vendor`.
        var vendor: Vendor { get set }
    }

    /// A model with a title.
    public protocol Titled: CatalogueModel {
        /// The title; from `title`.
        var title: String { get set }
        /// A short introduction; from `lead`.
        var lead: String? { get set }
        /// A longer text; from `description`.
        var summary: String? { get set }
    }

    /// A model with an image.
    public protocol Illustrated: CatalogueModel {
        /// The image, for making addresses in different sizes; from `imageUrl`.
        var image: CatalogueImage? { get }
        /// The title of the image; from `imageTitle`.
        var imageTitle: String? { get set }
        /// The copyright of the image; from `imageCopyright`.
        var imageCopyright: String? { get set }
    }
}

/// A model with identifiers, texts and an image.
public protocol CatalogueItem: Catalogue.Identified, Catalogue.Titled, Catalogue.Illustrated {
    /// The identifiers, texts and image.
    var itemProperties: Catalogue.ItemProperties { get set }
}

extension Catalogue {
    /// The identifiers, texts and image of a model.
    public struct ItemProperties: ModelPart {
        var uid = ""
        var urn = ""
        var vendor = Vendor.none
        var title = ""
        var lead: String?
        var summary: String?
        var imageURL: URL?
        var imageTitle: String?
        var imageCopyright: String?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("urn", &urn)
            try members.read("vendor", &vendor)
            try members.read("title", &title)
            try members.read("lead", &lead)
            try members.read("description", &summary)
            try members.read("imageUrl", &imageURL)
            try members.read("imageTitle", &imageTitle)
            try members.read("imageCopyright", &imageCopyright)
        }
    }
}

extension CatalogueItem {
    /// The identifier within its business unit and kind; from `id`.
    public var uid: String {
        get { itemProperties.uid }
        set { itemProperties.uid = newValue }
    }

    /// The identifier among everything in the catalogue; from `urn`.
    public var urn: String {
        get { itemProperties.urn }
        set { itemProperties.urn = newValue }
    }

    /// The broadcaster; from `vendor`.
    public var vendor: Catalogue.Vendor {
        get { itemProperties.vendor }
        set { itemProperties.vendor = newValue }
    }

    /// The title; from `title`.
    public var title: String {
        get { itemProperties.title }
        set { itemProperties.title = newValue }
    }

    /// A short introduction; from `lead`.
    public var lead: String? {
        get { itemProperties.lead }
        set { itemProperties.lead = newValue }
    }

    /// A longer text; from `description`.
    public var summary: String? {
        get { itemProperties.summary }
        set { itemProperties.summary = newValue }
    }

    /// The image, for making addresses in different sizes; from `imageUrl`.
    public var image: CatalogueImage? { CatalogueImage(itemProperties.imageURL) }

    /// The title of the image; from `imageTitle`.
    public var imageTitle: String? {
        get { itemProperties.imageTitle }
        set { itemProperties.imageTitle = newValue }
    }

    /// The copyright of the image; from `imageCopyright`.
    public var imageCopyright: String? {
        get { itemProperties.imageCopyright }
        set { itemProperties.imageCopyright = newValue }
    }
}

extension Catalogue {
    /// An item that is broadcast: a channel, a show or a topic.
    public protocol BroadcastItem: CatalogueItem, KeyedModel {
        /// The way of broadcasting; from `transmission`.
        var transmission: Transmission { get set }
    }
}
