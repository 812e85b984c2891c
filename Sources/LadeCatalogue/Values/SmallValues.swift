import LadeCore

extension Catalogue {
    /// An aspect ratio.
    public struct AspectRatio: Sendable, Hashable {
        /// Width divided by height; −1 when it is undefined.
        public let value: Double

        /// The undefined ratio.
        public static let undefined = AspectRatio(value: -1)

        /// Whether there is a ratio.
        public var isDefined: Bool { value > 0 }

        private init(value: Double) {
            self.value = value
        }

        /// Makes a ratio from a text such as `16:9`; any other text is undefined.
        public init(_ text: String) {
            let parts = text.parts(at: ":").map { Double($0) }
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
    public struct RGBColor: Sendable, Hashable {
        /// The red component, from 0 to 255.
        public var red: UInt8
        /// The green component, from 0 to 255.
        public var green: UInt8
        /// The blue component, from 0 to 255.
        public var blue: UInt8

        /// Black.
        public static let black = RGBColor(red: 0, green: 0, blue: 0)

        /// Makes a colour.
        public init(red: UInt8, green: UInt8, blue: UInt8) {
            self.red = red
            self.green = green
            self.blue = blue
        }

        /// Makes a colour from hexadecimal digits, with or without `#`.
        ///
        /// Three digits are short for six: `#1AF` is `#11AAFF`. If there are more than six digits, the last six count. A
        /// text that is not a number is black.
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

    /// The most important point of an image, which scaling and cropping keep visible.
    ///
    /// Focal points are equal when both percentages are.
    public struct FocalPoint: CatalogueModel {
        /// The distance from the left edge in percent; from `percentageX`.
        var percentageX = 0.0
        /// The distance from the top in percent; from `percentageY`.
        var percentageY = 0.0

        /// Makes a point at the top left.
        public init() {}

        /// Makes a point from a relative position.
        public init(relativeWidth: Double, relativeHeight: Double) {
            percentageX = relativeWidth * 100
            percentageY = (1 - relativeHeight) * 100
        }

        /// The position from the leading edge, from 0 to 1; from `percentageX`.
        public var relativeWidth: Double { percentageX / 100 }
        /// The position from the bottom, from 0 to 1; from `percentageY`, which is measured from the top.
        public var relativeHeight: Double { 1 - percentageY / 100 }

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("percentageX", &percentageX)
            try members.read("percentageY", &percentageY)
        }
    }
}

/// Whether a part of a media appears in lists.
enum Displayable: Sendable, Hashable {
    case absent, yes, no

    /// Whether the part is hidden from lists; false without a value.
    var isHidden: Bool { self == .no }
}
