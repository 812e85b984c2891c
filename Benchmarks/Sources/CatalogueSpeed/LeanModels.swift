#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The leanest types for the members that the document has: no rules for missing values, words or dates, every member
// decoded by hand.

enum LeanType: String, Decodable { case EPISODE, CLIP, OTHER }
enum LeanVendor: String, Decodable { case RTS, SRF }
enum LeanMediaType: String, Decodable { case VIDEO, AUDIO }
enum LeanPresentation: String, Decodable { case DEFAULT }
enum LeanColor: String, Decodable { case YELLOW, RED }
enum LeanTransmission: String, Decodable { case TV }

struct LeanFocalPoint: Decodable {
    var x: Double
    var y: Double

    enum CodingKeys: String, CodingKey {
        case x = "percentageX"
        case y = "percentageY"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        x = try members.decode(Double.self, forKey: .x)
        y = try members.decode(Double.self, forKey: .y)
    }
}

struct LeanCount: Decodable {
    var key: String
    var value: Int

    enum CodingKeys: String, CodingKey { case key, value }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        key = try members.decode(String.self, forKey: .key)
        value = try members.decode(Int.self, forKey: .value)
    }
}

struct LeanShow: Decodable {
    var id: String
    var urn: String
    var vendor: LeanVendor
    var transmission: LeanTransmission
    var title: String
    var imageUrl: URL?

    enum CodingKeys: String, CodingKey { case id, urn, vendor, transmission, title, imageUrl }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        id = try members.decode(String.self, forKey: .id)
        urn = try members.decode(String.self, forKey: .urn)
        vendor = try members.decode(LeanVendor.self, forKey: .vendor)
        transmission = try members.decode(LeanTransmission.self, forKey: .transmission)
        title = try members.decode(String.self, forKey: .title)
        imageUrl = try members.decodeIfPresent(URL.self, forKey: .imageUrl)
    }
}

struct LeanMedia: Decodable {
    var id: String
    var urn: String
    var vendor: LeanVendor
    var mediaType: LeanMediaType
    var title: String
    var lead: String?
    var description: String?
    var imageUrl: URL?
    var imageTitle: String?
    var imageFocalPoint: LeanFocalPoint?
    var type: LeanType
    var date: Date?
    var duration: Int
    var validFrom: Date?
    var playableAbroad: Bool
    var presentation: LeanPresentation?
    var youthProtectionColor: LeanColor?
    var podcastHdUrl: URL?
    var socialCountList: [LeanCount]?
    var show: LeanShow?

    enum CodingKeys: String, CodingKey {
        case id, urn, vendor, mediaType, title, lead, description, imageUrl, imageTitle, imageFocalPoint, type, date
        case duration, validFrom, playableAbroad, presentation, youthProtectionColor, podcastHdUrl, socialCountList,
            show
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        id = try members.decode(String.self, forKey: .id)
        urn = try members.decode(String.self, forKey: .urn)
        vendor = try members.decode(LeanVendor.self, forKey: .vendor)
        mediaType = try members.decode(LeanMediaType.self, forKey: .mediaType)
        title = try members.decode(String.self, forKey: .title)
        lead = try members.decodeIfPresent(String.self, forKey: .lead)
        description = try members.decodeIfPresent(String.self, forKey: .description)
        imageUrl = try members.decodeIfPresent(URL.self, forKey: .imageUrl)
        imageTitle = try members.decodeIfPresent(String.self, forKey: .imageTitle)
        imageFocalPoint = try members.decodeIfPresent(LeanFocalPoint.self, forKey: .imageFocalPoint)
        type = try members.decode(LeanType.self, forKey: .type)
        date = try members.decodeIfPresent(Date.self, forKey: .date)
        duration = try members.decode(Int.self, forKey: .duration)
        validFrom = try members.decodeIfPresent(Date.self, forKey: .validFrom)
        playableAbroad = try members.decode(Bool.self, forKey: .playableAbroad)
        presentation = try members.decodeIfPresent(LeanPresentation.self, forKey: .presentation)
        youthProtectionColor = try members.decodeIfPresent(LeanColor.self, forKey: .youthProtectionColor)
        podcastHdUrl = try members.decodeIfPresent(URL.self, forKey: .podcastHdUrl)
        socialCountList = try members.decodeIfPresent([LeanCount].self, forKey: .socialCountList)
        show = try members.decodeIfPresent(LeanShow.self, forKey: .show)
    }
}

struct LeanPage: Decodable {
    var mediaList: [LeanMedia]
    var next: String?
}
