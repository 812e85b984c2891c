import LadeCore

/// The use of a response to a request for the rest of a body.
package enum CompletionDecision: Sendable, Hashable {
    /// The bytes continue those that are stored; together they are the body of this head.
    case join(StoredHead, isStored: Bool)
    /// The response is another whole body.
    case replace
    /// Ask once more for the whole body.
    case fetchAnew
}

extension ResponseCache.Rules {
    /// Decides whether a 206 is stored as a part (RFC 9111 §3.3).
    func partStorage(_ query: CacheQuery, _ received: ReceivedHead, _ key: CacheKey) -> Explained<StorageDecision> {
        guard case .single(let asked) = query.range, !received.isDecoded, let range = ContentRange(received.headers),
            let total = range.total, let wanted = asked.resolved(in: total),
            wanted.lowerBound <= range.span.lowerBound, range.span.upperBound <= wanted.upperBound,
            !received.headers.contains("Content-Length") || received.headers.contentLength == Int64(range.span.count),
            let tag = received.reading.entityTag, tag.isStrong
        else { return Explained(.refuse, .range) }
        var whole = received
        whole.status = 200
        // The whole has the fields of the part, except for the fields that describe the part.
        whole.headers = received.headers.keeping {
            !$0.name.equalsIgnoringASCIICase("Content-Range") && !$0.name.equalsIgnoringASCIICase("Content-Length")
        }
        let head = makeHead(query, whole, extent: .parts([range.span], total: total))
        if head.cost > headLimit { return Explained(.refuse, .headTooLarge) }
        if total > bodyLimit { return Explained(.refuse, .tooLarge) }
        return Explained(.storePart(head), .part)
    }

    /// Joins a part with an older one of the same body (RFC 9111 §3.4).
    ///
    /// - Returns: The head of both; nil where they belong to different bodies, and the older part goes.
    package func joined(_ older: StoredHead, _ newer: StoredHead) -> StoredHead? {
        guard case .parts(let added, let total) = newer.extent, older.length == total, !older.isDecoded,
            let first = older.reading.entityTag, let second = newer.reading.entityTag, first.isStronglyEqual(to: second)
        else { return nil }
        var head = older
        head.renew(StoredFields.renewed(older.headers, by: newer.headers), newer.times)
        let names = head.reading.vary.names
        head.selecting = newer.selecting.filter { names.isEmpty || names.contains($0.name) }
        head.unseen = newer.unseen.filter { names.isEmpty || names.contains($0) }
        head.mustValidate = older.mustValidate && newer.mustValidate
        let known: [Range<Int64>] =
            switch older.extent {
            case .whole(let length): [0..<length]
            case .parts(let spans, _): spans
            }
        let spans = Self.union(known + added)
        head.extent = spans == [0..<total] ? .whole(total) : .parts(spans, total: total)
        if head.isWhole, total > 0 { head.headers = Self.settingLength(head.headers, total) }
        return head
    }

    /// Decides the consequence of a response to the `Range` and `If-Range` of ``CacheDecision/complete(id:from:ifRange:)``.
    package func completion(of head: StoredHead, from start: Int64, _ received: ReceivedHead) -> CompletionDecision {
        if received.status == 200 { return .replace }
        let reading = received.reading
        guard received.status == 206, let range = ContentRange(received.headers), range.span == start..<head.length,
            range.total == head.length, let own = head.reading.entityTag, let tag = reading.entityTag,
            own.isStronglyEqual(to: tag),
            received.headers.contentCodings == head.headers.contentCodings,
            // The stored bytes were selected by other values of the newly named fields than the request's.
            !received.headers.contains("Vary") || reading.vary == head.reading.vary
        else { return .fetchAnew }
        var whole = head
        whole.renew(
            Self.settingLength(StoredFields.renewed(head.headers, by: received.headers), head.length),
            received.times
        )
        whole.extent = .whole(head.length)
        whole.mustValidate = false
        return .join(whole, isStored: !reading.directives.noStore)
    }

    /// Whether the parts of a head make a whole body whose digest has to be checked before it counts (RFC 9530).
    package static func needsDigest(_ head: StoredHead) -> [UInt8]? {
        head.isWhole && !head.isDecoded && head.reading.names.contains(.digest)
            ? expectedDigest(head.headers, head.status) : nil
    }

    /// The ranges without overlaps and without neighbours that touch.
    package static func union(_ spans: [Range<Int64>]) -> [Range<Int64>] {
        var result: [Range<Int64>] = []
        for span in spans.sorted(by: { $0.lowerBound < $1.lowerBound }) where !span.isEmpty {
            if let last = result.last, span.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound..<max(last.upperBound, span.upperBound)
            } else {
                result.append(span)
            }
        }
        return result
    }

    private static func settingLength(_ headers: Headers, _ length: Int64) -> Headers {
        var headers = headers
        headers["Content-Length"] = String(length)
        return headers
    }
}
