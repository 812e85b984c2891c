#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A song that a radio channel plays or played.
public struct Song: CatalogueModel {
    /// The title; from `title`.
    public var title = ""
    /// When it began; from `date`.
    public var date: Date?
    /// How long it plays; from `duration`.
    public var duration: Duration = .zero
    /// Whether it is on air; from `isPlayingNow`.
    public var isPlaying = false
    /// The artist; from `artist`.
    public var artist: Artist?
    /// The album; from `cd`.
    public var album: Album?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case title, date, duration, artist
        case isPlaying = "isPlayingNow"
        case album = "cd"
    }
}

/// The artist of a song.
public struct Artist: CatalogueModel {
    /// The name; from `name`.
    public var name = ""
    /// A page about the artist; from `url`.
    public var url: URL?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case name, url
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

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case name
        case smallCoverImageURL = "coverUrlSmall"
        case largeCoverImageURL = "coverUrlLarge"
    }

    /// The small cover.
    public var smallCoverImage: CatalogueImage? { CatalogueImage(smallCoverImageURL) }
    /// The large cover.
    public var largeCoverImage: CatalogueImage? { CatalogueImage(largeCoverImageURL) }
}
