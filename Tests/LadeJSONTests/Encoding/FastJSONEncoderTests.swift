#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Testing

/// The same values for Foundation's encoder and for this module's: the same bytes and the same errors.
@Suite(.timeLimit(.minutes(5))) struct FastJSONEncoderTests {
    /// Options that both encoders get.
    struct Setting: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout FastJSONEncoder) -> Void

        static let all: [Setting] = [
            Setting(testDescription: "defaults") { _ in },
            Setting(testDescription: "laid out, ISO 8601, deferred data, texts for numbers that are none") {
                $0.outputFormatting = .prettyPrinted
                $0.dateEncodingStrategy = .iso8601
                $0.dataEncodingStrategy = .deferredToData
                $0.nonConformingFloatEncodingStrategy = .convertToString(
                    positiveInfinity: "+/inf",
                    negativeInfinity: "-inf",
                    nan: "nan"
                )
            },
            Setting(testDescription: "plain slashes, snake case, seconds, user information") {
                $0.outputFormatting = .withoutEscapingSlashes
                $0.keyEncodingStrategy = .convertToSnakeCase
                $0.dateEncodingStrategy = .secondsSince1970
                if let key = CodingUserInfoKey(rawValue: "mark") { $0.userInfo[key] = 7 }
            },
            Setting(testDescription: "laid out, plain slashes, closures") {
                $0.outputFormatting = [.prettyPrinted, .withoutEscapingSlashes]
                $0.keyEncodingStrategy = .custom { AnyKey("\($0.count)" + ($0.last?.stringValue ?? "").lowercased()) }
                $0.dateEncodingStrategy = .custom { date, encoder in
                    var container = encoder.unkeyedContainer()
                    try container.encode(Outcome.path(encoder.codingPath))
                    try container.encode(date.timeIntervalSince1970.bitPattern)
                }
                $0.dataEncodingStrategy = .custom { data, encoder in
                    if data.count > 6 { try data.count.encode(to: encoder) }
                }
            },
            Setting(testDescription: "milliseconds") { $0.dateEncodingStrategy = .millisecondsSince1970 },
        ]

        /// Members are sorted: else Foundation's order changes from run to run.
        var encoders: (JSONEncoder, FastJSONEncoder) {
            var fast = FastJSONEncoder()
            change(&fast)
            fast.outputFormatting.insert(.sortedKeys)
            let foundation = JSONEncoder()
            foundation.outputFormatting = fast.outputFormatting
            foundation.dateEncodingStrategy = fast.dateEncodingStrategy
            foundation.dataEncodingStrategy = fast.dataEncodingStrategy
            foundation.nonConformingFloatEncodingStrategy = fast.nonConformingFloatEncodingStrategy
            foundation.keyEncodingStrategy = fast.keyEncodingStrategy
            foundation.userInfo = fast.userInfo
            return (foundation, fast)
        }
    }

    static func outcome(_ body: () throws -> Data) -> String {
        do {
            return String(decoding: try body(), as: UTF8.self)
        } catch EncodingError.invalidValue(let value, let context) {
            return "invalid \(type(of: value)) [\(Outcome.path(context.codingPath))] \(context.debugDescription)"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: Setting.all)
    func writesAsFoundationDoes(_ setting: Setting) {
        let (foundation, fast) = setting.encoders
        for (name, value) in EncodedSamples.all {
            // The closure for keys sees the paths within nested containers, which Foundation shortens.
            if name == "out of order", case .custom = fast.keyEncodingStrategy { continue }
            let expected = Self.outcome { try foundation.encode(value) }
            let found = Self.outcome { try fast.encode(value) }
            #expect(found == expected, "\(name)")
        }
    }

    @Test func keepsTheOrderOfMembersWithoutSorting() throws {
        let data = try FastJSONEncoder().encode(Repeating())
        #expect(String(decoding: data, as: UTF8.self).hasSuffix(#","b\/c":[3],"a":4}"#))
        for (name, value) in EncodedSamples.all {
            // What cannot be encoded is compared above.
            guard let unsorted = try? FastJSONEncoder().encode(value) else { continue }
            var sorted = FastJSONEncoder()
            sorted.outputFormatting = .sortedKeys
            #expect(try JSONValue(parsing: unsorted) == JSONValue(parsing: sorted.encode(value)), "\(name)")
        }
    }

    private struct Keeper: Encodable {
        final class Store: @unchecked Sendable {
            var encoder: (any Encoder)?
            var container: KeyedEncodingContainer<AnyKey>?
        }

        let store: Store
        func encode(to encoder: any Encoder) throws {
            store.encoder = encoder
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode(1, forKey: AnyKey("a"))
            store.container = container
        }
    }

    @Test func refusesWhatIsWrittenToEncodersThatAreKept() throws {
        let stores = [Keeper.Store(), Keeper.Store()]
        let data = try FastJSONEncoder().encode(["k": stores.map(Keeper.init)])
        #expect(String(decoding: data, as: UTF8.self) == #"{"k":[{"a":1},{"a":1}]}"#)
        for store in stores {
            #expect(throws: EncodingError.self) { try store.container?.encode(2, forKey: AnyKey("b")) }
            #expect(throws: EncodingError.self) { try store.encoder.map { try 1.encode(to: $0) } }
            #expect(throws: EncodingError.self) { try store.encoder.map { try [1].encode(to: $0) } }
        }
        #expect(
            stores.map { Outcome.path($0.encoder?.codingPath ?? []) } == [
                "key k -, key Index 0 0", "key k -, key Index 1 1",
            ]
        )
    }

    @Test func givesWholePathsWithinNestedContainersAndDictionaries() throws {
        var encoder = FastJSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let data = try encoder.encode(["x": NestedPathWriter()])
        let value = try JSONValue(parsing: data)
        #expect(value["x"]?["c"]?["d"] == .string("key x -, AnyKey c -, AnyKey d -"))
        #expect(value["x"]?["b"]?["k"] == .string("key x -, AnyKey b -, key k -"))
        #expect(
            value["x"]?["c"]?["e"]?.array?.map(\.string) == [
                "key x -, AnyKey c -, AnyKey e -, key Index 0 0", "key x -, AnyKey c -, AnyKey e -",
                "key x -, AnyKey c -, AnyKey e -, key Index 2 2",
            ]
        )
    }

    @Test func leavesNothingOfWhatFails() throws {
        let data = try FastJSONEncoder().encode(Forgiving())
        #expect(String(decoding: data, as: UTF8.self) == #"{"a":1,"list":[0],"d":2}"#)
    }

    /// Nested containers, one in the other.
    private struct DeepContainers: Encodable {
        var levels: Int
        var isEmpty = false

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            for _ in 1..<levels { container = container.nestedUnkeyedContainer() }
            if !isEmpty { try container.encode(1) }
        }
    }

    @Test("nested containers count as levels, too")
    func limitsNestedContainers() throws {
        let data = try FastJSONEncoder().encode(DeepContainers(levels: 511))
        #expect(String(decoding: data, as: UTF8.self).hasPrefix("[[["))
        #expect(throws: EncodingError.self) { try FastJSONEncoder().encode(DeepContainers(levels: 512)) }
        #expect(throws: EncodingError.self) { try FastJSONEncoder().encode(["a": DeepContainers(levels: 511)]) }
        let empty = DeepContainers(levels: 512, isEmpty: true)
        #expect(throws: EncodingError.self) { try FastJSONEncoder().encode(empty) }
        #expect(throws: EncodingError.self) { try FastJSONEncoder().encode([empty]) }
    }

    /// An array and an object whose parts fail after some of their members were written.
    private struct ForgivingParts: Encodable {
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyKey.self)
                try container.encode(1, forKey: AnyKey("x"))
                try container.encode(2, forKey: AnyKey("a"))
                try container.encode(Double.nan, forKey: AnyKey("z"))
            }
        }

        struct List: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try? container.encode(Failing())
                try container.encode(1)
            }
        }

        struct Object: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyKey.self)
                try? container.encode(Failing(), forKey: AnyKey("m"))
                try container.encode(1, forKey: AnyKey("k"))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode(List(), forKey: AnyKey("y"))
            try container.encode(Object(), forKey: AnyKey("o"))
            try? container.encode(Failing(), forKey: AnyKey("f"))
            try container.encode(1, forKey: AnyKey("b"))
        }
    }

    @Test("nothing of a part that fails is left among sorted members")
    func leavesNothingAmongSortedMembers() throws {
        var encoder = FastJSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(ForgivingParts())
        #expect(String(decoding: data, as: UTF8.self) == #"{"b":1,"o":{"k":1},"y":[1]}"#)
    }

    /// Keeps everything that encoders and containers give.
    private struct NestedKeeper: Encodable {
        final class Store: @unchecked Sendable {
            var root: (any Encoder)?
            var object: KeyedEncodingContainer<AnyKey>?
            var list: (any UnkeyedEncodingContainer)?
            var parent: (any Encoder)?
        }

        let store: Store

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: AnyKey.self)
            var object = container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("o"))
            try object.encode(1, forKey: AnyKey("a"))
            store.root = encoder
            store.object = object
            store.list = container.nestedUnkeyedContainer(forKey: AnyKey("l"))
            store.parent = container.superEncoder()
        }
    }

    @Test("nested containers, and the encoder of the document, refuse what is written after its end")
    func refusesWhatIsWrittenToNestedContainersThatAreKept() throws {
        let store = NestedKeeper.Store()
        let data = try FastJSONEncoder().encode(NestedKeeper(store: store))
        #expect(String(decoding: data, as: UTF8.self) == #"{"o":{"a":1},"l":[],"super":{}}"#)
        #expect(throws: EncodingError.self) { try store.object?.encode(2, forKey: AnyKey("b")) }
        #expect(throws: EncodingError.self) { try store.list?.encode(2) }
        #expect(throws: EncodingError.self) { try store.parent.map { try 1.encode(to: $0) } }
        #expect(throws: EncodingError.self) { try store.root.map { try ["b": 2].encode(to: $0) } }
    }

    /// Elements of which the second asks the encoder of the first for containers.
    private struct Intruder: Encodable {
        let store: NestedKeeper.Store

        func encode(to encoder: any Encoder) throws {
            if let kept = store.root {
                _ = kept.container(keyedBy: AnyKey.self)
                _ = store.list?.nestedUnkeyedContainer()
                _ = store.object?.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("n"))
                var list = encoder.unkeyedContainer()
                try list.encode(2)
                _ = store.list?.nestedContainer(keyedBy: AnyKey.self)
                _ = store.object?.nestedUnkeyedContainer(forKey: AnyKey("n"))
                try list.encode(3)
            } else {
                store.root = encoder
                var list = encoder.unkeyedContainer()
                try list.encode(1)
                try list.encode(Inner(store: store))
                store.list = list
            }
        }

        struct Inner: Encodable {
            let store: NestedKeeper.Store

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyKey.self)
                try container.encode(1, forKey: AnyKey("a"))
                store.object = container
            }
        }
    }

    @Test("containers that are requested from an encoder whose value has ended change nothing")
    func ignoresContainersOfEndedValues() throws {
        let store = NestedKeeper.Store()
        let data = try FastJSONEncoder().encode([Intruder(store: store), Intruder(store: store)])
        #expect(String(decoding: data, as: UTF8.self) == #"[[1,{"a":1}],[2,3]]"#)
    }

    private struct TwoValues: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(1)
            try container.encode(2)
        }
    }

    @Test("a second value in the place of one is refused")
    func refusesASecondValue() {
        #expect(throws: EncodingError.self) { try FastJSONEncoder().encode(TwoValues()) }
        #expect(throws: EncodingError.self) { try FastJSONEncoder().encode([TwoValues()]) }
    }

    /// Many members, each of which is written again, among nested ones.
    private struct Rewritten: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: AnyKey.self)
            for round in 0..<3 {
                for number in 0..<60 {
                    if number.isMultiple(of: 7) {
                        var nested = container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("m\(number)"))
                        try nested.encode(round, forKey: AnyKey("r\(round)"))
                    } else {
                        try container.encode(round, forKey: AnyKey("m\(number)"))
                    }
                }
                try container.encode(round, forKey: AnyKey("only\(round)"))
            }
        }
    }

    @Test("of many members that are written several times the last counts, and nested ones have all of theirs")
    func rewritesManyMembers() throws {
        let members: JSONValue = .object(["r0": .integer(0), "r1": .integer(1), "r2": .integer(2)])
        for value in [[Rewritten()], [Rewritten(), Rewritten()]] {
            let text = String(decoding: try FastJSONEncoder().encode(value), as: UTF8.self)
            for object in try JSONValue(parsing: Data(text.utf8)).array ?? [] {
                #expect(object.object?.count == 63)
                for number in 0..<60 {
                    let expected: JSONValue = number.isMultiple(of: 7) ? members : .integer(2)
                    #expect(object["m\(number)"] == expected)
                }
            }
            // Each name is written once.
            #expect(text.split(separator: "\"m1\":").count == value.count + 1)
            #expect(text.split(separator: "\"only0\":").count == value.count + 1)
        }
    }

    @Test func endsRecursionWithoutEnd() {
        #expect(throws: EncodingError.self) { try FastJSONEncoder().encode(Deep(levels: 5_000)) }
    }

    @Test func refusesDecimalsThatAreNotNumbers() {
        #expect(throws: EncodingError.self) { try FastJSONEncoder().encode([Decimal.nan]) }
    }

    private struct Configured: EncodableWithConfiguration {
        func encode(to encoder: any Encoder, configuration: String) throws {
            var container = encoder.singleValueContainer()
            try container.encode(configuration)
        }
    }

    @Test func givesTheConfiguration() throws {
        let data = try FastJSONEncoder().encode(Configured(), configuration: "x")
        #expect(data == Data(#""x""#.utf8))
    }

    @Test func encodesWhatItDecodes() throws {
        struct Page: Codable, Equatable {
            var id = UInt64.max
            var ratio = 0.1
            var texts = ["", "é\n", "\u{0}"]
            var colours: [String: Tint] = ["x": .red]
        }
        let data = try FastJSONEncoder().encode([Page(), Page(ratio: -0.0)])
        #expect(try FastJSONDecoder().decode([Page].self, from: data) == [Page(), Page(ratio: -0.0)])
    }
}
