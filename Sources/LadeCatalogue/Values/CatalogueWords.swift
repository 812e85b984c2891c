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

extension Catalogue {
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

    /// The type of a media.
    public enum MediaType: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `VIDEO`.
        case video = "VIDEO"
        /// `AUDIO`.
        case audio = "AUDIO"
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

    /// A warning for young people.
    public enum YouthProtectionColor: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `YELLOW`.
        case yellow = "YELLOW"
        /// `RED`.
        case red = "RED"
    }
}
