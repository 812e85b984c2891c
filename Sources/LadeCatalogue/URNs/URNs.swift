/// A name of something in the catalogue, taken apart.
///
/// Services take URNs as texts, and need none of this. URNs are equal when their texts are.
public protocol CatalogueURN: Sendable, Hashable, CustomStringConvertible {
    /// The text, as it was written.
    var text: String { get }
    /// The broadcaster.
    var vendor: Vendor { get }
    /// The identifier, in the case it was written in.
    var uid: String { get }
    /// Takes a text apart; nil when it does not have the form.
    init?(_ text: String)
}

extension CatalogueURN {
    /// The text, as it was written.
    public var description: String { text }
    /// Whether the texts are equal.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text == rhs.text }
    /// Hashes the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// The name of a video or an audio.
///
/// `urn:rts:video:100001`, `urn:swisstxt:video:srf:1`, and for livestreams a word between vendor and type as in
/// `urn:rts:livestream:video:1`.
public struct MediaURN: CatalogueURN {
    /// The text, as it was written.
    public let text: String
    /// The broadcaster.
    public let vendor: Vendor
    /// Video or audio.
    public let mediaType: MediaType
    /// The identifier, in the case it was written in.
    public let uid: String
    /// Whether it is an event of the live centre, which Swiss TXT delivers.
    public let isLiveCenterEvent: Bool

    /// Takes a text apart; nil when it does not have the form.
    public init?(_ text: String) {
        guard var parts = text.urnParts else { return nil }
        let isEvent = parts.first == "swisstxt"
        if isEvent {
            guard parts.count == 4 else { return nil }
            // The vendor comes after the type.
            parts = [parts[2], parts[1], parts[3]]
        } else if parts.count > 1, ["ssatr", "livestream", "scheduled_livestream"].contains(parts[1]) {
            guard parts.count == 4 else { return nil }
            parts.remove(at: 1)
        }
        guard parts.count >= 3, let vendor = Vendor(urnVendor: parts[0]), let type = MediaType(urnPart: parts[1]),
            !parts[2].isEmpty
        else { return nil }
        self.text = text
        self.vendor = vendor
        mediaType = type
        uid = String(parts[2])
        isLiveCenterEvent = isEvent
    }
}

/// The name of a show, as `urn:rts:show:tv:1`.
public struct ShowURN: CatalogueURN {
    /// The text, as it was written.
    public let text: String
    /// The broadcaster.
    public let vendor: Vendor
    /// How it is broadcast.
    public let transmission: Transmission
    /// The identifier, in the case it was written in.
    public let uid: String

    /// Takes a text apart; nil when it does not have the form.
    public init?(_ text: String) {
        guard let parts = TransmissionURNParts(text, "show") else { return nil }
        self.text = text
        (vendor, transmission, uid) = (parts.vendor, parts.transmission, parts.uid)
    }
}

/// The name of a topic, as `urn:rts:topic:tv:1`.
public struct TopicURN: CatalogueURN {
    /// The text, as it was written.
    public let text: String
    /// The broadcaster.
    public let vendor: Vendor
    /// How it is broadcast.
    public let transmission: Transmission
    /// The identifier, in the case it was written in.
    public let uid: String

    /// Takes a text apart; nil when it does not have the form.
    public init?(_ text: String) {
        guard let parts = TransmissionURNParts(text, "topic") else { return nil }
        self.text = text
        (vendor, transmission, uid) = (parts.vendor, parts.transmission, parts.uid)
    }
}

/// The name of a module, as `urn:rts:module:event:1`, or of one of its sections, as `urn:rts:module:event:1:2`.
public struct ModuleURN: CatalogueURN {
    /// The text, as it was written.
    public let text: String
    /// The broadcaster.
    public let vendor: Vendor
    /// The kind of module.
    public let moduleType: ModuleType
    /// The identifier, in the case it was written in.
    public let uid: String
    /// The identifier of the section; nil for the module itself.
    public let sectionUid: String?

    /// Takes a text apart; nil when it does not have the form.
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
        let parts = split(separator: ":", omittingEmptySubsequences: false)
        guard parts.first?.lowercased() == "urn" else { return nil }
        return Array(parts.dropFirst())
    }
}

extension Vendor {
    /// The vendor of a URN; Swiss satellite radio is a word between others there, and no vendor.
    fileprivate init?(urnVendor part: Substring) {
        self.init(urnPart: part)
        guard self != .ssatr else { return nil }
    }
}

extension CatalogueWord {
    /// The word of a URN, in any letter case; nil for an unknown one.
    fileprivate init?(urnPart: Substring) {
        guard !urnPart.isEmpty, let word = Self(rawValue: urnPart.uppercased()) else { return nil }
        self = word
    }
}
