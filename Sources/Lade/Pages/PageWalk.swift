package import LadeCore
import LadeFields

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Decides which request loads the next page, without network or state of the iteration.
package struct PageWalk: Sendable {
    /// The facts of a response that the walk may need.
    package struct Facts: Sendable {
        package var response: Response
        /// The scalars at ``PageWalk/pointers``.
        package var scalars: [JSONSplitter.Scalar?]
        /// The pointers that lead to an array or object.
        package var containers: Set<Int>
        /// The body, if there are such arrays and objects.
        package var document: Data?
        /// The number of items on the page; nil when unknown.
        package var itemCount: Int?

        package init(response: Response, scalars: [JSONSplitter.Scalar?] = [], itemCount: Int? = nil) {
            self.response = response
            self.scalars = scalars
            self.itemCount = itemCount
            containers = []
        }

        /// Takes the values that a splitter has found at the pointers of a walk.
        package mutating func take(_ splitter: borrowing JSONSplitter, _ walk: PageWalk, _ body: Data) {
            scalars = []
            for index in walk.pointers.indices {
                scalars.append(splitter.value(at: index))
                if splitter.isContainer(at: index) { containers.insert(index) }
            }
            if !containers.isEmpty { document = body }
        }
    }

    /// The successor of a page.
    package struct Step: Sendable {
        /// The next page; nil after the last.
        package var page: PageRequest?
        /// The rules whose places have something that names no page.
        package var skipped: [(rule: Pages.Rule, cause: PageError.Cause)] = []
        /// Whether the response says that there is more, although no rule names a page.
        package var isCut = false
        /// Whether the condition says that there is no more.
        package var isEnd = false
    }

    /// The first page's request, without a size.
    let original: Request
    /// The first page, with its size.
    package let first: PageRequest
    let rules: [Pages.Rule]
    /// Whether the rules are the usual places, in which anything may stand.
    let isCommon: Bool
    /// Where a response says whether there is a next page; nil where only the rules say so.
    let more: Pages.Rule.Place?
    private let totals: [Pages.Rule.Place]
    /// Whether the announced number of items ends a list that is counted.
    private let endsAtTotal: Bool
    let otherOrigins: Pages.Rule.OtherOrigins
    let emptyPageLimit: Int
    /// The number that the first page's address has: of the page, or of its first item.
    ///
    /// It is nil for an item's number that only the first page may state.
    private let base: Int?
    /// The locations to look up in each body: one for each rule with a pointer, then the condition, then the totals.
    package let pointers: [JSONPointer]
    /// The pointer of each rule, by its index.
    private let rulePointers: [Int?]
    private let morePointer: Int?
    private let totalPointers: [Int?]
    /// Where the first page may state the number of its first item.
    private let startPointers: [Int?]

    /// Makes a walk; `findsTotal` says whether the total is looked up in the usual places when none is given.
    package init(
        original: Request,
        size: Int,
        standardSize: Int = 0,
        sizer: Pages.Sizer?,
        rules: [Pages.Rule],
        more: Pages.Rule.Place? = nil,
        total: Pages.Rule.Place?,
        findsTotal: Bool = false,
        otherOrigins: Pages.Rule.OtherOrigins,
        emptyPageLimit: Int = 100
    ) {
        self.original = original
        self.rules = rules
        isCommon = rules == Pages.Rule.common
        self.more = more
        totals = total.map { [$0] } ?? (findsTotal ? Pages.Rule.Place.commonTotals : [])
        endsAtTotal = total != nil
        self.otherOrigins = otherOrigins
        self.emptyPageLimit = max(0, emptyPageLimit)
        var sized = size > 0 ? sizer?.apply(original, size) ?? original : original
        switch rules.first(where: \.isAddressable) {
        case .pageNumber(let query, let first):
            let number = first ?? original.url.queryNumber(query) ?? 1
            base = number
            // The first page states its number too, because servers count from different numbers by default.
            if rules.count == 1 { sized.url = sized.url.settingQuery(query, String(number)) }
        case .offset(let query, let first):
            let start = (first ?? original.url.queryNumber(query)).map { max(0, $0) }
            base = start
            if let start, first != nil, rules.count == 1 {
                sized.url = sized.url.settingQuery(query, "\(start)")
            }
        default: base = 0
        }
        first = PageRequest(size: size > 0 ? size : standardSize, number: 0, request: sized, itemsBefore: 0)
        var pointers: [JSONPointer] = []
        func index(_ place: Pages.Rule.Place?) -> Int? {
            guard let pointer = place?.bodyPointer else { return nil }
            pointers.append(pointer)
            return pointers.count - 1
        }
        rulePointers = rules.map { index($0.place) }
        morePointer = index(more)
        totalPointers = totals.map { index($0) }
        var starts: [Pages.Rule.Place] = []
        if base == nil, case .offset(let query, nil)? = rules.first(where: \.isAddressable) {
            starts = ([[]] + ["meta", "pagination", "paging", "page"].map { [$0] }).map {
                .body(JSONPointer(tokens: $0 + [query]))
            }
        }
        startPointers = starts.map { index($0) }
        self.pointers = pointers
    }

    /// Whether any page can be requested without the one before.
    package var isAddressable: Bool { rules.count == 1 && rules[0].isAddressable }

    /// Whether pages are requested by counting, which a server may ignore.
    package var countsPages: Bool { rules.contains(where: \.isAddressable) }

    /// Whether requests of pages are composed here, which a server may not understand.
    package var composesPages: Bool { !isCommon && rules.contains(where: \.isComposed) }

    /// The number of items on all pages, according to a response; nil unless it is a number from 0.
    package func total(_ facts: Facts) -> Int? {
        for (place, index) in zip(totals, totalPointers) {
            if let total = PageValue(place, index, facts).total { return total }
        }
        return nil
    }

    /// The successor of a page that was not loaded yet, for addressable pages, assuming that the page has `stride`
    /// items.
    ///
    /// It may be wrong; ``next(after:_:)`` is right once the page is loaded. Nil where the numbers do not suffice.
    func guess(after page: PageRequest, stride: Int) -> PageRequest? {
        guard original.canRepeatBody else { return nil }
        let itemsBefore = page.itemsBefore.flatMap { $0.adding(stride) }
        guard isAddressable, let number = page.number.adding(1) else { return nil }
        let request: Request
        switch rules.first {
        case .pageNumber(let query, _):
            guard let value = base?.adding(number) else { return nil }
            request = changed(query, String(value))
        case .offset(let query, _):
            guard let value = itemsBefore.flatMap(start(of: page, query).adding) else { return nil }
            request = changed(query, String(value))
        default: return nil
        }
        return PageRequest(size: page.size, number: number, request: request, itemsBefore: itemsBefore)
    }

    /// A page by its number from 0, where that needs no page before it; nil elsewhere.
    ///
    /// Pages are so requested where a rule numbers them, unless a total ends the list: then the items before a page must
    /// be known. By position they need the number of the first item, and a size.
    package func page(numbered number: Int) -> PageRequest? {
        guard isAddressable, original.canRepeatBody, let base, number >= 0 else { return nil }
        switch rules.first {
        case .pageNumber(let query, _):
            guard !endsAtTotal, let value = base.adding(number) else { return nil }
            let request = number == 0 ? first.request : changed(query, String(value))
            return PageRequest(
                size: first.size,
                number: number,
                request: request,
                itemsBefore: number == 0 ? 0 : nil
            )
        case .offset(let query, _):
            let (items, overflow) = number.multipliedReportingOverflow(by: first.size)
            guard first.size > 0, !overflow, let value = base.adding(items) else { return nil }
            let request = number == 0 ? first.request : changed(query, String(value))
            return PageRequest(size: first.size, number: number, request: request, itemsBefore: items)
        default: return nil
        }
    }

    /// The page after a loaded one; nil after the last.
    package func next(after page: PageRequest, _ facts: Facts) throws(PageError.Cause) -> PageRequest? {
        try step(after: page, facts).page
    }

    /// The step after a loaded page.
    package func step(after page: PageRequest, _ facts: Facts) throws(PageError.Cause) -> Step {
        var step = Step()
        let claim = try hasMore(facts)
        step.isEnd = claim == false
        if step.isEnd { return step }
        let itemsBefore = facts.itemCount.flatMap { count in page.itemsBefore.flatMap { $0.adding(count) } }
        if let (request, cursor) = try request(after: page, facts, itemsBefore, &step) {
            // Each page sends the body again.
            if !request.canRepeatBody {
                throw .loading(LoadingError(.invalidRequest(.bodyNotReplayable), LoadingError.Context(request)))
            }
            var next = PageRequest(
                size: page.size,
                number: page.number.addingSaturated(1),
                request: request,
                itemsBefore: itemsBefore
            )
            next.cursor = cursor
            next.emptyBefore = try emptyPages(page, facts)
            step.page = next
        }
        step.isCut = step.page == nil && claim == true
        return step
    }

    /// The number of pages without items that end with this one.
    ///
    /// - Throws: ``PageError/Cause/emptyPages(limit:)`` when there are too many.
    func emptyPages(_ page: PageRequest, _ facts: Facts) throws(PageError.Cause) -> Int {
        guard facts.itemCount == 0 else { return 0 }
        guard page.emptyBefore < emptyPageLimit else { throw .emptyPages(limit: emptyPageLimit) }
        return page.emptyBefore + 1
    }

    /// Whether the response says that there is a next page; nil when it does not say.
    private func hasMore(_ facts: Facts) throws(PageError.Cause) -> Bool? {
        guard let more else { return nil }
        let value = PageValue(more, morePointer, facts)
        switch value {
        case .missing: return nil
        case .none: return false
        case .isTrue: return true
        case .number(let text): return !text.utf8.allSatisfy { [0x30, 0x2E].contains($0) }
        case .text(let text) where ["true", "yes", "1"].contains(text.asciiLowercased): return true
        case .text(let text) where ["false", "no", "0"].contains(text.asciiLowercased): return false
        case .text, .json: throw unusable(value, at: more)
        }
    }

    /// The finding of a rule on a page.
    private enum Reading {
        case request(Request, PageCursor?)
        /// The list is over, whatever other rules say.
        case end
        /// The place says that there is no next page.
        case none
        case missing
        case unusable(PageError.Cause)
    }

    private func request(
        after page: PageRequest,
        _ facts: Facts,
        _ itemsBefore: Int?,
        _ step: inout Step
    ) throws(PageError.Cause) -> (Request, PageCursor?)? {
        var saysEnd = false
        for (index, rule) in rules.enumerated() {
            switch try reading(rule, rulePointers[index], after: page, facts, itemsBefore) {
            case .request(let request, let cursor): return (request, cursor)
            case .end: return nil
            case .none: saysEnd = true
            case .missing: break
            case .unusable(let cause):
                guard isCommon || index < rules.count - 1 else { throw cause }
                step.skipped.append((rule, cause))
            }
        }
        // A cursor that cannot be read must not look like the end of the list.
        let unread = step.skipped.first { if case .link = $0.rule { false } else { true } }
        if !isCommon, !saysEnd, let unread { throw unread.cause }
        return nil
    }

    private func reading(
        _ rule: Pages.Rule,
        _ pointer: Int?,
        after page: PageRequest,
        _ facts: Facts,
        _ itemsBefore: Int?
    ) throws(PageError.Cause) -> Reading {
        switch rule {
        case .link(let relation): return try linked(relation, facts.response)
        case .body, .header:
            guard let place = rule.place else { return .missing }
            return try addressed(PageValue(place, pointer, facts), at: place, facts)
        case .cursor(let place, let target):
            return try carried(PageValue(place, pointer, facts), at: place, to: target)
        case .pageNumber(let query, _):
            guard let count = facts.itemCount else { throw Self.uncounted }
            guard count > 0, !isTotalReached(itemsBefore, facts) else { return .end }
            guard let value = page.number.adding(1).flatMap({ base?.adding($0) }) else { throw Self.tooLarge(query) }
            return .request(changed(query, String(value)), nil)
        case .queryItems(let place): return try merged(PageValue(place, pointer, facts), at: place)
        case .offset(let query, _):
            guard let count = facts.itemCount, page.itemsBefore != nil else { throw Self.uncounted }
            let start = start(of: page, query, facts)
            // A list that begins at 1 has one item less before it than the number says.
            let reached = itemsBefore.flatMap((start - min(start, 1)).adding)
            guard count > 0, !isTotalReached(reached, facts) else { return .end }
            guard let value = itemsBefore.flatMap(start.adding) else { throw Self.tooLarge(query) }
            return .request(changed(query, String(value)), nil)
        }
    }

    /// The number of the first item of the list.
    private func start(of page: PageRequest, _ query: String, _ facts: Facts? = nil) -> Int {
        if let base { return base }
        // Later pages have the number of their own first item.
        if page.number > 0, let number = page.request.url.queryNumber(query), let before = page.itemsBefore {
            return max(0, number.subtractingReportingOverflow(before).partialValue)
        }
        let stated = facts.map { facts in
            startPointers.compactMap { index in
                index.flatMap { $0 < facts.scalars.count ? PageValue(facts.scalars[$0]).pageNumber : nil }
            }
        }
        return stated?.first { $0 <= 1 } ?? 0
    }

    private func isTotalReached(_ items: Int?, _ facts: Facts) -> Bool {
        guard endsAtTotal, let total = total(facts), let items else { return false }
        return items >= total
    }

    /// Reads an address in the body or in a header field.
    private func addressed(
        _ value: PageValue,
        at place: Pages.Rule.Place,
        _ facts: Facts
    ) throws(PageError.Cause) -> Reading {
        let target: String
        // In the usual places, a number in a field is the number of a page, which another rule reads.
        if isCommon, place.isPlainField, value.pageNumber != nil { return .missing }
        switch value {
        case .missing: return .missing
        case .none: return .none
        case .text(let text): target = text
        case .json(let json):
            switch PageLinks(json).next {
            case .missing: return .unusable(unusable(value, at: place))
            case .none: return .none
            case .target(let text): target = text
            }
        case .number, .isTrue: return .unusable(unusable(value, at: place))
        }
        guard (!isCommon || PageNames.isAddress(target)) && !target.isDamaged else {
            return .unusable(unusable(value, at: place))
        }
        guard let url = URL(reference: target, against: facts.response.request.url) else {
            return .unusable(invalid(target))
        }
        return .request(try moved(to: url, from: facts.response.request), nil)
    }

    /// Reads a cursor and writes it into the request.
    private func carried(
        _ value: PageValue,
        at place: Pages.Rule.Place,
        to target: Pages.Rule.CursorTarget
    ) throws(PageError.Cause) -> Reading {
        if isCommon, place.isPlainField, value.pageNumber == nil {
            // A value that is no number of a page was read as an address.
            return value == .none ? .none : .missing
        }
        switch value {
        case .missing: return .missing
        case .none: return .none
        case .text, .number, .json:
            let cursor = PageCursor(target: target, json: value.json)
            guard value.text != nil || target.keepsTypes, value.text?.isDamaged != true else { break }
            // In the usual places, only the number of a page is understood.
            if isCommon, value.pageNumber == nil { break }
            return .request(try request(with: cursor), cursor)
        case .isTrue: break
        }
        return .unusable(unusable(value, at: place))
    }

    /// Reads an object of query items, and sets them in the first page's request.
    private func merged(_ value: PageValue, at place: Pages.Rule.Place) throws(PageError.Cause) -> Reading {
        switch value {
        case .missing: return .missing
        case .none: return .none
        case .json(let bytes):
            // PHP writes an empty object as an empty list.
            guard let json = JSONValue(tolerant: Data(bytes)), json != .array([]) else { return .none }
            guard case .object(let members) = json else { break }
            if members.isEmpty { return .none }
            var request = first.request
            for (name, member) in members.sorted(by: { $0.name < $1.name }) {
                let text: String?
                switch member {
                case .null: text = nil
                case .bool(let flag): text = "\(flag)"
                case .integer(let number): text = "\(number)"
                case .number(let number): text = number.text
                case .string(let string) where !string.isDamaged: text = string
                case .string, .array, .object: return .unusable(unusable(value, at: place))
                }
                request.url = request.url.settingQuery(name, text)
            }
            return .request(request, nil)
        case .text, .number, .isTrue: break
        }
        return .unusable(unusable(value, at: place))
    }

    // The only two places where an address that a server sent comes into an error. Secrets are masked here, before the text is
    // cut.
    private func unusable(_ value: PageValue, at place: Pages.Rule.Place) -> PageError.Cause {
        .unusable(place: place, found: value.shown(Redaction(first.request)))
    }

    /// The error for a target that cannot be followed.
    package func invalid(_ target: String) -> PageError.Cause {
        .invalidTarget(Redaction(first.request).unparsable(target).escapedForDisplay(limit: 120))
    }

    /// The first page's request with a cursor.
    package func request(with cursor: PageCursor) throws(PageError.Cause) -> Request {
        var request = first.request
        try cursor.write(into: &request)
        return request
    }

    private static var uncounted: PageError.Cause {
        let reason = "pages that are counted end with an empty one, so it must be known how many items a page has"
        return .loading(LoadingError(.invalidSetting(name: "itemCount", reason: reason)))
    }

    private static func tooLarge(_ query: String) -> PageError.Cause {
        .invalidTarget("\(query) above \(Int.max)")
    }

    private func changed(_ query: String, _ value: String) -> Request {
        var request = first.request
        request.url = request.url.settingQuery(query, value)
        return request
    }

    private func linked(_ relation: String, _ response: Response) throws(PageError.Cause) -> Reading {
        let lines = response.headers.all("Link")
        guard !lines.isEmpty else { return .missing }
        let links: [WebLink]
        do {
            links = try WebLink.parse(lines)
        } catch {
            return .unusable(.invalidTarget(error.description))
        }
        // A link with an anchor is about another resource (RFC 8288 §3.2).
        guard let link = links.first(where: { $0.hasRelation(relation) && $0.anchor == nil }) else { return .missing }
        guard let url = link.resolved(against: response.request.url) else {
            return .unusable(invalid(link.target))
        }
        return .request(try moved(to: url, from: response.request), nil)
    }

    /// The first page's request for another address, which the server named in its response to `request`.
    package func moved(to url: URL, from request: Request? = nil) throws(PageError.Cause) -> Request {
        var next = first.request
        next.url = url
        if let request { next.keepSecrets(of: request) }
        return try placed(next)
    }

    /// A page that was read by a decoder, with the fields and settings of its endpoint's requests.
    ///
    /// The address is as trustworthy as one that a server names.
    func attached(_ page: PageRequest) throws(PageError.Cause) -> PageRequest {
        guard page.isDetached else { return page }
        var request = first.request
        request.url = page.request.url
        if page.request.hasBody || page.request.method != request.method { request.body = page.request.body }
        request.method = page.request.method
        var attached = PageRequest(
            size: page.size,
            number: page.number,
            request: try placed(request),
            itemsBefore: page.itemsBefore
        )
        attached.trail = page.trail
        attached.contents = page.contents
        attached.emptyBefore = page.emptyBefore
        if let cursor = page.cursor {
            attached.cursor = cursor
            try cursor.write(into: &attached.request)
        }
        return attached
    }

    private func placed(_ candidate: Request) throws(PageError.Cause) -> Request {
        var next = try vetted(candidate)
        guard next[LeadsToOtherOrigin.self] else { return next }
        next.headers.keepDescription(withBody: next.hasBody)
        return next
    }

    /// The request as far as it may be sent to its address: another origin receives no credentials.
    func vetted(_ candidate: Request) throws(PageError.Cause) -> Request {
        var request = candidate
        guard request.isHTTP, (try? request.validate()) != nil, let origin = Origin(request.url) else {
            throw invalid(request.url.absoluteString)
        }
        let home = Origin(original.url)
        guard origin != home else { return request }
        if otherOrigins == .replacedByFirst {
            guard let url = request.url.placed(atOriginOf: original.url) else { throw .otherOrigin(request.url) }
            request.url = url
            return request
        }
        guard otherOrigins != .refused else { throw .otherOrigin(request.url) }
        guard origin.isSecure || home?.isSecure != true else { throw .insecure(request.url) }
        guard !request.hasBody || otherOrigins == .withBody else { throw .bodyToOtherOrigin(request.url) }
        request.keepSecrets(of: original)
        request.headers.removeCredentials()
        request.headers.remove("Host")
        // The destination applies only to the first page's host.
        request.destination = nil
        request[LeadsToOtherOrigin.self] = true
        return request
    }
}

extension URL {
    /// The same path, query and fragment at the origin of another address; nil where that cannot be represented.
    fileprivate func placed(atOriginOf home: URL) -> URL? {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true),
            let origin = URLComponents(url: home, resolvingAgainstBaseURL: true)
        else { return nil }
        parts.scheme = origin.scheme
        parts.percentEncodedUser = origin.percentEncodedUser
        parts.percentEncodedPassword = origin.percentEncodedPassword
        parts.encodedHost = origin.encodedHost
        parts.port = origin.port
        return parts.url
    }
}

extension URL {
    /// The whole number in a query item; nil when there is none.
    package func queryNumber(_ name: String) -> Int? { queryValue(name).flatMap { Int(wholeNumber: $0) } }
}

extension String {
    /// Whether half a surrogate pair was replaced in it, so that it is not the text that the server meant.
    fileprivate var isDamaged: Bool { unicodeScalars.contains("\u{FFFD}") }
}

extension Int {
    /// The number that a text is, in digits alone; nil for any other text.
    package init?(wholeNumber text: some StringProtocol) {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else { return nil }
        self = number
    }

    /// The sum; nil where it cannot be represented.
    func adding(_ other: Int) -> Int? {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? nil : sum
    }

    /// The sum; the largest number where it cannot be represented.
    package func addingSaturated(_ other: Int) -> Int {
        adding(other) ?? .max
    }
}
