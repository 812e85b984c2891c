import Lade
import LadeHarvest

/// How a list is paged, and where it is written.
struct PagingSettings: Sendable {
    var rules: [PageRule] = []
    var size: Int?
    var sizeQuery = "size"
    var items: JSONPointer = []
    var total: PageTotal?
    var identity: JSONPointer?
    var dropsDuplicates = false
    var repeatedPages = RepeatedPages.refused
    var pageLimit: Int?
    var itemLimit: Int?
    var prefetch = 0
    var path: String?
    var journalPath: String?
    var restarts = false
    var staysOnOrigin = false
    var sendsBodyElsewhere = false

    /// The options that set these values.
    static let rows: [OptionRow<PagingSettings>] = [
        .value(
            "next",
            "RULE",
            .paging,
            "Where the next page is (link, then body:/next)",
            details: "link or link:RELATION, body:/POINTER, cursor:/POINTER=QUERY, header:NAME=QUERY, page:QUERY, "
                + "page:QUERY=FIRST, offset:QUERY. Repeated, the first that names a page counts."
        ) { settings, value throws(CommandError) in
            settings.rules.append(try PagingSettings.rule(value))
        },
        .value("items", "/POINTER", .paging, "Where in a page the list is (the document itself)") {
            settings,
            value throws(CommandError) in
            settings.items = try PagingSettings.pointer(value, of: "--items")
        },
        .count("size", .paging, "How many items a page is to have") { $0.size = $1 },
        .value("size-query", "NAME", .paging, "The query item that says so (size)") { $0.sizeQuery = $1 },
        .value("total", "/POINTER", .paging, "Where the number of all items is; or header:NAME") {
            settings,
            value throws(CommandError) in
            settings.total =
                value.hasPrefix("header:")
                ? .header(String(value.dropFirst(7))) : .body(try PagingSettings.pointer(value, of: "--total"))
        },
        .count("max-pages", .paging, "Stop after so many pages") { $0.pageLimit = $1 },
        .count("max-items", .paging, "Stop after so many items") { $0.itemLimit = $1 },
        .count("prefetch", .paging, "Fetch so many pages ahead (0; 64 at most)", from: 0) { $0.prefetch = $1 },
        .value("identity", "/POINTER", .paging, "Where in an item its identity is, to count repeats") {
            settings,
            value throws(CommandError) in
            settings.identity = try PagingSettings.pointer(value, of: "--identity")
        },
        .flag("unique", .paging, "With --identity: leave out what comes twice") { $0.dropsDuplicates = true },
        .value(
            "repeated",
            "WHAT",
            .paging,
            "A page like an earlier one: refuse, end or keep",
            details: "With --next page or offset, a server that ignores them sends the same page again and again. A "
                + "page with the items of the first page or of the page before it is an error (refuse), the end of the "
                + "list (end), or a page as any other (keep).",
            completion: .words(["refuse", "end", "keep"])
        ) { settings, value throws(CommandError) in
            switch value {
            case "refuse": settings.repeatedPages = .refused
            case "end": settings.repeatedPages = .end
            case "keep": settings.repeatedPages = .kept
            default:
                throw .usage("--repeated: “\(value)” is no choice", advice: "Write refuse, end or keep.")
            }
        },
        .flag("same-origin", .paging, "Refuse a next page on another origin") { $0.staysOnOrigin = true },
        .flag("cross-origin-body", .paging, "Send the body to a next page on another origin, too") {
            $0.sendsBodyElsewhere = true
        },
        .value(
            "out",
            letter: "o",
            "FILE",
            .output,
            "Write to a file, with a journal beside it to resume from",
            completion: .files
        ) { settings, value in
            settings.path = value == "-" ? nil : value
        }.also("output"),
        .value(
            "state",
            "FILE",
            .output,
            "Where the journal is (the output with .journal)",
            completion: .files
        ) { $0.journalPath = $1 },
        .flag("restart", .output, "Begin anew, whatever output and journal there are") { $0.restarts = true },
    ]

    func validate() throws(CommandError) {
        if path?.isEmpty == true || journalPath?.isEmpty == true {
            let option = path?.isEmpty == true ? "--out" : "--state"
            throw .usage("\(option) without a name", advice: "Name a file.")
        }
        if path == nil, journalPath != nil || restarts {
            let option = restarts ? "--restart" : "--state"
            throw .usage("\(option) without --out", advice: "Only a file can be resumed: name one with --out.")
        }
        if staysOnOrigin, sendsBodyElsewhere {
            throw .usage("--cross-origin-body with --same-origin", advice: "Choose one of them.")
        }
        if dropsDuplicates, identity == nil {
            throw .usage("--unique without --identity", advice: "Say what makes an item the same: --identity /id.")
        }
    }

    /// The harvest that starts with a request.
    func harvest(_ request: Request) -> Harvest {
        var harvest = Harvest(request)
        if !rules.isEmpty { harvest.rules = rules }
        harvest.items = items
        harvest.sizer = .query(sizeQuery)
        harvest.size = size ?? 0
        harvest.total = total
        harvest.identity = identity
        harvest.duplicates = dropsDuplicates ? .dropped : .kept
        harvest.pageLimit = pageLimit
        harvest.itemLimit = itemLimit
        harvest.prefetch = prefetch
        harvest.repeatedPages = repeatedPages
        harvest.otherOrigins = staysOnOrigin ? .refused : sendsBodyElsewhere ? .withBody : .withoutCredentials
        return harvest
    }

    // MARK: - Reading

    static func rule(_ text: String) throws(CommandError) -> PageRule {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let rest = parts.count > 1 ? parts[1] : ""
        switch parts[0] {
        case "link": return .link(relation: rest.isEmpty ? "next" : rest)
        case "body": return .body(try pointer(rest, of: "--next"))
        case "cursor":
            if let (place, query) = pair(rest) { return .bodyCursor(try pointer(place, of: "--next"), query: query) }
        case "header":
            if let (name, query) = pair(rest) { return .headerCursor(name, query: query) }
        case "page":
            guard let (query, first) = pair(rest) else {
                if !rest.isEmpty, !rest.contains("=") { return .pageNumber(query: rest, first: 1) }
                break
            }
            return .pageNumber(query: query, first: try Quantity.count(first, of: "--next", from: 0))
        case "offset":
            if !rest.isEmpty { return .offset(query: rest) }
        default: break
        }
        throw .usage(
            "--next: “\(text)” is no rule",
            advice: "Write link, body:/next, cursor:/cursor=after, header:X-Cursor=after, page:page or offset:offset."
        )
    }

    private static func pair(_ text: String) -> (String, String)? {
        guard let equals = text.lastIndex(of: "=") else { return nil }
        let pair = (String(text[..<equals]), String(text[text.index(after: equals)...]))
        return pair.0.isEmpty || pair.1.isEmpty ? nil : pair
    }

    static func pointer(_ text: String, of option: String) throws(CommandError) -> JSONPointer {
        do throws(JSONPointer.Fault) {
            return try JSONPointer(text)
        } catch {
            throw .usage("\(option): “\(text)” is no JSON Pointer", advice: "Write it as /items or /data/0/list.")
        }
    }
}
