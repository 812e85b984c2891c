/// A word of the catalogue, one of a known list.
///
/// Raw values are the words of the service. A word that is not in the list is the ``fallback``.
public protocol CatalogueWord: RawRepresentable<String>, Decodable, Sendable, Hashable, CaseIterable {
    /// What stands for a missing word.
    static var none: Self { get }
    /// What stands for a word that is not in the list.
    static var fallback: Self { get }
}

extension CatalogueWord {
    /// What stands for a word that is not in the list: nothing.
    public static var fallback: Self { .none }

    /// Decodes a word.
    ///
    /// - Throws: `DecodingError` for anything but a text.
    public init(from decoder: any Decoder) throws {
        let word = try decoder.singleValueContainer().decode(String.self)
        self = word.isEmpty ? .fallback : Self(rawValue: word) ?? .fallback
    }
}

/// How audio is encoded.
public enum AudioCodec: String, CatalogueWord {
    /// Nothing was said.
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

    /// What stands for a word that is not in the list.
    public static var fallback: Self { .unknown }
}

/// Why something cannot be played.
public enum BlockingReason: String, CatalogueWord {
    /// Nothing was said.
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

    /// What stands for a word that is not in the list.
    public static var fallback: Self { .unknown }
}

/// What a link of a section leads to.
public enum EditorialLinkType: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `DETAIL_PAGE`.
    case detailPage = "DETAIL_PAGE"
    /// `MICRO_PAGE`.
    case microPage = "MICRO_PAGE"
}

/// What an editorial page is for.
public enum EditorialPageType: String, CatalogueWord {
    /// Nothing was said.
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

/// How a section arranges its content.
public enum EditorialPresentationType: String, CatalogueWord {
    /// Nothing was said.
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

/// What a section holds.
public enum EditorialSectionType: String, CatalogueWord {
    /// Nothing was said.
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

/// The kind of medias that a section holds.
public enum EditorialMediaType: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `AUDIO`.
    case audio = "AUDIO"
    /// `VIDEO`.
    case video = "VIDEO"
}

/// What kind of content a media is.
public enum ContentType: String, CatalogueWord {
    /// Nothing was said.
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

/// A system for protecting streams.
public enum DRMType: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `FAIRPLAY`.
    case fairPlay = "FAIRPLAY"
    /// `WIDEVINE`.
    case widevine = "WIDEVINE"
    /// `PLAYREADY`.
    case playReady = "PLAYREADY"
}

/// How a stream is packed.
public enum MediaContainer: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `MP4`.
    case mp4 = "MP4"
    /// `MKV`.
    case mkv = "MKV"
    /// `UNKNOWN`, and every word that is not in the list.
    case unknown = "UNKNOWN"

    /// What stands for a word that is not in the list.
    public static var fallback: Self { .unknown }
}

/// Video or audio.
public enum MediaType: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `VIDEO`.
    case video = "VIDEO"
    /// `AUDIO`.
    case audio = "AUDIO"
}

/// The kind of a module.
public enum ModuleType: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `EVENT`.
    case event = "EVENT"
}

/// How a video is shown.
public enum Presentation: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `DEFAULT`.
    case `default` = "DEFAULT"
    /// `VIDEO_360`.
    case video360 = "VIDEO_360"
}

/// The quality of a stream, in ascending order.
public enum Quality: String, CatalogueWord, Comparable {
    /// Nothing was said.
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

/// What is counted.
public enum SocialCountType: String, CatalogueWord {
    /// Nothing was said.
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

/// What put a media on a list.
public enum MediaSource: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `EDITOR`.
    case editor = "EDITOR"
    /// `TRENDING`.
    case trending = "TRENDING"
    /// `RECOMMENDATION`.
    case recommendation = "RECOMMENDATION"
}

/// How a stream is delivered.
public enum StreamingMethod: String, CatalogueWord {
    /// Nothing was said.
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

    /// What stands for a word that is not in the list.
    public static var fallback: Self { .unknown }
}

/// The format of a file with subtitles.
public enum SubtitleFormat: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `TTML`.
    case ttml = "TTML"
    /// `VTT`.
    case vtt = "VTT"
}

/// The token that the address of a stream needs.
public enum TokenType: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `AKAMAI`.
    case akamai = "AKAMAI"
}

/// How something is broadcast.
public enum Transmission: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `TV`.
    case tv = "TV"
    /// `RADIO`.
    case radio = "RADIO"
    /// `ONLINE`.
    case online = "ONLINE"
    /// `UNKNOWN`, and every word that is not in the list.
    case unknown = "UNKNOWN"

    /// What stands for a word that is not in the list.
    public static var fallback: Self { .unknown }
}

/// Where an audio track or subtitles are found.
public enum VariantSource: String, CatalogueWord {
    /// Nothing was said.
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

/// What an audio track or subtitles are made for.
public enum VariantType: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `AUDIO_DESCRIPTION`.
    case audioDescription = "AUDIO_DESCRIPTION"
    /// `SDH`.
    case sdh = "SDH"
}

/// A broadcaster.
public enum Vendor: String, CatalogueWord {
    /// Nothing was said.
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

/// How video is encoded.
public enum VideoCodec: String, CatalogueWord {
    /// Nothing was said.
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

    /// What stands for a word that is not in the list.
    public static var fallback: Self { .unknown }
}

/// A warning for young people.
public enum YouthProtectionColor: String, CatalogueWord {
    /// Nothing was said.
    case none = ""
    /// `YELLOW`.
    case yellow = "YELLOW"
    /// `RED`.
    case red = "RED"
}
