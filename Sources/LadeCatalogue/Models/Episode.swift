#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// An episode of a show.
    ///
    /// Episodes are equal when their identifiers are.
    public struct Episode: KeyedModel, Titled, Illustrated {
        /// The identifier within its business unit and kind; from `id`.
        public var uid = ""
        /// The title; from `title`.
        public var title = ""
        /// A short introduction; from `lead`.
        public var lead: String?
        /// A longer text; from `description`.
        public var summary: String?
        /// The address of the image; from `imageUrl`.
        var imageURL: URL?
        /// The title of the image; from `imageTitle`.
        public var imageTitle: String?
        /// The copyright of the image; from `imageCopyright`.
        public var imageCopyright: String?
        /// The date of publication; from `publishedDate`.
        public var date: Date?
        /// The URN of the episode's media; from `fullLengthUrn`.
        public var fullLengthURN: String?
        /// The medias of the episode; from `mediaList`.
        public var medias: [Media]?
        /// The counts of views, likes and shares; from `socialCount`.
        public var socialCount: SocialCount?
        /// The season; from `seasonNumber`.
        public var seasonNumber: Int?
        /// The number of the episode; from `number`.
        public var episodeNumber: Int?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("title", &title)
            try members.read("lead", &lead)
            try members.read("description", &summary)
            try members.read("imageUrl", &imageURL)
            try members.read("imageTitle", &imageTitle)
            try members.read("imageCopyright", &imageCopyright)
            try members.read("publishedDate", &date)
            try members.read("fullLengthUrn", &fullLengthURN)
            try members.read("mediaList", &medias)
            try members.read("socialCount", &socialCount)
            try members.read("seasonNumber", &seasonNumber)
            try members.read("number", &episodeNumber)
        }

        /// The image, for making addresses in different sizes; from `imageUrl`.
        public var image: CatalogueImage? { CatalogueImage(imageURL) }
        /// The key for comparing values.
        public var identity: String { uid }
    }

    /// Episodes of a show.
    ///
    /// Values are equal when the URNs of their shows are.
    public struct EpisodeComposition: KeyedModel {
        /// The channel; from `channel`.
        @Boxed public var channel: Channel?
        /// The show; from `show`.
        @Boxed public var show: Show?
        /// The episodes; from `episodeList`.
        public var episodes: [Episode]?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("channel", &_channel)
            try members.read("show", &_show)
            try members.read("episodeList", &episodes)
        }

        /// The key for comparing values.
        public var identity: String { show?.urn ?? "" }
    }

    /// A page about a media, for further reading.
    ///
    /// Values are equal when their identifiers are.
    public struct RelatedContent: KeyedModel, Titled {
        /// The identifier within its business unit and kind; from `id`.
        public var uid = ""
        /// The address of the page; from `url`.
        public var url: URL?
        /// The title; from `title`.
        public var title = ""
        /// A short introduction; from `lead`.
        public var lead: String?
        /// A longer text; from `description`.
        public var summary: String?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("url", &url)
            try members.read("title", &title)
            try members.read("lead", &lead)
            try members.read("description", &summary)
        }

        /// The key for comparing values.
        public var identity: String { uid }
    }
}
