#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// A song on a radio channel.
    public struct Song: CatalogueModel {
        /// The title; from `title`.
        public var title = ""
        /// When the song began; from `date`.
        public var date: Date?
        /// The duration of the song; from `duration`.
        public var duration: Duration = .zero
        /// Whether the song is currently on air; from `isPlayingNow`.
        public var isPlaying = false
        /// The artist; from `artist`.
        public var artist: Artist?
        /// The album; from `cd`.
        public var album: Album?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("title", &title)
            try members.read("date", &date)
            try members.read("duration", &duration)
            try members.read("isPlayingNow", &isPlaying)
            try members.read("artist", &artist)
            try members.read("cd", &album)
        }
    }
}

extension Catalogue.Song {
    /// The artist of a song.
    public struct Artist: CatalogueModel {
        /// The name; from `name`.
        public var name = ""
        /// A page about the artist; from `url`.
        public var url: URL?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("name", &name)
            try members.read("url", &url)
        }
    }

    /// The album of a song.
    public struct Album: CatalogueModel {
        /// The name; from `name`.
        public var name = ""
        /// The address of the small cover; from `coverUrlSmall`.
        var smallCoverImageURL: URL?
        /// The address of the large cover; from `coverUrlLarge`.
        var largeCoverImageURL: URL?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("name", &name)
            try members.read("coverUrlSmall", &smallCoverImageURL)
            try members.read("coverUrlLarge", &largeCoverImageURL)
        }

        /// The small cover image.
        public var smallCoverImage: CatalogueImage? { CatalogueImage(smallCoverImageURL) }
        /// The large cover image.
        public var largeCoverImage: CatalogueImage? { CatalogueImage(largeCoverImageURL) }
    }
}
