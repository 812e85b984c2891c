#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A topic that shows and medias are about.
///
/// Topics are equal when their identifiers are.
public struct Topic: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// How it is broadcast; from `transmission`.
    public var transmission: Transmission = .none
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// What the image shows; from `imageTitle`.
    public var imageTitle: String?
    /// Where the rights to the image lie; from `imageCopyright`.
    public var imageCopyright: String?
    /// Narrower topics; from `subTopicList`.
    public var subtopics: [Subtopic]?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, transmission, title, lead, imageTitle, imageCopyright
        case uid = "id"
        case summary = "description"
        case imageURL = "imageUrl"
        case subtopics = "subTopicList"
    }

    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// What tells it from others of its kind.
    public var identity: String { uid }
}

/// A narrower topic.
///
/// Subtopics are equal when their identifiers are; a subtopic never equals a topic.
public struct Subtopic: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// How it is broadcast; from `transmission`.
    public var transmission: Transmission = .none
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// What the image shows; from `imageTitle`.
    public var imageTitle: String?
    /// Where the rights to the image lie; from `imageCopyright`.
    public var imageCopyright: String?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, transmission, title, lead, imageTitle, imageCopyright
        case uid = "id"
        case summary = "description"
        case imageURL = "imageUrl"
    }

    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// What tells it from others of its kind.
    public var identity: String { uid }
}
