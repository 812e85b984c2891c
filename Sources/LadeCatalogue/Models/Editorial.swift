#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A page that editors put together from sections.
///
/// It lists its sections without their content. Pages are equal when their identifiers are.
public struct EditorialPage: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// What the page is for; from `type`.
    public var type: EditorialPageType = .none
    /// The title; from `title`.
    public var title = ""
    /// A longer text; from `description`.
    public var summary: String?
    /// Whether it is public; from `isPublished`.
    public var isPublished = false
    /// The URN of its topic; from `topicUrn`.
    public var topicURN: String?
    /// The sections in order; from `sectionList`.
    public var sections: [EditorialSection] = []

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case vendor, type, title, isPublished
        case uid = "id"
        case summary = "description"
        case topicURN = "topicUrn"
        case sections = "sectionList"
    }

    /// What tells it from others of its kind.
    public var identity: String { uid }
}

/// A section of a page.
///
/// Sections are equal when their identifiers are.
public struct EditorialSection: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// What the section holds, and so which service delivers it; from `sectionType`.
    public var type: EditorialSectionType = .none
    /// Whether it is public; from `isPublished`.
    public var isPublished = false
    /// Whether its content depends on the user; from `hasPersonalizedContent`.
    public var isPersonalized = false
    /// From when it is shown; from `start`.
    public var startDate: Date?
    /// Until when it is shown; from `end`.
    public var endDate: Date?
    /// How it is shown; from `representation`.
    public var presentation: EditorialPresentation?
    /// The kind of its medias; from `mediaType`.
    public var mediaType: EditorialMediaType = .none

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case vendor, isPublished, mediaType
        case uid = "id"
        case type = "sectionType"
        case isPersonalized = "hasPersonalizedContent"
        case startDate = "start"
        case endDate = "end"
        case presentation = "representation"
    }

    /// What tells it from others of its kind.
    public var identity: String { uid }
}

/// How a section is shown.
public struct EditorialPresentation: CatalogueModel {
    /// The arrangement; from `name`.
    public var type: EditorialPresentationType = .none
    /// The nested object; from `properties`.
    var properties: Properties?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case properties
        case type = "name"
    }

    /// The part of the image that matters; from `properties.imageFocalPoint`.
    public var imageFocalPoint: FocalPoint? { properties?.imageFocalPoint }
    /// The title; from `properties.title`.
    public var title: String? { properties?.title }
    /// A longer text; from `properties.description`.
    public var summary: String? { properties?.summary }
    /// A label beside the title; from `properties.label`.
    public var label: String? { properties?.label }
    /// The image; from `properties.imageUrl`.
    public var image: CatalogueImage? { CatalogueImage(properties?.imageURL) }
    /// Whether there is a page with all of the content; from `properties.hasDetailPage`.
    public var hasDetailPage: Bool { properties?.hasDetailPage ?? false }
    /// Where the section leads; from `properties.link`.
    public var link: EditorialLink? { properties?.link }
    /// Whether one element is shown, chosen at random; from `properties.pickRandomElement`.
    public var isRandomized: Bool { properties?.isRandomized ?? false }

    /// The nested object of a presentation.
    struct Properties: CatalogueModel {
        /// The part of the image that matters; from `imageFocalPoint`.
        var imageFocalPoint: FocalPoint?
        /// The title; from `title`.
        var title: String?
        /// A longer text; from `description`.
        var summary: String?
        /// A label beside the title; from `label`.
        var label: String?
        /// The address of the image; from `imageUrl`.
        var imageURL: URL?
        /// Whether there is a page with all of the content; from `hasDetailPage`.
        var hasDetailPage = false
        /// Where the section leads; from `link`.
        var link: EditorialLink?
        /// Whether one element is shown; from `pickRandomElement`.
        var isRandomized = false

        init() {}

        enum CodingKeys: String, JSONKey {
            case imageFocalPoint, title, label, hasDetailPage, link
            case summary = "description"
            case imageURL = "imageUrl"
            case isRandomized = "pickRandomElement"
        }
    }
}

/// Where a section leads.
public struct EditorialLink: CatalogueModel {
    /// What kind of page it is; from `targetType`.
    public var type: EditorialLinkType = .none
    /// The identifier of the page; from `target`.
    public var target: String?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case target
        case type = "targetType"
    }
}
