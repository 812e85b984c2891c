/// Width by height.
public struct AspectRatio: Sendable, Hashable, Decodable {
    /// Width divided by height; −1 when it is undefined.
    public let value: Double

    /// No ratio.
    public static let undefined = AspectRatio(value: -1)

    /// Whether there is a ratio.
    public var isDefined: Bool { value > 0 }

    private init(value: Double) {
        self.value = value
    }

    /// Makes a ratio of a text as `16:9`; anything else is undefined.
    public init(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
        guard parts.count == 2, let width = parts[0], let height = parts[1], width > 0, height > 0,
            (width / height).isFinite
        else {
            self = .undefined
            return
        }
        self.init(value: width / height)
    }
}

/// An opaque colour.
public struct RGBColor: Sendable, Hashable, Decodable {
    /// The red part, from 0 to 255.
    public var red: UInt8
    /// The green part, from 0 to 255.
    public var green: UInt8
    /// The blue part, from 0 to 255.
    public var blue: UInt8

    /// Black.
    public static let black = RGBColor(red: 0, green: 0, blue: 0)

    /// Makes a colour.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// Makes a colour of hexadecimal digits, with or without `#`.
    ///
    /// Three digits are the short form of six: `#1AF` is `#11AAFF`. Of more than six the last six count. What is no
    /// number is black.
    public init(hex: String) {
        var digits = hex.hasPrefix("#") ? String(hex.dropFirst()) : hex
        if digits.utf8.count == 3 { digits = digits.map { "\($0)\($0)" }.joined() }
        guard digits.utf8.allSatisfy({ UInt8(ascii: "+") != $0 && UInt8(ascii: "-") != $0 }),
            let number = UInt64(digits, radix: 16)
        else {
            self = .black
            return
        }
        self.init(
            red: UInt8(truncatingIfNeeded: number >> 16),
            green: UInt8(truncatingIfNeeded: number >> 8),
            blue: UInt8(truncatingIfNeeded: number)
        )
    }

    /// Six hexadecimal digits, in upper case.
    public var hex: String {
        [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    }
}

/// The part of an image that matters, which scaling and cutting keep in sight.
///
/// Focal points are equal when both percentages are.
public struct FocalPoint: CatalogueModel {
    /// From the left edge in percent; from `percentageX`.
    var percentageX = 0.0
    /// From the top in percent; from `percentageY`.
    var percentageY = 0.0

    /// Makes a point of its relative position.
    public init(relativeWidth: Double, relativeHeight: Double) {
        percentageX = relativeWidth * 100
        percentageY = (1 - relativeHeight) * 100
    }

    /// From the leading edge, from 0 to 1; from `percentageX`.
    public var relativeWidth: Double { percentageX / 100 }
    /// From the bottom, from 0 to 1; from `percentageY`, which counts from the top.
    public var relativeHeight: Double { 1 - percentageY / 100 }

    enum CodingKeys: String, JSONKey {
        case percentageX, percentageY
    }
}

/// Whether a part of a media is listed.
enum Displayable: Sendable, Hashable, Decodable {
    case absent, yes, no

    /// Whether it stays out of lists; not without a word about it.
    var isHidden: Bool { self == .no }
}
