import FoundationEssentials
import LadeJSON

/// Medias that read themselves.
enum Read {
    struct MediaPage: Codable, FastJSONDecoder.Readable {
        enum CodingKeys: String, CodingKey, CaseIterable { case mediaList, next }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()

        var mediaList: [Media]
        var next: String?

        init(from reader: inout FastJSONDecoder.Reader) throws {
            var mediaList: [Media]?
            var next: String?
            try reader.readMembers(Self.keys) { key, reader in
                switch key {
                case .mediaList: mediaList = try reader.read([Media].self)
                case .next: next = try reader.readIfPresent(String.self)
                }
            }
            guard let mediaList else { throw reader.missing(CodingKeys.mediaList) }
            (self.mediaList, self.next) = (mediaList, next)
        }
    }

    struct Media: Codable, FastJSONDecoder.Readable {
        enum CodingKeys: String, CodingKey, CaseIterable {
            case id, urn, vendor, mediaType, title, lead, description, imageUrl, imageTitle, imageFocalPoint, type, date
            case duration, validFrom, validTo, playableAbroad, presentation, youthProtectionColor, podcastHdUrl
            case socialCountList, show, relatedContentList
        }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()

        var id = ""
        var urn = ""
        var vendor = Vendor.srf
        var mediaType = MediaType.video
        var title = ""
        var lead: String?
        var description: String?
        var imageUrl = ""
        var imageTitle: String?
        var imageFocalPoint: FocalPoint?
        var type = ContentType.clip
        var date = Date(timeIntervalSince1970: 0)
        var duration = 0.0
        var validFrom: Date?
        var validTo: Date?
        var playableAbroad = false
        var presentation = Presentation.standard
        var youthProtectionColor: YouthProtectionColor?
        var podcastHdUrl: String?
        var socialCountList: [SocialCount]?
        var show: Show?
        var relatedContentList: [String]?

        init(from reader: inout FastJSONDecoder.Reader) throws {
            try reader.readMembers(Self.keys) { key, reader in
                switch key {
                case .id: id = try reader.read(String.self)
                case .urn: urn = try reader.read(String.self)
                case .vendor: vendor = try reader.read(Vendor.self)
                case .mediaType: mediaType = try reader.read(MediaType.self)
                case .title: title = try reader.read(String.self)
                case .lead: lead = try reader.readIfPresent(String.self)
                case .description: description = try reader.readIfPresent(String.self)
                case .imageUrl: imageUrl = try reader.read(String.self)
                case .imageTitle: imageTitle = try reader.readIfPresent(String.self)
                case .imageFocalPoint: imageFocalPoint = try reader.readIfPresent(FocalPoint.self)
                case .type: type = try reader.read(ContentType.self)
                case .date: date = try reader.read(Date.self)
                case .duration: duration = try reader.read(Double.self)
                case .validFrom: validFrom = try reader.readIfPresent(Date.self)
                case .validTo: validTo = try reader.readIfPresent(Date.self)
                case .playableAbroad: playableAbroad = try reader.read(Bool.self)
                case .presentation: presentation = try reader.read(Presentation.self)
                case .youthProtectionColor: youthProtectionColor = try reader.readIfPresent(YouthProtectionColor.self)
                case .podcastHdUrl: podcastHdUrl = try reader.readIfPresent(String.self)
                case .socialCountList:
                    socialCountList = reader.isNull ? nil : try reader.read([SocialCount].self)
                case .show: show = try reader.readIfPresent(Show.self)
                case .relatedContentList: relatedContentList = try reader.readIfPresent([String].self)
                }
            }
        }
    }

    struct FocalPoint: Codable, FastJSONDecoder.Readable {
        enum CodingKeys: String, CodingKey, CaseIterable { case percentageX, percentageY }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()

        var percentageX = 0
        var percentageY = 0

        init(from reader: inout FastJSONDecoder.Reader) throws {
            try reader.readMembers(Self.keys) { key, reader in
                switch key {
                case .percentageX: percentageX = try reader.read(Int.self)
                case .percentageY: percentageY = try reader.read(Int.self)
                }
            }
        }
    }

    struct SocialCount: Codable, FastJSONDecoder.Readable {
        enum CodingKeys: String, CodingKey, CaseIterable { case key, value }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()

        var key = ""
        var value = 0

        init(from reader: inout FastJSONDecoder.Reader) throws {
            try reader.readMembers(Self.keys) { name, reader in
                switch name {
                case .key: key = try reader.read(String.self)
                case .value: value = try reader.read(Int.self)
                }
            }
        }
    }

    struct Show: Codable, FastJSONDecoder.Readable {
        enum CodingKeys: String, CodingKey, CaseIterable { case id, urn, vendor, transmission, title, lead, imageUrl }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()

        var id = ""
        var urn = ""
        var vendor = Vendor.srf
        var transmission = Transmission.tv
        var title = ""
        var lead: String?
        var imageUrl = ""

        init(from reader: inout FastJSONDecoder.Reader) throws {
            try reader.readMembers(Self.keys) { key, reader in
                switch key {
                case .id: id = try reader.read(String.self)
                case .urn: urn = try reader.read(String.self)
                case .vendor: vendor = try reader.read(Vendor.self)
                case .transmission: transmission = try reader.read(Transmission.self)
                case .title: title = try reader.read(String.self)
                case .lead: lead = try reader.readIfPresent(String.self)
                case .imageUrl: imageUrl = try reader.read(String.self)
                }
            }
        }
    }
}
