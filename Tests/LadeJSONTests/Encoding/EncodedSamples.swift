#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Values whose encoding is compared with Foundation's.
enum EncodedSamples {
    static var all: [(name: String, value: any Encodable & Sendable)] {
        fragments + numbers + containers + types
    }

    private static let fragments: [(String, any Encodable & Sendable)] = [
        ("null", Int?.none), ("some", Int?.some(4)), ("nested optional", Int??.some(.none)), ("true", true),
        ("text", "a"),
        ("empty text", ""), ("escapes", "\"\\/\u{8}\u{C}\n\r\t\u{0}\u{1}\u{1F}\u{7F}é日😀\u{2028}"),
        ("long text", String(repeating: "plain text, ", count: 100) + "/" + String(repeating: "é", count: 50)),
        ("texts", (0..<20).map { String(repeating: "x", count: $0) + "\"" + String(repeating: "y", count: $0) }),
        ("date", Date(timeIntervalSince1970: 1_680_463_800)), ("data", Data([0, 255, 254, 62, 63, 0x3F])),
    ]

    private static let numbers: [(String, any Encodable & Sendable)] = [
        ("integers", [0, -1, 9, 10, 99, 100, -100, 12_345_678_901, Int.max, Int.min]),
        ("small integers", [Int8.min, 0, .max]), ("UInt64", [UInt64.max, 0, 10_000_000_000_000_000_000]),
        ("Int128", [Int128.max, .min, 7]), ("UInt128", [UInt128.max]),
        (
            "doubles",
            [
                0, -0.0, 1, -1, 0.1, 1.5, 34, 1e6, 1e15, 1e16, 1e17, 1e-5, 1e300, .leastNonzeroMagnitude, .pi,
                123_456_789.5,
                999_999_999_999_999, 1e15 + 1, -9_007_199_254_740_992,
                Double.greatestFiniteMagnitude,
            ] as [Double]
        ),
        ("floats", [0, -0.0, 0.1, 1e6, 999_999, 1_000_001, 16_777_216, 3.4e38, .leastNormalMagnitude, .pi] as [Float]),
        ("decimals", [Decimal(string: "3.14159265358979323846"), Decimal(10), Decimal(string: "-1e40")]),
        ("infinity", Double.infinity), ("NaN in an object", ["a": ["b": [1, Double.nan]]]),
        ("infinite float", Filled(float: -.infinity)), ("infinite double", Filled(double: .infinity)),
        ("infinities", [Double.infinity, -.infinity, .nan]),
        ("infinite date", Filled(date: Date(timeIntervalSince1970: .infinity))),
        ("element of its own type", [Filled(), Filled(double: .nan)]),
    ]

    private static let containers: [(String, any Encodable & Sendable)] = [
        ("empty array", [Int]()), ("empty object", [String: Int]()), ("arrays", [[1, 2], [], [3]]),
        ("objects", [["b": 1, "a": 2], [:]]), ("texts", ["a", "b/c"]), ("optionals", [1, nil, 3]),
        ("object of objects", ["x": ["z": [1.5], "y": []]]),
        ("names", ["a/b": 1, "a\"": 2, "a": 3, "é": 4, "z\n": 5, "ab": 6, "": 7, "A": 8, "aB": 9, "b": 10]),
        ("numbered", [3: "c", 1: "a", 20: "t"]), ("by enumeration", [Tint.red: 1, .darkGreen: 2]),
        ("by value", [PlainKey(a: 1): 2]),
        ("large object", Dictionary(uniqueKeysWithValues: (0..<200).map { ("name\($0)", $0) })),
        ("sets", Set([1])), ("range", 1..<5),
    ]

    private static let types: [(String, any Encodable & Sendable)] = [
        ("all members", Filled()), ("array of types", [Filled(), Filled(double: 2)]),
        ("enumerations", [Tint.red, .darkGreen]), ("cases", [Shape.circle(radius: 1), .point]),
        ("subclass", Derived()), ("out of order", OutOfOrderWriter()), ("twice", Repeating()),
        ("many", ManyNames(count: 300)),
        ("nothing", Nothing()), ("nothing within", [Nothing()]), ("nothing in a member", ["a": Nothing()]),
        ("flattened", Flattened()), ("paths", PathWriter()), ("own error", OwnError()),
        ("user information", UserInfoWriter()), ("url", [URL(string: "https://example.org/a/b?c=d")]),
        ("snake", SnakeNames()), ("deep 511", Deep(levels: 511)), ("deep 512", Deep(levels: 512)),
        ("deep 600", Deep(levels: 600)), ("dates", DateSamples()), ("super", SuperArray()),
    ]
}

enum Tint: String, Codable, CodingKeyRepresentable { case red, darkGreen }

struct PlainKey: Hashable, Codable { var a: Int }

enum Shape: Encodable { case circle(radius: Double), point }

struct Filled: Encodable {
    var text = "a/b"
    var int = -5
    var int8: Int8 = 1
    var uint16: UInt16 = 2
    var double = 2.5
    var float: Float = 0.25
    var flag = false
    var missing: Int?
    var date = Date(timeIntervalSince1970: 1_000_000_000)
    var data = Data("binary?>".utf8)
    var url = URL(string: "https://example.org/x")
    var decimal = Decimal(12)
    var tint = Tint.darkGreen
    var list = [1, 2]
    var names = ["camelCase": Tint.red]
    var myURLName = "x"
}

class Ancestor: Encodable, @unchecked Sendable {
    enum CodingKeys: CodingKey { case a, shared }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("ancestor", forKey: .a)
        try container.encode(1, forKey: .shared)
    }
}

final class Derived: Ancestor, @unchecked Sendable {
    enum CodingKeys: CodingKey { case b, shared, own }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(2, forKey: .shared)
        try super.encode(to: encoder)
        try super.encode(to: container.superEncoder())
        try super.encode(to: container.superEncoder(forKey: .own))
        try container.encode([1, 2], forKey: .b)
    }
}

/// Nested containers that are written to in turns.
struct OutOfOrderWriter: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        var first = container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("z"))
        var second = container.nestedUnkeyedContainer(forKey: AnyKey("list"))
        try first.encode(1, forKey: AnyKey("b"))
        try second.encode("x")
        try container.encode(true, forKey: AnyKey("m"))
        var inner = second.nestedContainer(keyedBy: AnyKey.self)
        var deeper = second.nestedUnkeyedContainer()
        try second.encode(Filled())
        try inner.encode(2, forKey: AnyKey("i"))
        var again = container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("z"))
        try again.encode(Filled(), forKey: AnyKey("a"))
        try deeper.encode(contentsOf: [1, 2])
        try first.encode(3, forKey: AnyKey("c"))
        _ = deeper.nestedUnkeyedContainer()
        let late = second.superEncoder()
        try [1].encode(to: late)
    }
}

/// Names that come twice.
struct Repeating: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(1, forKey: AnyKey("a"))
        try container.encode(Filled(), forKey: AnyKey("b"))
        try container.encode("two", forKey: AnyKey("a"))
        try container.encodeNil(forKey: AnyKey("b/c"))
        try container.encode([3], forKey: AnyKey("b/c"))
        try container.encode(4, forKey: AnyKey("a"))
    }
}

struct ManyNames: Encodable {
    var count: Int

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        for round in 0..<2 {
            for number in 0..<count {
                try container.encode(number + round, forKey: AnyKey("n\(number)"))
                var nested = container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("nested\(number % 50)"))
                try nested.encode(round, forKey: AnyKey("k\(number)"))
            }
        }
    }
}

struct Nothing: Encodable {
    func encode(to encoder: any Encoder) throws {}
}

/// Members of two types in one object.
struct Flattened: Encodable {
    func encode(to encoder: any Encoder) throws {
        try ["z": 1].encode(to: encoder)
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(2, forKey: AnyKey("y"))
        try SnakeNames().encode(to: encoder)
    }
}

/// Catches what fails, and continues; Foundation's encoder ends the process.
struct Forgiving: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(1, forKey: AnyKey("a"))
        try? container.encode(["x": ["y": 1, "z": Double.nan]], forKey: AnyKey("b"))
        try? container.encode(OwnError(), forKey: AnyKey("c"))
        try? container.encode(Double.infinity, forKey: AnyKey("a"))
        var list = container.nestedUnkeyedContainer(forKey: AnyKey("list"))
        try? list.encode([Filled(double: .nan)])
        try list.encode(list.count)
        try container.encode(2, forKey: AnyKey("d"))
    }
}

struct OwnError: Encodable {
    struct Own: Error {}

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(1, forKey: AnyKey("a"))
        throw Own()
    }
}

/// Writes the coding paths it sees.
struct PathWriter: Encodable {
    struct Inner: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(Outcome.path(encoder.codingPath))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode([Inner(), Inner()], forKey: AnyKey("a"))
        try Inner().encode(to: container.superEncoder())
        try container.encode(Outcome.path(container.codingPath), forKey: AnyKey("f"))
        try container.encode([[Inner()]], forKey: AnyKey("g"))
        try container.encode(Optional(Inner()), forKey: AnyKey("h"))
    }
}

/// Writes the coding paths within nested containers, where Foundation's leave out the keys of the containers, and in
/// dictionaries, where they leave out the dictionary's key when there is a strategy for names.
struct NestedPathWriter: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        var nested = container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("c"))
        try nested.encode(PathWriter.Inner(), forKey: AnyKey("d"))
        var list = nested.nestedUnkeyedContainer(forKey: AnyKey("e"))
        try list.encode(PathWriter.Inner())
        try list.encode(Outcome.path(list.codingPath))
        try PathWriter.Inner().encode(to: list.superEncoder())
        try container.encode(["k": PathWriter.Inner()], forKey: AnyKey("b"))
    }
}

struct UserInfoWriter: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(encoder.userInfo.map { "\($0.key.rawValue)=\($0.value)" }.sorted())
    }
}

struct SnakeNames: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        let names = [
            "a", "oneTwo", "myURLName", "URL", "aB", "AB", "aBC", "ABc", "one_two", "_x", "fooBar1Baz", "x2Y", "éTé",
            "", "A", "already_Snake", "trailing_", "HTTPServer2Go", "aÉb", "iPhone",
        ]
        for name in names { try container.encode(name, forKey: AnyKey(name)) }
    }
}

struct Deep: Encodable {
    var levels: Int

    func encode(to encoder: any Encoder) throws {
        guard levels > 0 else {
            var container = encoder.singleValueContainer()
            return try container.encode(0)
        }
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(Deep(levels: levels - 1), forKey: AnyKey("a"))
    }
}

struct DateSamples: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        let years: [Double] = [-62_135_596_800, -12_212_553_601, -12_212_553_600, 253_402_300_799, 253_402_300_800]
        for seconds in years + [0, -1, 1, 951_782_400, 951_868_799, -2_208_988_800, 4_107_542_399] {
            try container.encode(Date(timeIntervalSince1970: seconds))
        }
        for number in 0..<400 {
            let day = Double(number) * 86_400 * 137.77
            try container.encode(Date(timeIntervalSince1970: (day - 3_000_000_000).rounded()))
            try container.encode(Date(timeIntervalSinceReferenceDate: Double(number) * 0.37 - 70))
        }
    }
}

struct SuperArray: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(1)
        try Filled().encode(to: container.superEncoder())
        try container.encode(3)
        _ = container.superEncoder()
        try container.encodeNil()
    }
}
