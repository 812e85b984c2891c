#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON

/// A type that both decoders are asked for.
struct Subject: Sendable {
    let name: String
    let foundation: @Sendable (JSONDecoder, Data) -> String
    let fast: @Sendable (FastJSONDecoder, Data) -> String

    init<T: Decodable & SendableMetatype>(_ type: T.Type) {
        name = "\(type)"
        foundation = { decoder, data in Outcome.of { try decoder.decode(T.self, from: data) } }
        fast = { decoder, data in Outcome.of { try decoder.decode(T.self, from: data) } }
    }

    init<T: DecodableWithConfiguration & SendableMetatype>(_ type: T.Type, _ configuration: T.DecodingConfiguration)
    where T.DecodingConfiguration: Sendable {
        name = "\(type) with a configuration"
        foundation = { decoder, data in
            Outcome.of { try decoder.decode(T.self, from: data, configuration: configuration) }
        }
        fast = { decoder, data in
            Outcome.of { try decoder.decode(T.self, from: data, configuration: configuration) }
        }
    }

    static let all: [Subject] = [
        Subject(Bool.self), Subject(String.self), Subject(Int.self), Subject(Int8.self), Subject(UInt8.self),
        Subject(Int16.self), Subject(UInt16.self), Subject(Int32.self), Subject(UInt32.self), Subject(Int64.self),
        Subject(UInt64.self), Subject(UInt.self), Subject(Int128.self), Subject(UInt128.self), Subject(Double.self),
        Subject(Float.self), Subject(Decimal.self), Subject(Date.self), Subject(Data.self), Subject(URL.self),
        Subject(Int?.self), Subject(String?.self), Subject(Date?.self), Subject([Int].self), Subject([Int?].self),
        Subject([Double].self), Subject([String].self), Subject([Bool].self), Subject([[Int]].self),
        Subject([Date].self),
        Subject([Data].self), Subject([URL].self), Subject([Decimal].self), Subject([Float].self),
        Subject([UInt8].self),
        Subject(Set<Int>.self), Subject([String: Int].self), Subject([String: String].self),
        Subject([Int: String].self),
        Subject([String: [Int]].self), Subject([String: [String: Int?]].self), Subject([String: Member].self),
        Subject([Member].self), Subject(Member.self), Subject(Optionals.self), Subject(Tree.self), Subject([Tree].self),
        Subject(Colour.self), Subject([Colour].self), Subject([Colour: Int].self), Subject(Strange.self),
        Subject(Union.self), Subject([Union].self), Subject([String: Union].self), Subject(AllKeys.self),
        Subject(Nested.self), Subject(Sub.self), Subject(TwoKeyTypes.self), Subject(OutOfOrder.self),
        Subject(Twice.self),
        Subject(Walker.self), Subject(Presence.self), Subject(PathReader.self), Subject([PathReader].self),
        Subject([String: PathReader].self), Subject(Snake.self), Subject(Numbers.self), Subject(Wrapper.self),
        Subject(Configured.self, 7), Subject(UserInfo.self), Subject(Failing.self), Subject(Keyless.self),
        Subject(NestedInArray.self),
    ]
}

struct Member: Decodable {
    var a: Int
    var b: String
}

struct Optionals: Decodable {
    var a: Int?
    var b: String?
    var c: Double?
    var d: Bool?
    var e: Date?
    var f: [Int]?
    var g: [String: Int]?
    var h: Member?
    var i: Colour?
    var j: UInt8?
    var k: Float?
    var l: URL?
    var m: Data?
}

struct Tree: Decodable {
    var a: [Tree]?
    var b: Int?
}

enum Colour: String, Decodable, CodingKeyRepresentable {
    case red, green, blue, long = "a long name of more than sixteen bytes"
}

/// Names that are hard to compare.
struct Strange: Decodable {
    enum CodingKeys: String, CodingKey {
        case empty = ""
        case accent = "é"
        case kelvin = "\u{212A}"
        case nul = "a\u{0}b"
        case quote = "\""
        case slash = "/"
        case emoji = "😀"
    }

    var empty: Int?
    var accent: Int?
    var kelvin: Int?
    var nul: Int?
    var quote: Int?
    var slash: Int?
    var emoji: Int?
}

/// Tries one type after the other.
enum Union: Decodable {
    case int(Int)
    case bool(Bool)
    case text(String)
    case list([Int])
    case member(Member)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Int.self) {
            self = .int(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([Int].self) {
            self = .list(value)
        } else {
            self = .member(try container.decode(Member.self))
        }
    }
}

/// Any name is a key.
struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int?

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}

struct AllKeys: Decodable {
    var names: Set<String>
    var values: [String: Int]

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        names = Set(container.allKeys.map(\.stringValue))
        values = [:]
        for key in container.allKeys.sorted(by: { $0.stringValue > $1.stringValue }) {
            values[key.stringValue] = try? container.decode(Int.self, forKey: key)
        }
    }
}

struct Nested: Decodable {
    var b: String?
    var first: Int?
    var path: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        let inner = try container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("h"))
        var list = try container.nestedUnkeyedContainer(forKey: AnyKey("f"))
        first = try list.decodeIfPresent(Int.self)
        b = try inner.decodeIfPresent(String.self, forKey: AnyKey("b"))
        path = Outcome.path(inner.codingPath) + Outcome.path(list.codingPath)
    }
}

struct NestedInArray: Decodable {
    var counts: [Int] = []

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        while !list.isAtEnd {
            var inner = try list.nestedUnkeyedContainer()
            var count = 0
            while !inner.isAtEnd {
                let item = try inner.nestedContainer(keyedBy: AnyKey.self)
                count += item.allKeys.count
            }
            counts.append(count)
        }
    }
}

class Base: Decodable {
    var a: Int
    init(a: Int) { self.a = a }
}

final class Sub: Base {
    enum CodingKeys: String, CodingKey { case b }

    var b: String?
    var path = ""

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        b = try container.decodeIfPresent(String.self, forKey: .b)
        let parent = try container.superDecoder()
        path = Outcome.path(parent.codingPath)
        try super.init(from: parent)
    }
}

struct TwoKeyTypes: Decodable {
    enum First: String, CodingKey { case a, b }
    enum Second: String, CodingKey { case b, c }

    var a: Int?
    var b: String?
    var c: Double?

    init(from decoder: any Decoder) throws {
        let first = try decoder.container(keyedBy: First.self)
        let second = try decoder.container(keyedBy: Second.self)
        c = try second.decodeIfPresent(Double.self, forKey: .c)
        a = try first.decodeIfPresent(Int.self, forKey: .a)
        b = try second.decodeIfPresent(String.self, forKey: .b)
    }
}

struct OutOfOrder: Decodable {
    var values: [String] = []

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        for name in ["h", "c", "a", "missing", "b", "c", "a", "e"] {
            values.append("\(container.contains(AnyKey(name)))")
            values.append("\((try? container.decodeNil(forKey: AnyKey(name))) as Any)")
            values.append("\((try? container.decode(Int.self, forKey: AnyKey(name))) as Any)")
            values.append("\((try? container.decode(Union.self, forKey: AnyKey(name))) as Any)")
        }
    }
}

/// Asks for each member more than once.
struct Twice: Decodable {
    var values: [Int?] = []

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        for name in ["a", "a", "b", "b", "a", "c"] {
            if try container.decodeNil(forKey: AnyKey(name)) { continue }
            values.append(try? container.decode(Int.self, forKey: AnyKey(name)))
        }
    }
}

/// Goes through an array by every means there is.
struct Walker: Decodable {
    var log: [String] = []

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        log.append("\(list.count as Any)")
        for _ in 0..<6 {
            log.append("\(list.currentIndex) \(list.isAtEnd) \(Outcome.of { try list.decodeNil() })")
            log.append(Outcome.of { try list.decode(Int.self) })
            log.append(Outcome.of { try list.decode(Bool.self) })
            log.append(Outcome.of { try list.decode(String.self) })
            log.append(Outcome.of { try list.nestedUnkeyedContainer().count })
            log.append(Outcome.of { try list.nestedContainer(keyedBy: AnyKey.self).allKeys.count })
        }
        log.append(Outcome.of { try list.decode([Int].self) })
        log.append(Outcome.of { try list.superDecoder().codingPath.count })
    }
}

struct Presence: Decodable {
    var log: [String] = []

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        for _ in 0..<4 {
            log.append(Outcome.of { try list.decodeIfPresent(Int.self) })
            log.append(Outcome.of { try list.decodeIfPresent(String.self) })
            log.append(Outcome.of { try list.decodeIfPresent(Member.self) })
            log.append("\(list.currentIndex) \(list.isAtEnd)")
        }
    }
}

struct PathReader: Decodable {
    var path: String
    var inner: [String: PathReader]?

    init(from decoder: any Decoder) throws {
        path = Outcome.path(decoder.codingPath)
        if let container = try? decoder.container(keyedBy: AnyKey.self) {
            path += "|" + Outcome.path(container.codingPath)
            if container.contains(AnyKey("h")) {
                inner = try decoder.singleValueContainer().decode([String: PathReader].self)
            }
        }
    }
}

struct Snake: Decodable {
    var oneTwo: Int?
    var _oneTwo: Int?
    var oneTwo_: Int?
    var oneTwoThree: Int?
    var x1Y2: Int?
    var url: Int?
    var uRL: Int?
    var one2: Int?
    var é: Int?
    var éÀ: Int?
    var one_two: Int?
}

struct Numbers: Decodable {
    var a: Double?
    var b: Float?
    var c: Decimal?
    var d: Int8?
    var e: UInt64?
    var f: Int128?
}

struct Wrapper: Decodable {
    var value: Member

    init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(Member.self)
    }
}

struct Configured: DecodableWithConfiguration {
    var a: Int

    init(from decoder: any Decoder, configuration: Int) throws {
        a = try decoder.container(keyedBy: AnyKey.self).decode(Int.self, forKey: AnyKey("a")) &+ configuration
    }
}

struct UserInfo: Decodable {
    var found: String

    init(from decoder: any Decoder) throws {
        found = decoder.userInfo.map { "\($0.key.rawValue)=\($0.value)" }.sorted().joined(separator: ",")
    }
}

/// Throws an error of its own, deep down.
struct Failing: Decodable {
    struct Own: Error {}
    struct Inner: Decodable {
        init(from decoder: any Decoder) throws {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "own"))
        }
    }

    var h: Inner?
    var f: [Inner]?

    enum CodingKeys: CodingKey { case h, f, a }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if container.contains(.a) { throw Own() }
        f = try container.decodeIfPresent([Inner].self, forKey: .f)
        h = try container.decodeIfPresent(Inner.self, forKey: .h)
    }
}

struct Keyless: Decodable {}
