import Lade
import LadeHarvest

/// How a list is paged, and where it is written.
struct PagingSettings: Sendable {
    var rules: [Pages.Rule] = []
    var size: Int?
    var sizeQuery = "size"
    var items: JSONPointer = []
    var format = Harvest.PageFormat.document
    var more: Pages.Rule.Place?
    var total: Pages.Rule.Place?
    var endStatuses: Set<Int> = []
    var emptyPageLimit = 100
    var identity: JSONPointer?
    var dropsDuplicates = false
    var repeatedPages = Pages.Rule.RepeatedPages.refused
    var pageLimit: Int?
    var itemLimit: Int?
    var prefetch = 0
    var path: String?
    var journalPath: String?
    var restarts = false
    var isSameSignIn = false
    var staysOnOrigin = false
    var sendsBodyElsewhere = false
    var staysHere = false

    /// The rules of `--next` with an example each, for the help.
    static let chapter = Command.Chapter(
        title: "Rules of --next (the first that names a page counts)",
        rows: [
            ("link:RELATION", "a Link field: link, or link:older"),
            ("body:/POINTER", "an address in the page: body:/paging/next"),
            ("header:NAME", "an address in a field: header:Next-Page"),
            ("cursor:/POINTER=TARGET", "a cursor in the page: cursor:/meta/next=cursor"),
            ("cursor:/LIST/-/NAME=TARGET", "of the last item: cursor:/data/-/id=after"),
            ("header:NAME=TARGET", "a cursor in a field: header:X-Next-Page=page"),
            ("page:QUERY", "pages by number: page:page; from 0: page:page=0"),
            ("offset:QUERY", "by position: offset:offset; from 1: offset:start=1"),
            ("query:/POINTER", "an object of query items: query:/continue"),
            ("TARGET", "a query item, header:NAME, or body:/POINTER"),
        ]
    )

    /// The options that set these values.
    static let rows: [OptionRow<PagingSettings>] = [
        .value(
            "next",
            "RULE",
            .paging,
            "Where the next page is (the usual places)",
            details: "The usual places are Link and Next-Page fields, next, links.next, _links.next.href, "
                + "@odata.nextLink, next_page_url and the like, and JSON in X-Pagination. Pages are numbered from the "
                + "number in the address, else from 1. Null, false, an empty text and nothing end the list; any other "
                + "value that names no page is an error."
        ) { settings, value throws(CommandError) in
            settings.rules.append(try PagingSettings.rule(value))
        },
        .value("more", "/POINTER", .paging, "Where a page says if there is more; or header:NAME") {
            settings,
            value throws(CommandError) in
            settings.more = try PagingSettings.place(value, of: "--more")
        },
        .value(
            "end-status",
            "N",
            .paging,
            "A status after the first page that ends the list",
            details:
                "Some servers respond with 404, 400 or 416 behind the last page. Several statuses stand between commas, or each "
                + "has an option of its own."
        ) { settings, value throws(CommandError) in
            for part in value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                guard let status = Int(wholeNumber: Substring(part)), (300...599).contains(status) else {
                    throw .usage(
                        "--end-status: “\(value.asArgument)” is no status",
                        advice: "Write it as 404 or 400,404."
                    )
                }
                settings.endStatuses.insert(status)
            }
        },
        .value("items", "/POINTER", .paging, "Where a page has the list (all of it is); or lines") {
            settings,
            value throws(CommandError) in
            if value == "lines" {
                settings.format = .lines
                return
            }
            settings.items = try PagingSettings.pointer(value, of: "--items")
        },
        .count("size", .paging, "How many items a page is to have") { $0.size = $1 },
        .value("size-query", "NAME", .paging, "The query item that says so (size)") { $0.sizeQuery = $1 },
        .value(
            "total",
            "/POINTER",
            .paging,
            "Where the number of all items is; or header:NAME",
            details: "The usual places are looked up in any case. A list by number or offset ends at a total that is "
                + "given here. A total that is not reached is an error, with exit code 15."
        ) {
            settings,
            value throws(CommandError) in
            settings.total = try PagingSettings.place(value, of: "--total")
        },
        .count("max-pages", .paging, "Stop after so many pages") { $0.pageLimit = $1 },
        .count("max-items", .paging, "Stop after so many items") { $0.itemLimit = $1 },
        .count("prefetch", .paging, "Fetch so many pages ahead (0; 64 at most)", from: 0) { $0.prefetch = $1 },
        .value("identity", "/POINTER", .paging, "Where an item has its identity, to find duplicates") {
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
                throw .usage("--repeated: “\(value.asArgument)” is no choice", advice: "Write refuse, end or keep.")
            }
        },
        .count(
            "empty-pages",
            .paging,
            "How many empty pages in a row to follow (100)",
            isCommon: false,
            from: 0
        ) {
            $0.emptyPageLimit = $1
        },
        .flag(
            "next-here",
            .paging,
            "Fetch next pages from the list's own origin",
            details: "For a server behind a proxy that names its own address in links: path and query of the link are "
                + "fetched from the origin of the first page, with credentials and fields."
        ) { $0.staysHere = true },
        .flag("same-origin", .paging, "Refuse a next page on another origin", isCommon: false) {
            $0.staysOnOrigin = true
        },
        .flag("cross-origin-body", .paging, "Send the body to a next page on another origin, too") {
            $0.sendsBodyElsewhere = true
        },
        .value(
            "out",
            letter: "o",
            "FILE",
            .output,
            "Write to a file, with a journal to resume from",
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
        .flag(
            "same-sign-in",
            .output,
            "Continue with a renewed token, key or cookie",
            details: "A journal is continued with the secrets that it was begun with, because others may be of another "
                + "user, whose list differs. This says that they are of the same user; the journal remembers it.",
            isCommon: false
        ) { $0.isSameSignIn = true },
    ]

    func validate() throws(CommandError) {
        if path?.isEmpty == true || journalPath?.isEmpty == true {
            let option = path?.isEmpty == true ? "--out" : "--state"
            throw .usage("\(option) without a name", advice: "Name a file.")
        }
        if path == nil, journalPath != nil || restarts || isSameSignIn {
            let option = restarts ? "--restart" : isSameSignIn ? "--same-sign-in" : "--state"
            throw .usage("\(option) without --out", advice: "Only a file can be resumed: name one with --out.")
        }
        if staysOnOrigin, sendsBodyElsewhere {
            throw .usage("--cross-origin-body with --same-origin", advice: "Choose one of them.")
        }
        if staysHere, staysOnOrigin || sendsBodyElsewhere {
            let other = staysOnOrigin ? "--same-origin" : "--cross-origin-body"
            throw .usage("--next-here with \(other)", advice: "Choose one of them.")
        }
        if format == .lines, rules.contains(where: \.readsBody) || more?.isInBody == true || total?.isInBody == true {
            throw .usage("--items lines with a place in the body", advice: "Lines have none: name a header field.")
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
        harvest.format = format
        harvest.more = more
        harvest.endStatuses = endStatuses
        harvest.emptyPageLimit = emptyPageLimit
        harvest.sizer = .query(sizeQuery)
        harvest.size = size ?? 0
        harvest.total = total
        harvest.identity = identity
        harvest.isSameSignIn = isSameSignIn
        harvest.duplicates = dropsDuplicates ? .dropped : .kept
        harvest.pageLimit = pageLimit
        harvest.itemLimit = itemLimit
        harvest.prefetch = prefetch
        harvest.repeatedPages = repeatedPages
        harvest.otherOrigins =
            staysHere
            ? .replacedByFirst : staysOnOrigin ? .refused : sendsBodyElsewhere ? .withBody : .withoutCredentials
        return harvest
    }

    // MARK: - Reading

    static func rule(_ text: String) throws(CommandError) -> Pages.Rule {
        let (kind, rest) = halves(text, at: text.utf8.firstIndex(of: UInt8(ascii: ":")))
        switch kind {
        case "link": return .link(relation: rest.isEmpty ? "next" : rest)
        case "body": return .body(try pointer(rest, of: "--next"))
        case "cursor":
            if let (place, target) = pair(rest) {
                return .cursor(try Self.place(place, of: "--next"), to: try self.target(target))
            }
        case "header":
            guard let (name, target) = pair(rest) else {
                if !rest.isEmpty, !rest.utf8.contains(UInt8(ascii: "=")) { return .header(rest) }
                break
            }
            return .cursor(try place("header:" + name, of: "--next"), to: try self.target(target))
        case "page":
            guard let (query, first) = pair(rest) else {
                if !rest.isEmpty, !rest.utf8.contains(UInt8(ascii: "=")) { return .pageNumber(query: rest) }
                break
            }
            return .pageNumber(query: query, first: try Quantity.count(first, of: "--next", from: 0))
        case "query":
            if !rest.isEmpty { return .queryItems(try place(rest, of: "--next")) }
        case "offset":
            guard let (query, first) = pair(rest) else {
                if !rest.isEmpty, !rest.utf8.contains(UInt8(ascii: "=")) { return .offset(query: rest) }
                break
            }
            return .offset(query: query, first: try Quantity.count(first, of: "--next", from: 0))
        default: break
        }
        throw .usage(
            "--next: “\(text.asArgument)” is no rule",
            advice:
                "Write link, body:/next, cursor:/cursor=after, header:X-Cursor=after, page:page offset:offset or query:/continue; "
                + "“lade help pages” lists them."
        )
    }

    /// The rule as it is written for `--next`.
    static func spelling(of rule: Pages.Rule) -> String {
        switch rule {
        case .link("next"): "link"
        case .link(let relation): "link:\(relation)"
        case .body(let pointer): "body:\(pointer)"
        case .header(let name): "header:\(name)"
        case .cursor(.body(let pointer), let target): "cursor:\(pointer)=\(spelling(of: target))"
        case .cursor(.header(let name, let pointer), let target): "header:\(name)\(pointer)=\(spelling(of: target))"
        case .pageNumber(let query, nil): "page:\(query)"
        case .pageNumber(let query, let first?): "page:\(query)=\(first)"
        case .offset(let query, nil): "offset:\(query)"
        case .offset(let query, let first?): "offset:\(query)=\(first)"
        case .queryItems(let place): "query:\(spelling(of: place))"
        }
    }

    private static func spelling(of target: Pages.Rule.CursorTarget) -> String {
        switch target {
        case .query(let name): name
        case .header(let name): "header:\(name)"
        case .body(let pointer): "body:\(pointer)"
        }
    }

    /// The place as it is written for `--more`.
    static func spelling(of place: Pages.Rule.Place) -> String {
        switch place {
        case .body(let pointer): "\(pointer)"
        case .header(let name, let pointer): "header:\(name)\(pointer)"
        }
    }

    /// The text before and behind a delimiter; all is before it when there is none.
    private static func halves(_ text: String, at delimiter: String.Index?) -> (String, String) {
        guard let delimiter else { return (text, "") }
        let utf8 = text.utf8
        return (String(Substring(utf8[..<delimiter])), String(Substring(utf8[utf8.index(after: delimiter)...])))
    }

    private static func pair(_ text: String) -> (String, String)? {
        guard let equals = text.utf8.lastIndex(of: UInt8(ascii: "=")) else { return nil }
        let pair = halves(text, at: equals)
        return pair.0.isEmpty || pair.1.isEmpty ? nil : pair
    }

    /// Where a cursor is written: a query item, `header:NAME`, or `body:/POINTER`.
    private static func target(_ text: String) throws(CommandError) -> Pages.Rule.CursorTarget {
        let (kind, rest) = halves(text, at: text.utf8.firstIndex(of: UInt8(ascii: ":")))
        switch kind {
        case "header" where !rest.isEmpty: return .header(rest)
        case "query" where !rest.isEmpty: return .query(rest)
        case "body": return .body(try pointer(rest, of: "--next"))
        default: return .query(text)
        }
    }

    /// A place in a response: `/POINTER`, `header:NAME`, or `header:NAME/POINTER` for JSON in a field.
    static func place(_ text: String, of option: String) throws(CommandError) -> Pages.Rule.Place {
        guard text.utf8.starts(with: "header:".utf8) else { return .body(try pointer(text, of: option)) }
        let rest = String(Substring(text.utf8.dropFirst("header:".utf8.count)))
        let slash = rest.utf8.firstIndex(of: UInt8(ascii: "/"))
        let (name, path) = halves(rest, at: slash)
        guard !name.isEmpty else {
            throw .usage("\(option): “\(text.asArgument)” names no field", advice: "Write header:X-Total-Count.")
        }
        return .header(name, slash == nil ? [] : try pointer("/" + path, of: option))
    }

    static func pointer(_ text: String, of option: String) throws(CommandError) -> JSONPointer {
        do throws(JSONError) {
            return try JSONPointer(text)
        } catch {
            throw .usage(
                "\(option): “\(text.asArgument)” is no JSON Pointer",
                advice: "Write it as /items or /data/0/list."
            )
        }
    }
}

extension Pages.Rule {
    /// Whether the rule reads the body of a page.
    fileprivate var readsBody: Bool {
        switch self {
        case .body, .cursor(.body, _), .queryItems(.body): true
        case .link, .header, .cursor, .queryItems, .pageNumber, .offset: false
        }
    }
}

extension Pages.Rule.Place {
    fileprivate var isInBody: Bool {
        if case .body = self { true } else { false }
    }
}
