#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// An editorial page made of sections.
    ///
    /// The page contains its sections without their content. Pages are equal when their identifiers are.
    public struct EditorialPage: KeyedModel {
        /// The identifier within its business unit and kind; from `id`.
        public var uid = ""
        /// The broadcaster; from `vendor`.
        public var vendor: Vendor = .none
        /// The kind of page; from `type`.
        public var type: Kind = .none
        /// The title; from `title`.
        public var title = ""
        /// A longer text; from `description`.
        public var summary: String?
        /// Whether it is public; from `isPublished`.
        public var isPublished = false
        /// The URN of its topic; from `topicUrn`.
        public var topicURN: String?
        /// The sections in order; from `sectionList`.
        public var sections: [Section] = []

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("vendor", &vendor)
            try members.read("type", &type)
            try members.read("title", &title)
            try members.read("description", &summary)
            try members.read("isPublished", &isPublished)
            try members.read("topicUrn", &topicURN)
            try members.read("sectionList", &sections)
        }

        /// The key for comparing values.
        public var identity: String { uid }
    }
}

extension Catalogue.EditorialPage {
    /// A section of an editorial page.
    ///
    /// Sections are equal when their identifiers are.
    public struct Section: KeyedModel {
        /// The identifier within its business unit and kind; from `id`.
        public var uid = ""
        /// The broadcaster; from `vendor`.
        public var vendor: Catalogue.Vendor = .none
        /// The kind of content, which determines the service that delivers it; from `sectionType`.
        public var type: Kind = .none
        /// Whether it is public; from `isPublished`.
        public var isPublished = false
        /// Whether its content depends on the user; from `hasPersonalizedContent`.
        public var isPersonalized = false
        /// When the section is first shown; from `start`.
        public var startDate: Date?
        /// Until when it is shown; from `end`.
        public var endDate: Date?
        /// The presentation of the section; from `representation`.
        public var presentation: Representation?
        /// The kind of its medias; from `mediaType`.
        public var mediaType: Catalogue.MediaType = .none

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("vendor", &vendor)
            try members.read("sectionType", &type)
            try members.read("isPublished", &isPublished)
            try members.read("hasPersonalizedContent", &isPersonalized)
            try members.read("start", &startDate)
            try members.read("end", &endDate)
            try members.read("representation", &presentation)
            try members.read("mediaType", &mediaType)
        }

        /// The key for comparing values.
        public var identity: String { uid }
    }

    /// The presentation of a section.
    public struct Representation: CatalogueModel {
        /// The arrangement; from `name`.
        public var type: Kind = .none
        /// The nested object; from `properties`.
        var properties: Properties?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("name", &type)
            try members.read("properties", &properties)
        }

        /// The focal point of the image; from `properties.imageFocalPoint`.
        public var imageFocalPoint: Catalogue.FocalPoint? { properties?.imageFocalPoint }
        /// The title; from `properties.title`.
        public var title: String? { properties?.title }
        /// A longer text; from `properties.description`.
        public var summary: String? { properties?.summary }
        /// A label beside the title; from `properties.label`.
        public var label: String? { properties?.label }
        /// The image; from `properties.imageUrl`.
        public var image: CatalogueImage? { CatalogueImage(properties?.imageURL) }
        /// Whether there is a page with the whole content; from `properties.hasDetailPage`.
        public var hasDetailPage: Bool { properties?.hasDetailPage ?? false }
        /// The destination of the section; from `properties.link`.
        public var link: Link? { properties?.link }
        /// Whether one randomly chosen element is shown; from `properties.pickRandomElement`.
        public var isRandomized: Bool { properties?.isRandomized ?? false }

        /// The nested object of a presentation.
        struct Properties: CatalogueModel {
            /// The part of the image that matters; from `imageFocalPoint`.
            var imageFocalPoint: Catalogue.FocalPoint?
            /// The title; from `title`.
            var title: String?
            /// A longer text; from `description`.
            var summary: String?
            /// A label beside the title; from `label`.
            var label: String?
            /// The address of the image; from `imageUrl`.
            var imageURL: URL?
            /// Whether there is a page with the whole content; from `hasDetailPage`.
            var hasDetailPage = false
            /// The destination of the section; from `link`.
            var link: Link?
            /// Whether one randomly chosen element is shown; from `pickRandomElement`.
            var isRandomized = false

            init() {}

            mutating func read(_ members: borrowing ModelMembers) throws {
                try members.read("imageFocalPoint", &imageFocalPoint)
                try members.read("title", &title)
                try members.read("description", &summary)
                try members.read("label", &label)
                try members.read("imageUrl", &imageURL)
                try members.read("hasDetailPage", &hasDetailPage)
                try members.read("link", &link)
                try members.read("pickRandomElement", &isRandomized)
            }
        }
    }

    /// The destination of a section.
    public struct Link: CatalogueModel {
        /// The kind of page; from `targetType`.
        public var type: Kind = .none
        /// The identifier of the page; from `target`.
        public var target: String?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("targetType", &type)
            try members.read("target", &target)
        }
    }
}

extension Catalogue.EditorialPage.Link {
    /// The kind of a section's destination.
    public enum Kind: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `DETAIL_PAGE`.
        case detailPage = "DETAIL_PAGE"
        /// `MICRO_PAGE`.
        case microPage = "MICRO_PAGE"
    }
}

extension Catalogue.EditorialPage {
    /// The kind of an editorial page.
    public enum Kind: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `LANDING_PAGE`.
        case landing = "LANDING_PAGE"
        /// `TOPIC_PAGE`.
        case topic = "TOPIC_PAGE"
        /// `SHOW_PAGE`.
        case show = "SHOW_PAGE"
        /// `DEFAULT_SHOW_PAGE`.
        case defaultShow = "DEFAULT_SHOW_PAGE"
        /// `MICRO_PAGE`.
        case micro = "MICRO_PAGE"
    }
}

extension Catalogue.EditorialPage.Representation {
    /// The presentation of a section's content.
    public enum Kind: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `Swimlane`.
        case swimlane = "Swimlane"
        /// `HeroStage`.
        case heroStage = "HeroStage"
        /// `Highlight`.
        case highlight = "Highlight"
        /// `Grid`.
        case grid = "Grid"
        /// `MediaElement`.
        case mediaElement = "MediaElement"
        /// `MediaElementSwimlane`.
        case mediaElementSwimlane = "MediaElementSwimlane"
        /// `ShowElement`.
        case showElement = "ShowElement"
        /// `ShowPromotion`.
        case showPromotion = "ShowPromotion"
        /// `FavoriteShows`.
        case favoriteShows = "FavoriteShows"
        /// `Livestreams`.
        case livestreams = "Livestreams"
        /// `TopicSelector`.
        case topicSelector = "TopicSelector"
        /// `ShowAccess`.
        case showAccess = "ShowAccess"
        /// `ContinueWatching`.
        case continueWatching = "ContinueWatching"
        /// `ContinueStreaming`.
        case continueStreaming = "ContinueStreaming"
        /// `WatchLater`.
        case watchLater = "WatchLater"
        /// `StreamLater`.
        case streamLater = "StreamLater"
        /// `MyProgram`.
        case myProgram = "MyProgram"
        /// `AvailableEpisodes`.
        case availableEpisodes = "AvailableEpisodes"
        /// `TrendingShowsByTopic`.
        case trendingShowsByTopic = "TrendingShowsByTopic"
    }
}

extension Catalogue.EditorialPage.Section {
    /// The kind of a section's content.
    public enum Kind: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `MediaSection`.
        case medias = "MediaSection"
        /// `MediaSectionWithShow`.
        case showAndMedias = "MediaSectionWithShow"
        /// `ShowSection`.
        case shows = "ShowSection"
        /// `SimpleSection`.
        case predefined = "SimpleSection"
    }
}
