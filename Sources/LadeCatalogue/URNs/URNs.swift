import LadeCore

/// The components of a URN in the catalogue.
///
/// Services accept URNs as texts and do not need this type. URNs are equal when their texts are.
public protocol CatalogueURN: Sendable, Hashable, CustomStringConvertible {
    /// The text, unchanged.
    var text: String { get }
    /// The broadcaster.
    var vendor: Vendor { get }
    /// The identifier, in its original letter case.
    var uid: String { get }
    /// Parses a text; nil when it is not a URN of this kind.
    init?(_ text: String)
}

extension CatalogueURN {
    /// The text, unchanged.
    public var description: String { text }
    /// Whether the texts are equal.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text == rhs.text }
    /// Hashes the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// The URN of a video or an audio.
///
/// Examples are `urn:rts:video:100001` and `urn:swisstxt:video:srf:1`. The URN of a livestream has a word between
/// vendor and type, as in `urn:rts:livestream:video:1`.
public struct MediaURN: CatalogueURN {
    /// The text, unchanged.
    public let text: String
    /// The broadcaster.
    public let vendor: Vendor
    /// The media type, video or audio.
    public let mediaType: CatalogueMediaType
    /// The identifier, in its original letter case.
    public let uid: String
    /// Whether the media is an event of the live centre, delivered by Swiss TXT.
    public let isLiveCenterEvent: Bool

    /// Parses a text; nil when it is not a URN of this kind.
    public init?(_ text: String) {
        guard var parts = text.urnParts else { return nil }
        let isEvent = parts.first == "swisstxt"
        if isEvent {
            guard parts.count == 4 else { return nil }
            // The vendor follows the type.
            parts = [parts[2], parts[1], parts[3]]
        } else if parts.count > 1, ["ssatr", "livestream", "scheduled_livestream"].contains(parts[1]) {
            guard parts.count == 4 else { return nil }
            parts.remove(at: 1)
        }
        guard parts.count >= 3, let vendor = Vendor(urnVendor: parts[0]),
            let type = CatalogueMediaType(urnPart: parts[1]),
            !parts[2].isEmpty
        else { return nil }
        self.text = text
        self.vendor = vendor
        mediaType = type
        uid = String(parts[2])
        isLiveCenterEvent = isEvent
    }
}

/// The URN of a show, such as `urn:rts:show:tv:1`.
public struct ShowURN: CatalogueURN {
    /// The text, unchanged.
    public let text: String
    /// The broadcaster.
    public let vendor: Vendor
    /// The way of broadcasting.
    public let transmission: Transmission
    /// The identifier, in its original letter case.
    public let uid: String

    /// Parses a text; nil when it is not a URN of this kind.
    public init?(_ text: String) {
        guard let parts = TransmissionURNParts(text, "show") else { return nil }
        self.text = text
        (vendor, transmission, uid) = (parts.vendor, parts.transmission, parts.uid)
    }
}

/// The URN of a topic, such as `urn:rts:topic:tv:1`.
public struct TopicURN: CatalogueURN {
    /// The text, unchanged.
    public let text: String
    /// The broadcaster.
    public let vendor: Vendor
    /// The way of broadcasting.
    public let transmission: Transmission
    /// The identifier, in its original letter case.
    public let uid: String

    /// Parses a text; nil when it is not a URN of this kind.
    public init?(_ text: String) {
        guard let parts = TransmissionURNParts(text, "topic") else { return nil }
        self.text = text
        (vendor, transmission, uid) = (parts.vendor, parts.transmission, parts.uid)
    }
}

/// The URN of a module, such as `urn:rts:module:event:1`, or of its section, such as `urn:rts:module:event:1:2`.
public struct ModuleURN: CatalogueURN {
    /// The text, unchanged.
    public let text: String
    /// The broadcaster.
    public let vendor: Vendor
    /// The kind of module.
    public let moduleType: ModuleType
    /// The identifier, in its original letter case.
    public let uid: String
    /// The identifier of the section; nil for the module itself.
    public let sectionUid: String?

    /// Parses a text; nil when it is not a URN of this kind.
    public init?(_ text: String) {
        guard let parts = text.urnParts, parts.count == 4 || parts.count == 5,
            let vendor = Vendor(urnVendor: parts[0]), parts[1].lowercased() == "module",
            let type = ModuleType(urnPart: parts[2]), !parts[3].isEmpty, parts.last?.isEmpty == false
        else { return nil }
        self.text = text
        self.vendor = vendor
        moduleType = type
        uid = String(parts[3])
        sectionUid = parts.count == 5 ? String(parts[4]) : nil
    }
}

private struct TransmissionURNParts {
    let vendor: Vendor
    let transmission: Transmission
    let uid: String

    init?(_ text: String, _ keyword: String) {
        guard let parts = text.urnParts, parts.count == 4, let vendor = Vendor(urnVendor: parts[0]),
            parts[1].lowercased() == keyword, let transmission = Transmission(urnPart: parts[2]),
            transmission != .unknown, !parts[3].isEmpty
        else { return nil }
        self.vendor = vendor
        self.transmission = transmission
        uid = String(parts[3])
    }
}

extension String {
    /// The parts after `urn`; nil without it.
    fileprivate var urnParts: [Substring]? {
        let parts = self.parts(at: ":")
        guard parts.first?.lowercased() == "urn" else { return nil }
        return Array(parts.dropFirst())
    }
}

extension Vendor {
    /// Makes a vendor from a part of a URN; nil for Swiss satellite radio, which is not a vendor there.
    fileprivate init?(urnVendor part: Substring) {
        self.init(urnPart: part)
        guard self != .ssatr else { return nil }
    }
}

extension CatalogueWord {
    /// Makes a word from a part of a URN, in any letter case; nil for an unknown one.
    fileprivate init?(urnPart: Substring) {
        guard !urnPart.isEmpty, let word = Self(rawValue: urnPart.uppercased()) else { return nil }
        self = word
    }
}
