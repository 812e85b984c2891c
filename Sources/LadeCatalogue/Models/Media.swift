extension Catalogue {
    /// A video or an audio, as contained in lists.
    ///
    /// Medias are equal when their URNs are.
    public struct Media: MediaMetadata {
        /// The properties that medias, chapters and segments have in common.
        public var mediaProperties = MediaProperties()
        /// The part of the image that matters; from `imageFocalPoint`.
        public var imageFocalPoint: FocalPoint?
        /// The presentation; from `presentation`.
        public var presentation: Presentation = .none
        /// The audio tracks; from `audioTrackList`.
        public var audioVariants: [Variant]?
        /// The subtitles; from `subtitleInformationList`.
        public var subtitleVariants: [Variant]?
        /// The channel it belongs to; from `channel`.
        @Boxed public var channel: Channel?
        /// The episode it belongs to; from `episode`.
        @Boxed public var episode: Episode?
        /// The show it belongs to; from `show`.
        @Boxed public var show: Show?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try mediaProperties.read(members)
            try members.read("imageFocalPoint", &imageFocalPoint)
            try members.read("presentation", &presentation)
            try members.read("audioTrackList", &audioVariants)
            try members.read("subtitleInformationList", &subtitleVariants)
            try members.read("channel", &_channel)
            try members.read("episode", &_episode)
            try members.read("show", &_show)
        }
    }
}

extension Catalogue.Media {
    /// The kind of a media's content.
    public enum ContentType: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `EPISODE`.
        case episode = "EPISODE"
        /// `EXTRACT`.
        case extract = "EXTRACT"
        /// `TRAILER`.
        case trailer = "TRAILER"
        /// `CLIP`.
        case clip = "CLIP"
        /// `LIVESTREAM`.
        case livestream = "LIVESTREAM"
        /// `SCHEDULED_LIVESTREAM`.
        case scheduledLivestream = "SCHEDULED_LIVESTREAM"
    }

    /// The reason why a media is on a list.
    public enum Source: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `EDITOR`.
        case editor = "EDITOR"
        /// `TRENDING`.
        case trending = "TRENDING"
        /// `RECOMMENDATION`.
        case recommendation = "RECOMMENDATION"
    }
}
