public import Foundation

/// A media of `lade serve`, as an app would write it, for the peers of Benchmarks/pages that decode.
public struct Media: Decodable, Sendable {
    enum Vendor: String, Decodable, Sendable {
        case srf = "SRF", rts = "RTS", rsi = "RSI", rtr = "RTR", swi = "SWI"
    }
    enum MediaType: String, Decodable, Sendable { case video = "VIDEO", audio = "AUDIO" }
    enum ContentType: String, Decodable, Sendable {
        case episode = "EPISODE", clip = "CLIP", livestream = "LIVESTREAM", event = "SCHEDULED_LIVESTREAM"
    }
    enum YouthProtectionColor: String, Decodable, Sendable {
        case yellow = "YELLOW", green = "GREEN", red = "RED"
    }

    struct FocalPoint: Decodable, Sendable { var percentageX: Int, percentageY: Int }
    struct SocialCount: Decodable, Sendable { var key: String, value: Int }

    struct Show: Decodable, Sendable {
        var id: String
        var urn: String
        var vendor: Vendor
        var transmission: String
        var title: String
        var imageUrl: String
    }

    var id: String
    var urn: String
    var vendor: Vendor
    var mediaType: MediaType
    var title: String
    var lead: String?
    var description: String?
    var imageUrl: String
    var imageTitle: String?
    var imageFocalPoint: FocalPoint?
    var type: ContentType
    var date: Date
    var duration: Double
    var validFrom: Date?
    var playableAbroad: Bool
    var presentation: String
    var youthProtectionColor: YouthProtectionColor?
    var podcastHdUrl: String?
    var socialCountList: [SocialCount]?
    var show: Show?

    /// A line with the member by which Benchmarks/pages counts items.
    public var line: String { "{\"id\":\"\(id)\",\"validFrom\":\(validFrom?.timeIntervalSince1970 ?? 0)}\n" }
}

/// A file that lines are appended to.
public struct LineFile {
    private let file: FileHandle

    /// Creates a file; nil when that is not possible.
    public init?(_ path: String) {
        guard FileManager.default.createFile(atPath: path, contents: nil) else { return nil }
        guard let file = FileHandle(forWritingAtPath: path) else { return nil }
        self.file = file
    }

    /// Appends a line for each media.
    public func write(_ medias: [Media]) throws {
        try file.write(contentsOf: Data(medias.map(\.line).joined().utf8))
    }

    /// Appends bytes.
    public func write(_ bytes: Data) throws { try file.write(contentsOf: bytes) }
}
