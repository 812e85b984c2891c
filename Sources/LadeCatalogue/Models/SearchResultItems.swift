#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// A result of a search for videos or audios, in the first generation of services.
    ///
    /// Values are equal when their URNs are.
    public struct SearchResultMedia: KeyedModel, CatalogueItem {
        /// The identifiers, texts and image.
        public var itemProperties = ItemProperties()
        /// The media type, video or audio; from `mediaType`.
        public var mediaType: MediaType = .none
        /// The date of publication; from `date`.
        public var date: Date?
        /// The duration; from `duration`.
        public var duration: Duration = .zero
        /// The presentation; from `presentation`.
        public var presentation: Presentation = .none
        /// The episode; from `episode`.
        var episode: Reference?
        /// The show; from `show`.
        var show: Reference?
        /// The identifier of the channel; from `channelId`.
        public var channelUid: String?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try itemProperties.read(members)
            try members.read("mediaType", &mediaType)
            try members.read("date", &date)
            try members.read("duration", &duration)
            try members.read("presentation", &presentation)
            try members.read("episode", &episode)
            try members.read("show", &show)
            try members.read("channelId", &channelUid)
        }

        /// The identifier of the episode; from `episode.id`.
        public var episodeUid: String? { episode?.uid }
        /// The title of the episode; from `episode.title`.
        public var episodeTitle: String? { episode?.title }
        /// The identifier of the show; from `show.id`.
        public var showUid: String? { show?.uid }
        /// The title of the show; from `show.title`.
        public var showTitle: String? { show?.title }
        /// The key for comparing values.
        public var identity: String { urn }

        /// The episode or show of a result.
        struct Reference: CatalogueModel {
            /// The identifier; from `id`.
            var uid: String?
            /// The title; from `title`.
            var title: String?

            init() {}

            mutating func read(_ members: borrowing ModelMembers) throws {
                try members.read("id", &uid)
                try members.read("title", &title)
            }
        }
    }
}
