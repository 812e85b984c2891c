public import LadeCore

/// The place of a call in a distributed trace (W3C Trace Context, levels 1 and 2).
///
/// A service that was called reads it from the fields of its own request, and continues the trace with the calls that it makes.
/// ``Tracing`` must be on:
///
/// ```swift
/// let context = TraceContext(parents: incoming["traceparent"] ?? [], states: incoming["tracestate"] ?? [])
/// try await TraceContext.$current.withValue(context) {
///     let shows: [String] = try await loader.load(Endpoint(showsURL))
///     print(shows)
/// }
/// ```
///
/// Each exchange is sent with the trace, the flags and the state of the context, and with an identifier of its own as the parent.
public struct TraceContext: Sendable, Hashable {
    /// The context that the calls of the current task continue; nil, the default, begins a new trace for each call.
    @TaskLocal public static var current: TraceContext?

    /// The identifier of the trace: 32 lower-case hexadecimal digits, not all zero.
    public let traceID: String
    /// The identifier of the caller's span: 16 lower-case hexadecimal digits, not all zero.
    public let parentID: String
    /// Whether the caller may have recorded the trace.
    public var isSampled: Bool
    /// Whether the last 14 digits of the trace's identifier are random (level 2).
    public var isRandom: Bool
    /// The list of the vendors that took part, as one value of `tracestate`; nil without one.
    public private(set) var state: String?

    /// Reads the context of a received request.
    ///
    /// A broken parent makes no context, so that a new trace begins. It has the version `ff`, upper case, an identifier of zeros or
    /// another length, or stands in more than one field. A later version is read as far as version 00 says. A broken state is dropped: a
    /// member that is none, or more than 32 of them. Only the first of two members with one key is kept.
    ///
    /// - Parameters:
    ///   - parents: The values of the fields `traceparent`.
    ///   - states: The values of the fields `tracestate`, in order.
    public init?(parents: [String], states: [String] = []) {
        guard parents.count == 1, let value = parents.first.map({ Self.trimmed(Array($0.utf8)[...]) }),
            value.count >= 55, [2, 35, 52].allSatisfy({ value[value.startIndex + $0] == UInt8(ascii: "-") })
        else { return nil }
        let start = value.startIndex
        func digits(_ range: Range<Int>) -> ArraySlice<UInt8>? {
            let part = value[(start + range.lowerBound)..<(start + range.upperBound)]
            return part.allSatisfy(Self.isDigit) ? part : nil
        }
        func isZero(_ part: ArraySlice<UInt8>) -> Bool { part.allSatisfy { $0 == UInt8(ascii: "0") } }
        guard let version = digits(0..<2), let trace = digits(3..<35), let parent = digits(36..<52),
            let flags = digits(53..<55), !version.elementsEqual("ff".utf8), !isZero(trace), !isZero(parent),
            let bits = UInt8(String(decoding: flags, as: UTF8.self), radix: 16)
        else { return nil }
        let isFirst = isZero(version)
        if value.count > 55 {
            guard !isFirst, value[start + 55] == UInt8(ascii: "-") else { return nil }
        }
        traceID = String(decoding: trace, as: UTF8.self)
        parentID = String(decoding: parent, as: UTF8.self)
        isSampled = bits & 1 != 0
        // Only the sampled flag of a later version has a known meaning.
        isRandom = isFirst && bits & 2 != 0
        state = Self.members(of: states).flatMap(Self.text)
    }

    /// Reads the context from the fields of a received request; see ``init(parents:states:)``.
    public init?(_ headers: Headers) {
        self.init(parents: headers.all("traceparent"), states: headers.all("tracestate"))
    }

    /// The value of `traceparent`, in version 00 and without unknown flags.
    public var traceparent: String { Self.parent(traceID, parentID, flags) }

    var flags: UInt8 { (isSampled ? 1 : 0) | (isRandom ? 2 : 0) }

    static func parent(_ trace: String, _ parent: String, _ flags: UInt8) -> String {
        "00-\(trace)-\(parent)-0\(String(flags, radix: 16))"
    }

    // MARK: - State

    private struct Member {
        let key: ArraySlice<UInt8>
        let text: ArraySlice<UInt8>
    }

    /// A list with the members of the service first, without older members of the same keys; nil for an empty list.
    ///
    /// The oldest members are dropped where there would be more than 32.
    static func state(_ own: String, before other: String?) -> String? {
        guard let added = members(of: [own]) else { return own }
        let keys = added.map(\.key)
        let kept = (other.flatMap { members(of: [$0]) } ?? []).filter { member in
            !keys.contains { $0.elementsEqual(member.key) }
        }
        return text(Array((added + kept).prefix(32)))
    }

    private static func text(_ members: [Member]) -> String? {
        guard !members.isEmpty else { return nil }
        return members.map { String(decoding: $0.text, as: UTF8.self) }.joined(separator: ",")
    }

    /// The members of a list; nil for one that is broken.
    private static func members(of values: [String]) -> [Member]? {
        var found: [Member] = []
        var count = 0
        for value in values {
            for part in Array(value.utf8).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: true) {
                let part = trimmed(part)
                guard !part.isEmpty else { continue }
                count += 1
                guard count <= 32, let equals = part.firstIndex(of: UInt8(ascii: "=")), isKey(part[..<equals]),
                    isValue(part[(equals + 1)...])
                else { return nil }
                let key = part[..<equals]
                if !found.contains(where: { $0.key.elementsEqual(key) }) { found.append(Member(key: key, text: part)) }
            }
        }
        return found
    }

    /// Whether a text is the key of a vendor, or of a tenant of a vendor: `tenant@vendor`, by the grammar of level 2.
    private static func isKey(_ key: ArraySlice<UInt8>) -> Bool {
        guard let first = key.first, key.count <= 256, isLetter(first) || isNumber(first) else { return false }
        return key.allSatisfy { isLetter($0) || isNumber($0) || [0x5F, 0x2D, 0x2A, 0x2F, 0x40].contains($0) }
    }

    private static func isValue(_ value: ArraySlice<UInt8>) -> Bool {
        (1...256).contains(value.count)
            && value.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isNumber(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { isNumber(byte) || (0x61...0x66).contains(byte) }

    /// A text without surrounding spaces and tabs.
    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) })
        else { return [] }
        return text[first...last]
    }
}

private enum TraceContextTag: Request.Tag {
    static let defaultValue: TraceContext? = nil
}

extension Request {
    /// The trace that the exchanges of the request continue; nil, the default, for that of ``TraceContext/current``.
    public var traceContext: TraceContext? {
        get { self[TraceContextTag.self] }
        set { self[TraceContextTag.self] = newValue }
    }
}
