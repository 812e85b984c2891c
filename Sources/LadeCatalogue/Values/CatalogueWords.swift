/// A word from a fixed list of the catalogue.
///
/// The raw values are the service's words. A word that is not in the list becomes the ``fallback``.
public protocol CatalogueWord: RawRepresentable<String>, Decodable, Sendable, Hashable, CaseIterable {
    /// The value for a missing word.
    static var none: Self { get }
    /// The value for a word that is not in the list.
    static var fallback: Self { get }
}

extension CatalogueWord {
    /// The value for a word that is not in the list.
    public static var fallback: Self { .none }

    /// Decodes a word.
    ///
    /// - Throws: `DecodingError` for a value that is not a text.
    public init(from decoder: any Decoder) throws {
        let word = try decoder.singleValueContainer().decode(String.self)
        self = word.isEmpty ? .fallback : Self(rawValue: word) ?? .fallback
    }
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

/// The reason why something cannot be played.
public enum BlockingReason: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `GEOBLOCK`.
    case geoblocking = "GEOBLOCK"
    /// `LEGAL`.
    case legal = "LEGAL"
    /// `COMMERCIAL`.
    case commercial = "COMMERCIAL"
    /// `JOURNALISTIC`.
    case journalistic = "JOURNALISTIC"
    /// `AGERATING18`.
    case ageRating18 = "AGERATING18"
    /// `AGERATING12`.
    case ageRating12 = "AGERATING12"
    /// `STARTDATE`.
    case startDate = "STARTDATE"
    /// `ENDDATE`.
    case endDate = "ENDDATE"
    /// `VPNORPROXYDETECTED`.
    case vpnOrProxy = "VPNORPROXYDETECTED"
    /// `UNKNOWN`, and every word that is not in the list.
    case unknown = "UNKNOWN"

    /// The value for a word that is not in the list.
    public static var fallback: Self { .unknown }
}

/// The kind of a section's destination.
public enum EditorialLinkType: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `DETAIL_PAGE`.
    case detailPage = "DETAIL_PAGE"
    /// `MICRO_PAGE`.
    case microPage = "MICRO_PAGE"
}

/// The kind of an editorial page.
public enum EditorialPageType: String, CatalogueWord {
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

/// The presentation of a section's content.
public enum EditorialPresentationType: String, CatalogueWord {
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

/// The kind of a section's content.
public enum EditorialSectionType: String, CatalogueWord {
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

/// A digital rights management system.
public enum DRMType: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `FAIRPLAY`.
    case fairPlay = "FAIRPLAY"
    /// `WIDEVINE`.
    case widevine = "WIDEVINE"
    /// `PLAYREADY`.
    case playReady = "PLAYREADY"
}

/// The container format of a stream.
public enum MediaContainer: String, CatalogueWord {
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

/// The type of a media.
public enum CatalogueMediaType: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `VIDEO`.
    case video = "VIDEO"
    /// `AUDIO`.
    case audio = "AUDIO"
}

/// The kind of a module.
public enum ModuleType: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `EVENT`.
    case event = "EVENT"
}

/// The presentation of a video.
public enum Presentation: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `DEFAULT`.
    case `default` = "DEFAULT"
    /// `VIDEO_360`.
    case video360 = "VIDEO_360"
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

/// The kind of a count.
public enum SocialCountType: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `srgView`.
    case view = "srgView"
    /// `srgLike`.
    case like = "srgLike"
    /// `fbShare`.
    case facebook = "fbShare"
    /// `twitterShare`.
    case twitter = "twitterShare"
    /// `googleShare`.
    case googlePlus = "googleShare"
    /// `whatsAppShare`.
    case whatsApp = "whatsAppShare"
}

/// The reason why a media is on a list.
public enum MediaSource: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `EDITOR`.
    case editor = "EDITOR"
    /// `TRENDING`.
    case trending = "TRENDING"
    /// `RECOMMENDATION`.
    case recommendation = "RECOMMENDATION"
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

/// The format of a subtitle file.
public enum SubtitleFormat: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `TTML`.
    case ttml = "TTML"
    /// `VTT`.
    case vtt = "VTT"
}

/// The kind of token that a stream's address needs.
public enum TokenType: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `AKAMAI`.
    case akamai = "AKAMAI"
}

/// The way of broadcasting.
public enum Transmission: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `TV`.
    case tv = "TV"
    /// `RADIO`.
    case radio = "RADIO"
    /// `ONLINE`.
    case online = "ONLINE"
    /// `UNKNOWN`, and every word that is not in the list.
    case unknown = "UNKNOWN"

    /// The value for a word that is not in the list.
    public static var fallback: Self { .unknown }
}

/// The source of an audio track or subtitles.
public enum VariantSource: String, CatalogueWord {
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
public enum VariantType: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `AUDIO_DESCRIPTION`.
    case audioDescription = "AUDIO_DESCRIPTION"
    /// `SDH`.
    case sdh = "SDH"
}

/// A broadcaster.
public enum Vendor: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `RSI`.
    case rsi = "RSI"
    /// `RTR`.
    case rtr = "RTR"
    /// `RTS`.
    case rts = "RTS"
    /// `SRF`.
    case srf = "SRF"
    /// `SWI`.
    case swi = "SWI"
    /// `TVO`.
    case tvo = "TVO"
    /// `CA`.
    case canalAlpha = "CA"
    /// `SSATR`.
    case ssatr = "SSATR"
}

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

/// A warning for young people.
public enum YouthProtectionColor: String, CatalogueWord {
    /// No value.
    case none = ""
    /// `YELLOW`.
    case yellow = "YELLOW"
    /// `RED`.
    case red = "RED"
}
