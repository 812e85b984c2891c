#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// A recording as one page of HTML: a bar per exchange, with its phases and waits by reason.
///
/// The page needs nothing from anywhere: its policy forbids every request. The policy allows the one script and the one style sheet
/// of the page by their digests. Everything that a server sent is escaped, addresses are no links, and the table is readable without
/// the script, which sorts it.
package struct WaterfallPage: Sendable {
    private struct Row {
        var number: Int
        var entry: HAREntry
        /// How the row is joined to those of the same call.
        var join: String
    }

    private let title: String
    private let rows: [Row]
    private let start: Double
    private let span: Double

    /// Makes a page.
    ///
    /// - Parameters:
    ///   - entries: The recording.
    ///   - title: The title, such as the name of the file.
    package init(_ entries: [HAREntry], title: String) {
        self.title = title
        let starts = entries.map(\.started.timeIntervalSince1970)
        start = starts.min() ?? 0
        let end = zip(starts, entries).map { $0 + $1.time.inSeconds }.max() ?? start
        span = max(end - start, 1e-6)
        // The exchanges of a call follow each other, in the order in which the calls began.
        var calls: [Int: Double] = [:]
        for (time, entry) in zip(starts, entries) {
            if let call = entry.facts.call { calls[call] = min(calls[call] ?? time, time) }
        }
        let order = entries.indices.sorted { first, second in
            func key(_ index: Int) -> (Double, Int, Double, Int) {
                let call = entries[index].facts.call
                return (call.flatMap { calls[$0] } ?? starts[index], call ?? -1, starts[index], index)
            }
            return key(first) < key(second)
        }
        rows = order.enumerated().map { place, index in
            let call = entries[index].facts.call
            let isAfter = call != nil && place > 0 && entries[order[place - 1]].facts.call == call
            let isBefore = call != nil && place + 1 < order.count && entries[order[place + 1]].facts.call == call
            let join = isAfter ? (isBefore ? "├" : "└") : (isBefore ? "┌" : "")
            return Row(number: index + 1, entry: entries[index], join: join)
        }
    }

    /// The page.
    package var html: String {
        let policy =
            "default-src 'none'; script-src '\(Self.digest(Self.script))'; style-src '\(Self.digest(Self.style))'; "
            + "base-uri 'none'; form-action 'none'"
        var text = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        text += "<meta http-equiv=\"Content-Security-Policy\" content=\"\(policy)\">"
        text += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        text += "<meta name=\"color-scheme\" content=\"light dark\"><meta name=\"referrer\" content=\"no-referrer\">"
        text +=
            "<title>\(Self.escaped(title))</title><style>\(Self.style)</style></head>\n<body><h1>\(Self.escaped(title))</h1>\n"
        text += summary
        text += "<table class=\"exchanges\"><thead><tr>"
        for (name, kind) in Self.columns {
            text += "<th scope=\"col\" class=\"\(kind)\">"
            text +=
                kind == "bar"
                ? "\(name) (\(Self.milliseconds(span * 1_000)) ms)</th>"
                : "<button type=\"button\">\(name)</button></th>"
        }
        text += "</tr></thead>\n<tbody>\n"
        for row in rows { text += line(row) }
        return text + "</tbody></table>\n<script>\(Self.script)</script></body></html>\n"
    }

    private static let columns = [
        ("n", "number"), ("call", "number"), ("method", "text"), ("address", "address"), ("status", "number"),
        ("ms", "number"), ("bytes", "number"), ("phases", "bar"), ("notes", "text"),
    ]

    // MARK: - Rows

    private func line(_ row: Row) -> String {
        let entry = row.entry
        let status = entry.response.status
        let kind = status == 0 || status >= 500 ? "bad" : status >= 400 ? "warn" : ""
        let call = entry.facts.call.map { "\(row.join)\($0)" } ?? ""
        var text = "<tr><td class=\"number\">\(row.number)</td><td class=\"number\">\(call)</td>"
        text += "<td>\(Self.escaped(entry.request.method, limit: 20))</td>"
        text += "<td class=\"address\">\(Self.escaped(entry.request.url, limit: 300))</td>"
        text += "<td class=\"number \(kind)\">\(status == 0 ? "–" : "\(status)")</td>"
        text += "<td class=\"number\">\(Self.milliseconds(entry.time.inSeconds * 1_000))</td>"
        text += "<td class=\"number\">\(entry.response.content.size)</td><td class=\"bar\">\(bar(entry))</td>"
        return text + "<td>\(Self.escaped(notes(entry), limit: 400))</td></tr>\n"
    }

    private func notes(_ entry: HAREntry) -> String {
        var notes: [String] = []
        if let attempt = entry.facts.attempt, attempt > 1 { notes.append("attempt \(attempt)") }
        if let rule = entry.facts.rule { notes.append(rule) }
        for wait in entry.facts.waits {
            notes.append("waited \(Self.milliseconds(wait.duration.inSeconds * 1_000)) ms for \(wait.reason)")
        }
        if let cache = entry.facts.cache { notes.append("cache \(cache)") }
        if let fault = entry.facts.fault { notes.append(fault.sentence) }
        return notes.joined(separator: "; ")
    }

    /// The bar of an exchange.
    ///
    /// Widths are attributes of shapes, because the policy allows no style of an element.
    private func bar(_ entry: HAREntry) -> String {
        var position = entry.started.timeIntervalSince1970 - start
        var text = "<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\"><title>"
        let phases = Self.phases(of: entry)
        text += phases.map { "\(Self.escaped($0.name, limit: 80)) \(Self.milliseconds($0.duration * 1_000)) ms" }
            .joined(separator: ", ")
        text += "</title>"
        for phase in phases {
            let x = position / span * 1_000
            let width = max(phase.duration / span * 1_000, 0.6)
            text +=
                "<rect class=\"\(phase.kind)\" x=\"\(Self.milliseconds(x))\" width=\"\(Self.milliseconds(width))\" "
                + "height=\"10\"/>"
            position += phase.duration
        }
        return text + "</svg>"
    }

    private static func phases(of entry: HAREntry) -> [(name: String, kind: String, duration: Double)] {
        let timings = entry.timings
        var blocked = timings.blocked?.inSeconds ?? 0
        var phases: [(name: String, kind: String, duration: Double)] = []
        for wait in entry.facts.waits where blocked > 0 {
            let duration = min(wait.duration.inSeconds, blocked)
            phases.append(("waiting for \(wait.reason)", "policy", duration))
            blocked -= duration
        }
        let secure = timings.secureConnect?.inSeconds ?? 0
        let rest: [(String, String, Double)] = [
            ("blocked", "blocked", blocked), ("name", "dns", timings.nameLookup?.inSeconds ?? 0),
            ("connect", "connect", max(0, (timings.connect?.inSeconds ?? 0) - secure)), ("TLS", "tls", secure),
            ("send", "send", timings.send.inSeconds), ("wait", "wait", timings.wait.inSeconds),
            ("receive", "receive", timings.receive.inSeconds),
        ]
        for (name, kind, duration) in rest where duration > 0 { phases.append((name, kind, duration)) }
        return phases
    }

    // MARK: - Summary

    /// The legend with the sum of each phase, and of the waits by reason.
    private var summary: String {
        var sums: [(name: String, kind: String, duration: Double)] = []
        var places: [String: Int] = [:]
        for row in rows {
            for phase in Self.phases(of: row.entry) {
                // Each attempt has a reason of its own.
                let name =
                    phase.name.utf8.starts(with: "waiting for attempt ".utf8)
                    ? "waiting for another attempt" : phase.name
                if let place = places[name] {
                    sums[place].duration += phase.duration
                } else {
                    places[name] = sums.count
                    sums.append((name, phase.kind, phase.duration))
                }
            }
        }
        var text = "<p>\(rows.count) exchanges</p><ul class=\"legend\">"
        for sum in sums.sorted(by: { $0.duration > $1.duration }).prefix(40) {
            text +=
                "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"\(sum.kind)\" width=\"10\" height=\"10\"/></svg>"
            text += "\(Self.escaped(sum.name, limit: 80)) \(Self.milliseconds(sum.duration * 1_000)) ms</li>"
        }
        return text + "</ul>\n"
    }

    // MARK: - Text

    private static func milliseconds(_ value: Double) -> String {
        let tenths = Int64((max(-1e15, min(value, 1e15)) * 10).rounded())
        return "\(tenths / 10).\(abs(tenths % 10))"
    }

    /// A text of others: characters that change how others are shown are replaced, and those of HTML escaped.
    static func escaped(_ text: String, limit: Int = 200) -> String {
        var result = ""
        for scalar in text.escapedForDisplay(limit: limit).unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func digest(_ text: String) -> String {
        "sha256-" + Data(SHA256.hash(text.utf8)).base64EncodedString()
    }

    private static let script = """
        (() => {
          const table = document.querySelector("table.exchanges"), body = table.tBodies[0];
          table.tHead.addEventListener("click", event => {
            const head = event.target.closest("th");
            if (!head || !head.querySelector("button")) return;
            const column = head.cellIndex, isNumber = head.className === "number";
            const falls = head.getAttribute("aria-sort") === "ascending";
            for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
            head.setAttribute("aria-sort", falls ? "descending" : "ascending");
            const key = row => {
              const text = row.cells[column].textContent;
              return isNumber ? parseFloat(text.replace(/[^0-9.]/g, "")) || 0 : text;
            };
            const rows = [...body.rows].map(row => [key(row), row]);
            rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (falls ? -1 : 1));
            body.append(...rows.map(pair => pair[1]));
          });
        })();
        """

    private static let style = """
        :root { color-scheme: light dark; --text: #1b1b1f; --back: #fff; --line: #d9d9de; --bad: #b3261e; --warn: #8a5a00;
          --policy: #c77700; --blocked: #9a9aa2; --dns: #0b7a75; --connect: #b05a9d; --tls: #7b4bb3; --send: #2867b2;
          --wait: #3f9b57; --receive: #6aa9e9; }
        @media (prefers-color-scheme: dark) { :root { --text: #e6e6ea; --back: #17171a; --line: #3a3a41; --bad: #ff8a80;
          --warn: #ffcc66; --policy: #f0a030; --blocked: #7d7d86; --dns: #35b5ae; --connect: #d184c0; --tls: #a98be0;
          --send: #6ba4ec; --wait: #5fc27c; --receive: #9cc9f7; } }
        body { margin: 1rem; font: 14px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
        h1 { font-size: 1.2rem; overflow-wrap: anywhere; }
        .legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; list-style: none; }
        .legend svg { width: .8em; height: .8em; margin-inline-end: .4em; }
        table, thead, tbody { display: block; }
        tr { display: grid; column-gap: .6rem; border-bottom: 1px solid var(--line); padding: .15rem 0;
          grid-template-columns: 3rem 4rem 4.5rem minmax(0, 3fr) 3.5rem 5rem 5rem minmax(0, 5fr) minmax(0, 2fr); }
        tbody tr { content-visibility: auto; contain-intrinsic-size: auto 28px; }
        thead { position: sticky; top: 0; background: var(--back); z-index: 1; }
        th, td { padding: 0; text-align: start; font-weight: normal; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        td:hover { white-space: normal; overflow-wrap: anywhere; }
        .number { text-align: end; font-variant-numeric: tabular-nums; }
        button { all: unset; cursor: pointer; font-weight: 600; } button:focus-visible { outline: 2px solid; }
        th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
        .bar svg { display: block; width: 100%; height: 1.1em; margin-top: .2em; }
        .bad { color: var(--bad); font-weight: 600; } .warn { color: var(--warn); font-weight: 600; }
        .policy { fill: var(--policy); } .blocked { fill: var(--blocked); } .dns { fill: var(--dns); }
        .connect { fill: var(--connect); } .tls { fill: var(--tls); } .send { fill: var(--send); } .wait { fill: var(--wait); }
        .receive { fill: var(--receive); }
        @media (max-width: 60rem) { tr { grid-template-columns: 2rem 3rem 4rem minmax(0, 1fr) 3rem 4.5rem 4.5rem; }
          .bar, th:last-child, td:last-child { grid-column: 1 / -1; } }
        """
}
