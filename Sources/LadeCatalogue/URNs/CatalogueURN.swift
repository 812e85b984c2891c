import LadeCore

/// The URN of a media, show, topic or module of the catalogue, and its components.
///
/// Examples are `urn:rts:video:100001`, `urn:swisstxt:video:srf:1` and `urn:rts:show:tv:1`. The URN of a livestream has a
/// word between vendor and type, as in `urn:rts:livestream:video:1`. Services accept URNs as texts and do not need this
/// type. URNs are equal when their texts are.
public struct CatalogueURN: Sendable, CustomStringConvertible {
    /// The kind of object that a URN names.
    public enum Kind: Sendable, Hashable {
        /// A video or an audio; an event of the live centre is delivered by Swiss TXT.
        case media(Catalogue.MediaType, isLiveCenterEvent: Bool)
        /// A show.
        case show(Catalogue.Transmission)
        /// A topic.
        case topic(Catalogue.Transmission)
        /// A module, such as `urn:rts:module:event:1`, or its section, such as `urn:rts:module:event:1:2`.
        case module(Catalogue.Module.Kind, sectionUid: String?)
    }

    /// The text, unchanged.
    public let text: String
    /// The kind of object that the URN names.
    public let kind: Kind
    /// The broadcaster.
    public let vendor: Catalogue.Vendor
    /// The identifier, in its original letter case.
    public let uid: String

    /// The text, unchanged.
    public var description: String { text }
    /// Whether the URN names a video or an audio.
    public var isMedia: Bool { if case .media = kind { true } else { false } }

    /// Parses a text; nil when it is no URN of the catalogue.
    public init?(_ text: String) {
        guard let parts = text.urnParts, parts.count > 2 else { return nil }
        let (kind, vendor, uid): (Kind?, Substring, Substring)
        switch parts[1].lowercased() {
        case "show", "topic":
            guard parts.count == 4, let transmission = Catalogue.Transmission(urnPart: parts[2]),
                transmission != .unknown
            else { return nil }
            (vendor, uid) = (parts[0], parts[3])
            kind = parts[1].lowercased() == "show" ? .show(transmission) : .topic(transmission)
        case "module":
            guard parts.count == 4 || parts.count == 5, parts.last?.isEmpty == false else { return nil }
            (vendor, uid) = (parts[0], parts[3])
            let section = parts.count == 5 ? String(parts[4]) : nil
            kind = Catalogue.Module.Kind(urnPart: parts[2]).map { .module($0, sectionUid: section) }
        default:
            var parts = parts
            let isEvent = parts[0] == "swisstxt"
            if isEvent {
                guard parts.count == 4 else { return nil }
                // The vendor follows the type.
                parts = [parts[2], parts[1], parts[3]]
            } else if ["ssatr", "livestream", "scheduled_livestream"].contains(parts[1]) {
                guard parts.count == 4 else { return nil }
                parts.remove(at: 1)
            }
            (vendor, uid) = (parts[0], parts[2])
            kind = Catalogue.MediaType(urnPart: parts[1]).map { .media($0, isLiveCenterEvent: isEvent) }
        }
        guard let kind, let vendor = Catalogue.Vendor(urnVendor: vendor), !uid.isEmpty else { return nil }
        self.text = text
        self.kind = kind
        self.vendor = vendor
        self.uid = String(uid)
    }
}

extension CatalogueURN: Hashable {
    /// Whether the texts are equal.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text == rhs.text }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension String {
    /// The parts after `urn`; nil without it.
    fileprivate var urnParts: [Substring]? {
        let parts = self.parts(at: ":")
        guard parts.first?.lowercased() == "urn" else { return nil }
        return Array(parts.dropFirst())
    }
}

extension Catalogue.Vendor {
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
