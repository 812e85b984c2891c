package import LadeCore

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Decides which request loads the next page, without network or state of the iteration.
package struct PageWalk: Sendable {
    /// The facts of an answer that the walk may need.
    package struct Facts: Sendable {
        package var response: Response
        /// The scalars at ``PageWalk/pointers``.
        package var scalars: [JSONScalar?]
        /// The number of items on the page; nil when unknown.
        package var itemCount: Int?

        package init(response: Response, scalars: [JSONScalar?] = [], itemCount: Int? = nil) {
            self.response = response
            self.scalars = scalars
            self.itemCount = itemCount
        }
    }

    /// The first page's request, without a size.
    let original: Request
    /// The first page, with its size.
    package let first: Page
    let rules: [PageRule]
    let total: PageTotal?
    let otherOrigins: OtherOrigins
    /// The locations to look up in each body: one for each rule with a pointer, then the total.
    package let pointers: [JSONPointer]

    package init(
        original: Request,
        size: Int,
        standardSize: Int = 0,
        sizer: Sizer?,
        rules: [PageRule],
        total: PageTotal?,
        otherOrigins: OtherOrigins
    ) {
        self.original = original
        self.rules = rules
        self.total = total
        self.otherOrigins = otherOrigins
        var sized = size > 0 ? sizer?.apply(original, size) ?? original : original
        // The first page states its number too, because servers count from different numbers by default.
        if rules.count == 1, case .pageNumber(let query, let first) = rules[0] {
            sized.url = sized.url.settingQuery(query, String(first))
        }
        first = Page(size: size > 0 ? size : standardSize, number: 0, request: sized, itemsBefore: 0)
        var pointers = rules.compactMap(\.pointer)
        if case .body(let pointer) = total { pointers.append(pointer) }
        self.pointers = pointers
    }

    /// Whether any page can be requested without the one before.
    package var isAddressable: Bool { rules.count == 1 && rules[0].isAddressable }

    /// Whether pages are requested by counting, which a server may ignore.
    package var countsPages: Bool { rules.contains(where: \.isAddressable) }

    /// The number of items on all pages, according to an answer; nil unless it is a number from 0.
    func total(_ facts: Facts) -> Int? {
        let total: Int? =
            switch total {
            case .body: facts.scalars.last.flatMap { $0?.count }
            case .header(let name): facts.response.headers[name].flatMap { Int($0) }
            case nil: nil
            }
        return total.flatMap { $0 < 0 ? nil : $0 }
    }

    /// The successor of a page that was not loaded yet, for addressable pages, assuming that the page has `stride`
    /// items.
    ///
    /// It may be wrong; ``next(after:_:)`` is right once the page is loaded. Nil where the numbers do not suffice.
    func guess(after page: Page, stride: Int) -> Page? {
        let itemsBefore = page.itemsBefore.flatMap { $0.adding(stride) }
        let value: Int?
        switch rules.first {
        case .pageNumber(_, let first): value = page.number.adding(1).flatMap(first.adding)
        case .offset: value = itemsBefore
        case .link, .body, .bodyCursor, .headerCursor, nil: value = nil
        }
        guard let value, let number = page.number.adding(1), let query = rules.first?.query else { return nil }
        return Page(size: page.size, number: number, request: changed(query, String(value)), itemsBefore: itemsBefore)
    }

    /// The page after a loaded one; nil after the last.
    func next(after page: Page, _ facts: Facts) throws(PageFailure.Cause) -> Page? {
        // An empty page is the end, even if it names a next page.
        guard facts.itemCount != 0 else { return nil }
        let itemsBefore = facts.itemCount.flatMap { count in page.itemsBefore.flatMap { $0.adding(count) } }
        if let total = total(facts), let itemsBefore, itemsBefore >= total { return nil }
        guard let request = try request(after: page, facts, itemsBefore) else { return nil }
        return Page(size: page.size, number: page.number.addingSaturated(1), request: request, itemsBefore: itemsBefore)
    }

    private func request(
        after page: Page,
        _ facts: Facts,
        _ itemsBefore: Int?
    ) throws(PageFailure.Cause) -> Request? {
        var scalars = facts.scalars[...]
        for rule in rules {
            let scalar = rule.pointer == nil ? nil : scalars.popFirst() ?? nil
            switch rule {
            case .link(let relation):
                guard let url = try Self.linked(relation, facts.response) else { continue }
                return try moved(to: url, from: facts.response.request)
            case .body:
                guard case .string(let target) = scalar, !target.isEmpty else { continue }
                guard let url = URL(reference: target, against: facts.response.request.url) else {
                    throw .invalidTarget(target.escapedForDisplay(limit: 120))
                }
                return try moved(to: url, from: facts.response.request)
            case .bodyCursor(_, let query):
                guard let cursor = scalar?.text else { continue }
                return changed(query, cursor)
            case .headerCursor(let name, let query):
                guard let cursor = facts.response.headers[name], !cursor.isEmpty else { continue }
                return changed(query, cursor)
            case .pageNumber(let query, let first):
                guard facts.itemCount != nil else { throw Self.uncounted }
                guard let value = page.number.adding(1).flatMap(first.adding) else { throw Self.tooLarge(query) }
                return changed(query, String(value))
            case .offset(let query):
                guard facts.itemCount != nil, page.itemsBefore != nil else { throw Self.uncounted }
                guard let itemsBefore else { throw Self.tooLarge(query) }
                return changed(query, String(itemsBefore))
            }
        }
        return nil
    }

    private static var uncounted: PageFailure.Cause {
        let reason = "pages that are counted end with an empty one, so it must be known how many items a page has"
        return .loading(.invalidSetting(name: "itemCount", reason: reason, ErrorContext()))
    }

    private static func tooLarge(_ query: String) -> PageFailure.Cause {
        .invalidTarget("\(query) above \(Int.max)")
    }

    private func changed(_ query: String, _ value: String) -> Request {
        var request = first.request
        request.url = request.url.settingQuery(query, value)
        return request
    }

    private static func linked(_ relation: String, _ response: Response) throws(PageFailure.Cause) -> URL? {
        let lines = response.headers.all("Link")
        guard !lines.isEmpty else { return nil }
        let links: [WebLink]
        do {
            links = try WebLink.parse(lines)
        } catch {
            throw .invalidTarget(error.description)
        }
        // A link with an anchor is about another resource (RFC 8288 §3.2).
        guard let link = links.first(where: { $0.hasRelation(relation) && $0.anchor == nil }) else { return nil }
        guard let url = link.resolved(against: response.request.url) else {
            throw .invalidTarget(link.target.escapedForDisplay(limit: 120))
        }
        return url
    }

    /// The first page's request for another address, which the server named in its answer to `request`.
    package func moved(to url: URL, from request: Request? = nil) throws(PageFailure.Cause) -> Request {
        var next = first.request
        next.url = url
        if let request { next.keepSecrets(of: request) }
        return try placed(next)
    }

    /// A page that was read by a decoder, with what its endpoint's requests have beside method, address and body.
    ///
    /// The address is as trustworthy as one that a server names.
    func attached(_ page: Page) throws(PageFailure.Cause) -> Page {
        guard page.isDetached else { return page }
        var request = first.request
        request.url = page.request.url
        if page.request.hasBody || page.request.method != request.method { request.body = page.request.body }
        request.method = page.request.method
        var attached = Page(
            size: page.size,
            number: page.number,
            request: try placed(request),
            itemsBefore: page.itemsBefore
        )
        attached.trail = page.trail
        attached.contents = page.contents
        return attached
    }

    private func placed(_ candidate: Request) throws(PageFailure.Cause) -> Request {
        var next = try vetted(candidate)
        guard next[LeadsToOtherOrigin.self] else { return next }
        for field in next.headers where !Self.harmlessNames.contains(field.name.lowercased()) {
            next.headers.remove(field.name)
        }
        return next
    }

    /// Fields for content negotiation.
    ///
    /// Any other field of the app may be a credential, independently of its name.
    private static let harmlessNames: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-encoding",
        "content-language", "content-type", "pragma", "prefer", "user-agent",
    ]

    /// The request as far as it may be sent to its address: another origin receives no credentials.
    func vetted(_ candidate: Request) throws(PageFailure.Cause) -> Request {
        var request = candidate
        guard request.isHTTP, (try? request.validate()) != nil, let origin = Origin(request.url) else {
            throw .invalidTarget(Redaction(request).address(request.url.absoluteString).escapedForDisplay(limit: 120))
        }
        let home = Origin(original.url)
        guard origin != home else { return request }
        if otherOrigins == .replacedByFirst {
            guard let url = request.url.placed(atOriginOf: original.url) else { throw .otherOrigin }
            request.url = url
            return request
        }
        guard otherOrigins != .refused else { throw .otherOrigin }
        guard origin.isSecure || home?.isSecure != true else { throw .insecure }
        guard !request.hasBody || otherOrigins == .withBody else { throw .bodyToOtherOrigin }
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

extension Int {
    /// The sum; nil where it cannot be represented.
    func adding(_ other: Int) -> Int? {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? nil : sum
    }

    /// The sum; the largest number where it cannot be represented.
    func addingSaturated(_ other: Int) -> Int {
        adding(other) ?? .max
    }
}
