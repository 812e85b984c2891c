#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// A stream of a chapter.
    ///
    /// Resources are equal when their addresses are.
    public struct Resource: KeyedModel {
        /// The address of the stream; from `url`.
        public var url: URL?
        /// The quality; from `quality`.
        public var quality: Quality = .none
        /// The presentation; from `presentation`.
        public var presentation: Presentation = .none
        /// The media type of the stream; from `mimeType`.
        public var mimeType: String?
        /// The streaming method; from `streaming`.
        public var streamingMethod: StreamingMethod = .none
        /// Whether the stream is live; from `live`.
        var isLive = false
        /// Whether a live stream can be rewound; from `dvr`.
        var isDVR = false
        /// The container; from `mediaContainer`.
        public var mediaContainer: Container = .none
        /// The audio codec; from `audioCodec`.
        public var audioCodec: AudioCodec = .none
        /// The video codec; from `videoCodec`.
        public var videoCodec: VideoCodec = .none
        /// The token that the address needs; from `tokenType`.
        public var tokenType: TokenType = .none
        /// The delay of the stream behind real time; 0 for streams on demand; from `streamOffset`.
        public var streamOffset: Duration = .zero
        /// The ways to decrypt it; from `drmList`.
        public var drms: [DRM]?
        /// The subtitles; from `subtitleInformationList`.
        public var subtitleVariants: [Variant]?
        /// The audio tracks; from `audioTrackList`.
        public var audioVariants: [Variant]?
        /// The labels for audience measurement; from `analyticsMetadata`.
        public var analyticsLabels: [String: String]?
        /// The labels for audience measurement by comScore; from `analyticsData`.
        public var comScoreAnalyticsLabels: [String: String]?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("url", &url)
            try members.read("quality", &quality)
            try members.read("presentation", &presentation)
            try members.read("mimeType", &mimeType)
            try members.read("streaming", &streamingMethod)
            try members.read("live", &isLive)
            try members.read("dvr", &isDVR)
            try members.read("mediaContainer", &mediaContainer)
            try members.read("audioCodec", &audioCodec)
            try members.read("videoCodec", &videoCodec)
            try members.read("tokenType", &tokenType)
            try members.read("streamOffset", &streamOffset)
            try members.read("drmList", &drms)
            try members.read("subtitleInformationList", &subtitleVariants)
            try members.read("audioTrackList", &audioVariants)
            try members.read("analyticsMetadata", &analyticsLabels)
            try members.read("analyticsData", &comScoreAnalyticsLabels)
        }

        /// The type of the stream: on demand, live, or live with rewinding; from `live` and `dvr`.
        public var streamType: StreamType { isDVR ? .dvr : isLive ? .live : .onDemand }
        /// The key for comparing values.
        public var identity: String { url?.absoluteString ?? "" }
    }

    /// An audio track or subtitles within a stream.
    public struct Variant: CatalogueModel {
        /// The locale; from `locale`.
        public var locale: Locale?
        /// The language as it is shown; from `language`.
        public var language: String?
        /// The source of the variant; from `source`.
        public var source: Source = .none
        /// The purpose of the variant; from `type`.
        public var type: Kind = .none

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("locale", &locale)
            try members.read("language", &language)
            try members.read("source", &source)
            try members.read("type", &type)
        }
    }

    /// Subtitles in a separate file.
    public struct Subtitle: CatalogueModel {
        /// The locale; from `locale`.
        public var locale: Locale?
        /// The language as it is shown; from `language`.
        public var language: String?
        /// The source of the variant; from `source`.
        public var source: Variant.Source = .none
        /// The purpose of the variant; from `type`.
        public var type: Variant.Kind = .none
        /// The format of the file; from `format`.
        public var format: Format = .none
        /// The address of the file; from `url`.
        public var url: URL?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("locale", &locale)
            try members.read("language", &language)
            try members.read("source", &source)
            try members.read("type", &type)
            try members.read("format", &format)
            try members.read("url", &url)
        }
    }
}

extension Catalogue.Resource {
    /// A way to decrypt a stream.
    public struct DRM: CatalogueModel {
        /// The system; from `type`.
        public var type: Kind = .none
        /// The address of the licence server; from `licenseUrl`.
        public var licenseURL: URL?
        /// The certificate of the application; from `certificateUrl`.
        public var certificateURL: URL?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("type", &type)
            try members.read("licenseUrl", &licenseURL)
            try members.read("certificateUrl", &certificateURL)
        }
    }
}

extension Catalogue.Chapter {
    /// The thumbnails of a media, all in one image.
    public struct SpriteSheet: CatalogueModel {
        /// The URN of the media; from `urn`.
        public var urn = ""
        /// The address of the image; from `url`.
        public var url: URL?
        /// The number of rows; from `rows`.
        public var rows: Int = 0
        /// The number of columns; from `columns`.
        public var columns: Int = 0
        /// The width of a thumbnail in pixels; from `thumbnailWidth`.
        public var thumbnailWidth: Double = 0
        /// The height of a thumbnail in pixels; from `thumbnailHeight`.
        public var thumbnailHeight: Double = 0
        /// The time between two thumbnails; from `interval`.
        public var interval: Duration = .zero

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("urn", &urn)
            try members.read("url", &url)
            try members.read("rows", &rows)
            try members.read("columns", &columns)
            try members.read("thumbnailWidth", &thumbnailWidth)
            try members.read("thumbnailHeight", &thumbnailHeight)
            try members.read("interval", &interval)
        }
    }
}

extension Catalogue.Resource {
    /// The type of a stream.
    public enum StreamType: Sendable, Hashable, CaseIterable {
        /// Unknown.
        case none
        /// From beginning to end, at any time.
        case onDemand
        /// Live only.
        case live
        /// Live, with rewinding.
        case dvr
    }

    /// The codec of audio.
    public enum AudioCodec: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `AAC`.
        case aac = "AAC"
        /// `AAC-HE`.
        case aacHE = "AAC-HE"
        /// `MP3`.
        case mp3 = "MP3"
        /// `MP2`.
        case mp2 = "MP2"
        /// `WMAV2`.
        case wmaV2 = "WMAV2"
        /// `UNKNOWN`, and every word that is not in the list.
        case unknown = "UNKNOWN"

        /// The value for a word that is not in the list.
        public static var fallback: Self { .unknown }
    }
}

extension Catalogue.Resource.DRM {
    /// A digital rights management system.
    public enum Kind: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `FAIRPLAY`.
        case fairPlay = "FAIRPLAY"
        /// `WIDEVINE`.
        case widevine = "WIDEVINE"
        /// `PLAYREADY`.
        case playReady = "PLAYREADY"
    }
}

extension Catalogue.Resource {
    /// The container format of a stream.
    public enum Container: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `MP4`.
        case mp4 = "MP4"
        /// `MKV`.
        case mkv = "MKV"
        /// `UNKNOWN`, and every word that is not in the list.
        case unknown = "UNKNOWN"

        /// The value for a word that is not in the list.
        public static var fallback: Self { .unknown }
    }

    /// The quality of a stream, in ascending order.
    public enum Quality: String, CatalogueWord, Comparable {
        /// No value.
        case none = ""
        /// `SD`.
        case sd = "SD"
        /// `HD`.
        case hd = "HD"
        /// `HQ`.
        case hq = "HQ"

        /// Whether a quality is lower.
        public static func < (lhs: Quality, rhs: Quality) -> Bool {
            let all = Quality.allCases
            return all.firstIndex(of: lhs) ?? 0 < all.firstIndex(of: rhs) ?? 0
        }
    }

    /// The streaming method of a resource.
    public enum StreamingMethod: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `PROGRESSIVE`.
        case progressive = "PROGRESSIVE"
        /// `M3UPLAYLIST`.
        case m3uPlaylist = "M3UPLAYLIST"
        /// `HLS`.
        case hls = "HLS"
        /// `HDS`.
        case hds = "HDS"
        /// `RTMP`.
        case rtmp = "RTMP"
        /// `HTTP`.
        case http = "HTTP"
        /// `HTTPS`.
        case https = "HTTPS"
        /// `DASH`.
        case dash = "DASH"
        /// `UNKNOWN`, and every word that is not in the list.
        case unknown = "UNKNOWN"

        /// The value for a word that is not in the list.
        public static var fallback: Self { .unknown }
    }
}

extension Catalogue.Subtitle {
    /// The format of a subtitle file.
    public enum Format: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `TTML`.
        case ttml = "TTML"
        /// `VTT`.
        case vtt = "VTT"
    }
}

extension Catalogue.Resource {
    /// The kind of token that a stream's address needs.
    public enum TokenType: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `AKAMAI`.
        case akamai = "AKAMAI"
    }
}

extension Catalogue.Variant {
    /// The source of an audio track or subtitles.
    public enum Source: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `EXTERNAL`.
        case external = "EXTERNAL"
        /// `HLS`.
        case hls = "HLS"
        /// `HDS`.
        case hds = "HDS"
        /// `DASH`.
        case dash = "DASH"
    }

    /// The purpose of an audio track or subtitles.
    public enum Kind: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `AUDIO_DESCRIPTION`.
        case audioDescription = "AUDIO_DESCRIPTION"
        /// `SDH`.
        case sdh = "SDH"
    }
}

extension Catalogue.Resource {
    /// The codec of video.
    public enum VideoCodec: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `H264`.
        case h264 = "H264"
        /// `VP6F`.
        case vp6f = "VP6F"
        /// `MPEG2`.
        case mpeg2 = "MPEG2"
        /// `WMV3`.
        case wmv3 = "WMV3"
        /// `UNKNOWN`, and every word that is not in the list.
        case unknown = "UNKNOWN"

        /// The value for a word that is not in the list.
        public static var fallback: Self { .unknown }
    }
}
