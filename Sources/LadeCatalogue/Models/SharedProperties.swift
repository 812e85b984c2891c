#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The properties that several models have in common. A model stores them in parts, which read them; a protocol for each
// part gives the model its properties.

/// A model with identifiers and a broadcaster.
public protocol Identified: CatalogueModel {
    /// The identifiers and the broadcaster.
    var identityProperties: IdentityProperties { get set }
}

/// The identifiers and the broadcaster of a model.
public struct IdentityProperties: ModelPart {
    var uid = ""
    var urn = ""
    var vendor = Vendor.none

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("id", &uid)
        try members.read("urn", &urn)
        try members.read("vendor", &vendor)
    }
}

extension Identified {
    /// The identifier within its business unit and kind; from `id`.
    public var uid: String {
        get { identityProperties.uid }
        set { identityProperties.uid = newValue }
    }

    /// The identifier among everything in the catalogue; from `urn`.
    public var urn: String {
        get { identityProperties.urn }
        set { identityProperties.urn = newValue }
    }

    /// The broadcaster; from `vendor`.
    public var vendor: Vendor {
        get { identityProperties.vendor }
        set { identityProperties.vendor = newValue }
    }
}

/// A model with a title.
public protocol Titled: CatalogueModel {
    /// The title and the texts.
    var textProperties: TextProperties { get set }
}

/// The title and the texts of a model.
public struct TextProperties: ModelPart {
    var title = ""
    var lead: String?
    var summary: String?

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("title", &title)
        try members.read("lead", &lead)
        try members.read("description", &summary)
    }
}

extension Titled {
    /// The title; from `title`.
    public var title: String {
        get { textProperties.title }
        set { textProperties.title = newValue }
    }

    /// A short introduction; from `lead`.
    public var lead: String? {
        get { textProperties.lead }
        set { textProperties.lead = newValue }
    }

    /// A longer text; from `description`.
    public var summary: String? {
        get { textProperties.summary }
        set { textProperties.summary = newValue }
    }
}

/// A model with an image.
public protocol Illustrated: CatalogueModel {
    /// The image.
    var imageProperties: ImageProperties { get set }
    /// The image, for making addresses in different sizes.
    var image: CatalogueImage? { get }
}

/// The image of a model.
public struct ImageProperties: ModelPart {
    var imageURL: URL?
    var imageTitle: String?
    var imageCopyright: String?

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("imageUrl", &imageURL)
        try members.read("imageTitle", &imageTitle)
        try members.read("imageCopyright", &imageCopyright)
    }
}

extension Illustrated {
    /// The image, for making addresses in different sizes; from `imageUrl`.
    public var image: CatalogueImage? { CatalogueImage(imageProperties.imageURL) }

    /// The title of the image; from `imageTitle`.
    public var imageTitle: String? {
        get { imageProperties.imageTitle }
        set { imageProperties.imageTitle = newValue }
    }

    /// The copyright of the image; from `imageCopyright`.
    public var imageCopyright: String? {
        get { imageProperties.imageCopyright }
        set { imageProperties.imageCopyright = newValue }
    }
}

/// A model with identifiers, texts and an image.
public protocol CatalogueItem: Identified, Titled, Illustrated {
    /// The identifiers, texts and image.
    var itemProperties: ItemProperties { get set }
}

/// The identifiers, texts and image of a model.
public struct ItemProperties: ModelPart {
    var identity = IdentityProperties()
    var texts = TextProperties()
    var image = ImageProperties()

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try identity.read(members)
        try texts.read(members)
        try image.read(members)
    }
}

extension CatalogueItem {
    /// The identifiers and the broadcaster.
    public var identityProperties: IdentityProperties {
        get { itemProperties.identity }
        set { itemProperties.identity = newValue }
    }

    /// The title and the texts.
    public var textProperties: TextProperties {
        get { itemProperties.texts }
        set { itemProperties.texts = newValue }
    }

    /// The image.
    public var imageProperties: ImageProperties {
        get { itemProperties.image }
        set { itemProperties.image = newValue }
    }
}

/// An item that is broadcast: a channel, a show or a topic.
public protocol BroadcastItem: CatalogueItem, KeyedModel {
    /// The identifiers, texts, image and way of broadcasting.
    var broadcastProperties: BroadcastProperties { get set }
}

/// The identifiers, texts, image and way of broadcasting of a model.
public struct BroadcastProperties: ModelPart {
    var item = ItemProperties()
    var transmission = Transmission.none

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try item.read(members)
        try members.read("transmission", &transmission)
    }
}

extension BroadcastItem {
    /// The identifiers, texts and image.
    public var itemProperties: ItemProperties {
        get { broadcastProperties.item }
        set { broadcastProperties.item = newValue }
    }

    /// The way of broadcasting; from `transmission`.
    public var transmission: Transmission {
        get { broadcastProperties.transmission }
        set { broadcastProperties.transmission = newValue }
    }
}
