import FoundationEssentials

// The types that the documents are decoded to, as an app would write them.

enum Vendor: String, Codable { case srf = "SRF", rts = "RTS", rsi = "RSI", rtr = "RTR", swi = "SWI" }
enum MediaType: String, Codable { case video = "VIDEO", audio = "AUDIO" }
enum ContentType: String, Codable { case episode = "EPISODE", clip = "CLIP", trailer = "TRAILER" }
enum Presentation: String, Codable { case standard = "DEFAULT", video360 = "VIDEO_360" }
enum YouthProtectionColor: String, Codable { case yellow = "YELLOW", green = "GREEN", red = "RED" }
enum Transmission: String, Codable { case tv = "TV", radio = "RADIO", online = "ONLINE" }

struct FocalPoint: Codable { var percentageX: Int, percentageY: Int }
struct SocialCount: Codable { var key: String, value: Int }

/// Medias with texts for addresses.
enum Plain {
    typealias Link = String

    struct MediaPage: Codable {
        var mediaList: [Media]
        var next: String?
    }

    struct Media: Codable {
        var id: String
        var urn: String
        var vendor: Vendor
        var mediaType: MediaType
        var title: String
        var lead: String?
        var description: String?
        var imageUrl: Link
        var imageTitle: String?
        var imageFocalPoint: FocalPoint?
        var type: ContentType
        var date: Date
        var duration: Double
        var validFrom: Date?
        var validTo: Date?
        var playableAbroad: Bool
        var presentation: Presentation
        var youthProtectionColor: YouthProtectionColor?
        var podcastHdUrl: Link?
        var socialCountList: [SocialCount]?
        var show: Show?
        var relatedContentList: [String]?
    }

    struct Show: Codable {
        var id: String
        var urn: String
        var vendor: Vendor
        var transmission: Transmission
        var title: String
        var lead: String?
        var imageUrl: Link
    }
}

/// Medias with URLs.
enum Linked {
    typealias Link = URL

    struct MediaPage: Codable {
        var mediaList: [Media]
        var next: String?
    }

    struct Media: Codable {
        var id: String
        var urn: String
        var vendor: Vendor
        var mediaType: MediaType
        var title: String
        var lead: String?
        var description: String?
        var imageUrl: Link
        var imageTitle: String?
        var imageFocalPoint: FocalPoint?
        var type: ContentType
        var date: Date
        var duration: Double
        var validFrom: Date?
        var validTo: Date?
        var playableAbroad: Bool
        var presentation: Presentation
        var youthProtectionColor: YouthProtectionColor?
        var podcastHdUrl: Link?
        var socialCountList: [SocialCount]?
        var show: Show?
        var relatedContentList: [String]?
    }

    struct Show: Codable {
        var id: String
        var urn: String
        var vendor: Vendor
        var transmission: Transmission
        var title: String
        var lead: String?
        var imageUrl: Link
    }
}

struct Timeline: Codable {
    struct Metadata: Codable {
        var resultType: String
        var isoLanguageCode: String

        enum CodingKeys: String, CodingKey { case resultType = "result_type", isoLanguageCode = "iso_language_code" }
    }

    struct User: Codable {
        var id: Int
        var name: String
        var screenName: String
        var location: String
        var description: String
        var url: String?
        var isProtected: Bool
        var followersCount: Int
        var friendsCount: Int
        var createdAt: String
        var utcOffset: Int?
        var timeZone: String?
        var verified: Bool
        var statusesCount: Int
        var lang: String
        var profileImageURL: String
        var defaultProfile: Bool

        enum CodingKeys: String, CodingKey {
            case id, name, location, description, url, verified, lang
            case screenName = "screen_name"
            case isProtected = "protected"
            case followersCount = "followers_count"
            case friendsCount = "friends_count"
            case createdAt = "created_at"
            case utcOffset = "utc_offset"
            case timeZone = "time_zone"
            case statusesCount = "statuses_count"
            case profileImageURL = "profile_image_url_https"
            case defaultProfile = "default_profile"
        }
    }

    struct Mention: Codable {
        var screenName: String
        var name: String
        var id: Int
        var indices: [Int]

        enum CodingKeys: String, CodingKey {
            case name, id, indices
            case screenName = "screen_name"
        }
    }

    struct Entities: Codable {
        var userMentions: [Mention]

        enum CodingKeys: String, CodingKey { case userMentions = "user_mentions" }
    }

    struct Status: Codable {
        var metadata: Metadata
        var createdAt: String
        var id: Int
        var text: String
        var source: String
        var truncated: Bool
        var inReplyToUserID: Int?
        var inReplyToScreenName: String?
        var user: User
        var retweetCount: Int
        var favoriteCount: Int
        var entities: Entities
        var favorited: Bool
        var retweeted: Bool
        var lang: String

        enum CodingKeys: String, CodingKey {
            case metadata, id, text, source, truncated, user, entities, favorited, retweeted, lang
            case createdAt = "created_at"
            case inReplyToUserID = "in_reply_to_user_id"
            case inReplyToScreenName = "in_reply_to_screen_name"
            case retweetCount = "retweet_count"
            case favoriteCount = "favorite_count"
        }
    }

    var statuses: [Status]
}

/// The same timeline for a decoder that converts names from snake case.
struct ConvertedTimeline: Codable {
    struct Metadata: Codable { var resultType: String, isoLanguageCode: String }

    struct User: Codable {
        var id: Int
        var name: String
        var screenName: String
        var location: String
        var description: String
        var url: String?
        var protected: Bool
        var followersCount: Int
        var friendsCount: Int
        var createdAt: String
        var utcOffset: Int?
        var timeZone: String?
        var verified: Bool
        var statusesCount: Int
        var lang: String
        var profileImageUrlHttps: String
        var defaultProfile: Bool
    }

    struct Mention: Codable { var screenName: String, name: String, id: Int, indices: [Int] }
    struct Entities: Codable { var userMentions: [Mention] }

    struct Status: Codable {
        var metadata: Metadata
        var createdAt: String
        var id: Int
        var text: String
        var source: String
        var truncated: Bool
        var inReplyToUserId: Int?
        var inReplyToScreenName: String?
        var user: User
        var retweetCount: Int
        var favoriteCount: Int
        var entities: Entities
        var favorited: Bool
        var retweeted: Bool
        var lang: String
    }

    var statuses: [Status]
}

struct EventCatalogue: Codable {
    struct Event: Codable {
        var description: String?
        var id: Int
        var logo: String?
        var name: String?
        var subTopicIds: [Int]
        var subjectCode: String?
        var subtitle: String?
        var topicIds: [Int]
    }

    struct Price: Codable { var amount: Int, audienceSubCategoryId: Int, seatCategoryId: Int }
    struct Area: Codable { var areaId: Int, blockIds: [Int] }
    struct SeatCategory: Codable { var areas: [Area], seatCategoryId: Int }

    struct Performance: Codable {
        var eventId: Int
        var id: Int
        var logo: String?
        var name: String?
        var prices: [Price]
        var seatCategories: [SeatCategory]
        var seatMapImage: String?
        var start: Int
        var venueCode: String
    }

    var areaNames: [String: String]
    var events: [String: Event]
    var performances: [Performance]
    var topicNames: [String: String]
}

struct FeatureCollection: Codable {
    struct Geometry: Codable { var type: String, coordinates: [[[Double]]] }
    struct Feature: Codable { var type: String, properties: [String: String], geometry: Geometry }

    var type: String
    var features: [Feature]
}

struct Small: Codable { var id: Int, name: String }

/// A union that tries one type after the other.
enum Scalar: Codable {
    case number(Int)
    case flag(Bool)
    case text(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .number(let value): try container.encode(value)
        case .flag(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        }
    }
}
