#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeJSON

/// How a recording differs from an earlier one of the same flow.
///
/// Exchanges are compared by method and address, in order. Values of secret query items do not count.
package struct RecordingDifference: Sendable {
    /// One difference.
    package struct Line: Sendable, Hashable {
        /// The kinds of differences.
        package enum Kind: String, Sendable, Hashable {
            /// Only the later recording has the exchange.
            case new
            /// Only the earlier recording has it.
            case gone
            /// The later one took at least twice as long, and 50 ms more.
            case slower
            /// The status is another one.
            case status
            /// The JSON of the response has other members, or other kinds of values.
            case shape
        }

        /// The kind of difference.
        package let kind: Kind
        /// Method and address.
        package let request: String
        /// The values before and after; empty for an exchange that only one recording has.
        package let detail: String
    }

    /// The differences, in the order of the later recording; exchanges that are gone come last.
    package let lines: [Line]

    /// Compares two recordings.
    package init(_ earlier: [HAREntry], _ later: [HAREntry]) {
        func request(_ entry: HAREntry) -> String {
            "\(entry.request.method) \(Redaction.standard.address(entry.request.url))"
        }
        var rest: [String: ArraySlice<HAREntry>] = [:]
        for entry in earlier { rest[request(entry), default: []].append(entry) }
        var lines: [Line] = []
        for entry in later {
            let name = request(entry)
            guard let old = rest[name]?.popFirst() else {
                lines.append(Line(kind: .new, request: name, detail: ""))
                continue
            }
            let (before, after) = (old.response.status, entry.response.status)
            if before != after {
                lines.append(Line(kind: .status, request: name, detail: "\(before) → \(after)"))
            }
            if entry.time > old.time * 2, entry.time - old.time >= .milliseconds(50) {
                let times = "\(old.time.millisecondsText) ms → \(entry.time.millisecondsText) ms"
                lines.append(Line(kind: .slower, request: name, detail: times))
            }
            for detail in Self.shapes(old.response.content, entry.response.content).prefix(10) {
                lines.append(Line(kind: .shape, request: name, detail: detail))
            }
        }
        for entry in earlier {
            let name = request(entry)
            guard rest[name]?.popFirst() != nil else { continue }
            lines.append(Line(kind: .gone, request: name, detail: ""))
        }
        self.lines = lines
    }

    /// The paths whose presence or kind differs; empty where one of the contents is no whole JSON.
    private static func shapes(_ earlier: HAREntry.Content, _ later: HAREntry.Content) -> [String] {
        guard !earlier.isTruncated, !later.isTruncated, let first = earlier.bytes, let second = later.bytes,
            first != second, let old = JSONValue(tolerant: first), let new = JSONValue(tolerant: second)
        else { return [] }
        var (before, after) = ([String: Set<String>](), [String: Set<String>]())
        collect(old, "", 0, &before)
        collect(new, "", 0, &after)
        var found: [String] = []
        for path in Set(before.keys).union(after.keys).sorted() {
            let (old, new) = (before[path], after[path])
            guard old != new else { continue }
            func words(_ kinds: Set<String>?) -> String { kinds?.sorted().joined(separator: " or ") ?? "missing" }
            // Everything below a member that is missing is missing too.
            let parent = found.last.map { $0.prefix { $0 != ":" } } ?? ""
            if !parent.isEmpty, path.utf8.starts(with: (parent + "/").utf8) { continue }
            found.append("\(path.isEmpty ? "/" : path): \(words(old)) → \(words(new))")
        }
        return found
    }

    /// The kinds of the values at each path; the elements of a list have one path.
    private static func collect(_ value: JSONValue, _ path: String, _ depth: Int, _ kinds: inout [String: Set<String>])
    {
        guard depth < 64, kinds.count < 10_000 else { return }
        kinds[path, default: []].insert(value.kind)
        switch value {
        case .object(let members):
            for (name, member) in members { collect(member, path + "/" + name, depth + 1, &kinds) }
        case .array(let elements):
            for element in elements { collect(element, path + "/-", depth + 1, &kinds) }
        default: break
        }
    }
}
