#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
import LadeCore

/// A recording that is asked for the response to each request: the part of a replay that decides.
///
/// An entry matches when method and address are equal, the fields that the rules name, and the body. An entry with a part of a
/// resource (206) matches only a request for the same range. The first unused entry that matches is taken, so that responses come
/// in the order of the recording.
public struct ReplayBook: Sendable {
    /// How requests are compared with entries.
    public struct Rules: Sendable {
        /// Which entry is taken when all that match are used.
        public enum Order: Sendable, Hashable {
            /// The last of them once more: a poll gets the last state.
            case repeatingLast
            /// The first of them again.
            case repeatingAll
            /// None: a further request is an error.
            case once
        }

        /// Whether entries are used once; by default the last one is used again.
        public var order = Order.repeatingLast
        /// The fields of requests that must be equal too; none by default.
        public var fields: [String] = []
        /// Whether the bodies of requests must be equal, where the recording has them whole; true by default.
        public var comparesBodies = true
        /// Whether scheme, host and port must be equal; true by default.
        ///
        /// A local server compares paths and queries alone.
        public var comparesOrigins = true
        /// Names of query items that are not compared, such as that of a time; none by default.
        public var ignoredQueryItems: Set<String> = []
        /// Decides further whether an entry may answer a request, after everything else is equal; nil for yes.
        package var accepts: (@Sendable (Asked, HAREntry) -> Bool)?

        /// Makes the default rules.
        public init() {}
    }

    /// A request for which a response is wanted.
    package struct Asked: Sendable {
        /// The method.
        package var method: String
        /// The address; for a local server, path and query.
        package var url: String
        /// The header section.
        package var headers: [HAREntry.Field]
        /// The body.
        package var body: Data

        /// Makes a request.
        package init(method: String, url: String, headers: [HAREntry.Field] = [], body: Data = Data()) {
            (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
        }
    }

    /// The result of a question.
    package enum Found: Sendable {
        /// The entry with this index answers.
        case entry(Int)
        /// No entry does; the sentence names the nearest one and what differs.
        case nothing(String)
    }

    /// The entries, in the order of the recording.
    package let entries: [HAREntry]
    /// How requests are compared.
    package let rules: Rules
    private let indices: [String: [Int]]
    private var uses: [Int]

    /// Makes a book.
    ///
    /// - Parameters:
    ///   - entries: The recording, sorted by the time at which the exchanges began. Responses of a cache are left out.
    ///   - rules: How requests are compared.
    package init(_ entries: [HAREntry], rules: Rules = Rules()) {
        // The end of an exchange decides its place in a file, its start that in a replay.
        let played = entries.filter { $0.facts.cache?.utf8.starts(with: "served".utf8) != true }
        self.entries = played.enumerated().sorted { ($0.element.started, $0.offset) < ($1.element.started, $1.offset) }
            .map(\.element)
        self.rules = rules
        uses = Array(repeating: 0, count: self.entries.count)
        var indices: [String: [Int]] = [:]
        for (index, entry) in self.entries.enumerated() {
            indices[Self.key(entry.request.method, entry.request.url, rules), default: []].append(index)
        }
        self.indices = indices
    }

    /// Finds the entry for a request, and notes its use.
    package mutating func take(_ asked: Asked) -> Found {
        let candidates = indices[Self.key(asked.method, asked.url, rules)] ?? []
        var matching = candidates.filter { differences(of: asked, from: entries[$0]).isEmpty }
        // A request for the same range is nearer than one for the whole.
        let ranges = Self.values("Range", asked.headers)
        let near = matching.filter { Self.isSame(ranges, entries[$0]) }
        if !near.isEmpty { matching = near }
        if let index = next(of: matching) {
            uses[index] += 1
            return .entry(index)
        }
        return .nothing(sentence(for: asked, matching, candidates))
    }

    /// The entries that answered nothing.
    package var unused: [Int] { uses.indices.filter { uses[$0] == 0 } }

    private func next(of matching: [Int]) -> Int? {
        if let unused = matching.first(where: { uses[$0] == 0 }) { return unused }
        switch rules.order {
        case .once: return nil
        case .repeatingLast: return matching.last
        case .repeatingAll: return matching.min { (uses[$0], $0) < (uses[$1], $1) }
        }
    }

    // MARK: - Comparing

    private func differences(of asked: Asked, from entry: HAREntry) -> [String] {
        var differences: [String] = []
        // A part answers only the request for this part.
        let isPart = entry.response.status == 206 || entry.response.status == 416
        if isPart, !Self.isSame(Self.values("Range", asked.headers), entry) { differences.append("the field Range") }
        for name in rules.fields where !isPart || !name.equalsIgnoringASCIICase("Range") {
            let wanted = Self.values(name, entry.request.headers)
            let given = Self.values(name, asked.headers)
            // A redacted value cannot be compared.
            if wanted != given, !wanted.contains(Redaction.mark) { differences.append("the field \(name)") }
        }
        if rules.comparesBodies, let content = entry.request.content, content.bytes != nil, !content.isTruncated {
            if !Self.isSame(content, asked.body) { differences.append("the body") }
        } else if rules.comparesBodies, entry.request.content == nil, !asked.body.isEmpty,
            entry.request.bodyBytes ?? 0 == 0
        {
            differences.append("the body")
        }
        if differences.isEmpty, let accepts = rules.accepts, !accepts(asked, entry) { differences.append("the rule") }
        return differences
    }

    /// Whether a request for these ranges is one for the range of an entry.
    ///
    /// Clients that know the length write another range for the same bytes: `bytes=550-599` for `bytes=550-`.
    private static func isSame(_ ranges: [String], _ entry: HAREntry) -> Bool {
        if ranges == values("Range", entry.request.headers) { return true }
        guard ranges.count == 1, let range = ranges.first, entry.response.status == 206,
            let content = entry.responseValues("Content-Range").first,
            range.utf8.starts(with: "bytes=".utf8), content.utf8.starts(with: "bytes ".utf8)
        else { return false }
        let place = content.utf8.dropFirst("bytes ".utf8.count).split(separator: UInt8(ascii: "/"))
        guard place.count == 2, let length = String(place[1]).flatMap({ Int64($0) }), length > 0 else { return false }
        let parts = range.utf8.dropFirst("bytes=".utf8.count).split(
            separator: UInt8(ascii: "-"),
            omittingEmptySubsequences: false
        )
        guard parts.count == 2 else { return false }
        let (first, last) = (String(parts[0]).flatMap { Int64($0) }, String(parts[1]).flatMap { Int64($0) })
        let bounds =
            switch (first, last) {
            case (let first?, let last?): (first, min(last, length - 1))
            case (let first?, nil) where parts[1].isEmpty: (first, length - 1)
            case (nil, let count?) where parts[0].isEmpty: (max(0, length - count), length - 1)
            default: (Int64(-1), Int64(-1))
            }
        return place[0].elementsEqual("\(bounds.0)-\(bounds.1)".utf8)
    }

    /// Whether a body is the recorded one, of which secrets may have been redacted.
    private static func isSame(_ content: HAREntry.Content, _ body: Data) -> Bool {
        guard let bytes = content.bytes else { return true }
        if bytes == body { return true }
        let mark = Data(Redaction.mark.utf8)
        guard bytes.firstRange(of: mark) != nil else { return false }
        // The parts between the secrets follow each other in the body.
        var rest = body[...]
        var parts: [Data] = []
        var position = bytes.startIndex
        while let range = bytes[position...].firstRange(of: mark) {
            parts.append(Data(bytes[position..<range.lowerBound]))
            position = range.upperBound
        }
        let last = Data(bytes[position...])
        for (index, part) in parts.enumerated() where !part.isEmpty {
            guard let range = rest.firstRange(of: part), index > 0 || range.lowerBound == rest.startIndex else {
                return false
            }
            rest = rest[range.upperBound...]
        }
        return last.isEmpty || rest.suffix(last.count).elementsEqual(last)
    }

    private static func values(_ name: String, _ fields: [HAREntry.Field]) -> [String] {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }

    /// The text by which method and address are compared; the values of secret query items do not count.
    private static func key(_ method: String, _ url: String, _ rules: Rules) -> String {
        var text = Redaction(names: rules.ignoredQueryItems, values: [String]()).address(url)
        if !rules.comparesOrigins, let end = text.startOfAuthority {
            let path = text.utf8[end...].drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
            text = String(decoding: path, as: UTF8.self)
        }
        if text.utf8.first == UInt8(ascii: "?") || text.isEmpty { text = "/" + text }
        return "\(method) \(Self.spelled(text))"
    }

    /// An address with scheme and host in lower case, without the default port and with a path.
    private static func spelled(_ address: String) -> String {
        guard let end = address.startOfAuthority else { return address }
        let rest = address.utf8[end...]
        let path = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        var origin = String(decoding: address.utf8[..<path], as: UTF8.self).asciiLowercased
        for (scheme, port) in [("http://", ":80"), ("https://", ":443")]
        where origin.utf8.starts(with: scheme.utf8) && origin.utf8.suffix(port.utf8.count).elementsEqual(port.utf8) {
            origin = String(Substring(origin.utf8.dropLast(port.utf8.count)))
        }
        let target = String(decoding: address.utf8[path...], as: UTF8.self)
        return origin + (target.utf8.first == UInt8(ascii: "/") ? "" : "/") + target
    }

    // MARK: - Naming what is missing

    private func sentence(for asked: Asked, _ matching: [Int], _ candidates: [Int]) -> String {
        let request = "\(asked.method) \(Redaction.standard.address(asked.url))"
        if !matching.isEmpty {
            let numbers = matching.map { "\($0 + 1)" }.joined(separator: ", ")
            return "No response is left for \(request): entry \(numbers) is used, and entries are used once."
        }
        if let near = candidates.first {
            let what = differences(of: asked, from: entries[near]).joined(separator: " and ")
            return "No entry matches \(request): of the nearest, entry \(near + 1), \(what) differs."
        }
        let near = entries.indices.max {
            Self.likeness(asked, entries[$0], rules) < Self.likeness(asked, entries[$1], rules)
        }
        guard let near else { return "No entry matches \(request): the recording is empty." }
        let entry = entries[near]
        return "No entry matches \(request): of the nearest, entry \(near + 1) "
            + "(\(entry.request.method) \(Redaction.standard.address(entry.request.url))), "
            + "\(Self.difference(asked, entry, rules)) differs."
    }

    private static func likeness(_ asked: Asked, _ entry: HAREntry, _ rules: Rules) -> Int {
        let (wanted, given) = (Array(key("", entry.request.url, rules).utf8), Array(key("", asked.url, rules).utf8))
        let common = zip(wanted, given).prefix { $0 == $1 }.count
        return common * 2 + (asked.method == entry.request.method ? 1 : 0)
    }

    private static func difference(_ asked: Asked, _ entry: HAREntry, _ rules: Rules) -> String {
        let (wanted, given) = (key("", entry.request.url, rules), key("", asked.url, rules))
        func cut(_ key: String) -> (Substring.UTF8View, [UInt8]) {
            let path = key.utf8.prefix { $0 != UInt8(ascii: "?") }
            return (path, Array(key.utf8.dropFirst(path.count)))
        }
        if wanted == given { return "the method" }
        if cut(wanted).0.elementsEqual(cut(given).0) { return "the query" }
        return "the address"
    }
}

extension String {
    /// The position behind `://`; nil in a text without it.
    ///
    /// The general search for a part takes a tenth of the time in which a large recording is read.
    package var startOfAuthority: String.Index? {
        var rest = utf8[...]
        while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
            rest = rest[colon...].dropFirst()
            if rest.starts(with: "//".utf8) { return rest.index(rest.startIndex, offsetBy: 2) }
        }
        return nil
    }
}
