#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a truncated body can be resumed: its version, and the number of existing bytes.
///
/// A value that makes the request for the rest and checks the answer (RFC 9110 §13.1.5, §14.2).
struct ResumePoint: Sendable, Hashable {
    /// The meaning of an answer to the request for the rest.
    enum Continuation: Hashable {
        /// The rest, or a part of it.
        case rest(ContentRange)
        /// The whole body from the first byte.
        case whole
        /// The existing bytes are the complete body of the same version.
        case complete
        /// None of these, with the reason; the rest cannot be loaded.
        case misfit(String)
        /// Another status: the server did not answer the request for the rest.
        case refused
    }

    /// The strong validator of the version: an entity tag, or a date; empty when unknown.
    var validator: String
    /// The number of existing bytes.
    var offset: Int64
    /// The length of the whole body, if known.
    var length: Int64?
    /// The content coding of the existing bytes; nil when they have none.
    var coding: String?

    /// The request for the rest.
    func asking(_ request: Request) -> Request {
        var asked = request
        asked.headers.set("Range", "bytes=\(offset)-")
        if !validator.isEmpty { asked.headers.set("If-Range", validator) }
        return asked
    }

    /// Checks the head of the answer to that request.
    func continuation(by response: Response) -> Continuation {
        switch response.status.code {
        case 206: checkRange(response)
        case 200..<300: .whole
        case 416: isComplete(by: response) ? .complete : .misfit("the server has no such range")
        default: .refused
        }
    }

    /// Whether a 416 says that the existing bytes are all.
    ///
    /// A server that has another version by now ignores the range, because `If-Range` does not match (RFC 9110
    /// §13.1.5).
    private func isComplete(by response: Response) -> Bool {
        let whole = response.headers["Content-Range"].flatMap(ContentRange.unsatisfiedLength)
        return whole == offset && offset > 0 && (length == nil || length == whole) && isSameVersion(response)
    }

    /// Whether the answer does not name another version.
    private func isSameVersion(_ response: Response) -> Bool {
        guard !validator.isEmpty else { return true }
        let name = validator.hasPrefix("\"") ? "ETag" : "Last-Modified"
        return response.headers[name] == nil || response.headers[name] == validator
    }

    /// Whether the answer does not name another content coding; an answer to `If-Range` may leave it out (RFC 9110
    /// §15.3.7).
    private func isSameCoding(_ response: Response) -> Bool {
        guard let answered = response.headers["Content-Encoding"]?.lowercased() else { return true }
        return answered == coding?.lowercased() ?? "identity"
    }

    private func checkRange(_ response: Response) -> Continuation {
        guard let range = response.headers["Content-Range"].flatMap(ContentRange.init), range.first == offset else {
            return .misfit("the server sent another range than requested")
        }
        // Without the length of the whole body, its end could not be distinguished from another truncation.
        guard let whole = range.whole, length == nil || length == whole else {
            return .misfit("the length of the whole body has changed, or is unknown")
        }
        if let count = response.headers["Content-Length"], Int64(count) != range.last - range.first + 1 {
            return .misfit("the length of the answer does not match its range")
        }
        // Offsets of coded and uncoded bytes differ, also where a server gives both the same entity tag.
        guard isSameCoding(response) else { return .misfit("the range has another content coding") }
        // A server that ignores If-Range sends a range of any version.
        guard isSameVersion(response) else { return .misfit("the range is of another version") }
        return .rest(range)
    }
}

extension Response {
    /// Identifies this version of a file: a strong entity tag, or the date of its last change.
    ///
    /// The date counts only if the answer was made at least a minute later. The file may have changed twice within a
    /// second, and the two dates may come from different clocks (RFC 9110 §8.8.2.2).
    ///
    /// - Parameter now: The reference for dates with two-digit years.
    /// - Returns: The value for `If-Range`; nil when there is none.
    func strongValidator(now: Date) -> String? {
        let tags = headers.all("ETag")
        guard tags.isEmpty else {
            return tags.count == 1 && tags[0].hasPrefix("\"") && tags[0].hasSuffix("\"") && tags[0].count > 1
                ? tags[0] : nil
        }
        // A malformed date is ignored.
        guard let field = headers["Last-Modified"], let changed = try? HTTPDate(field, now: now).date,
            let made = headers["Date"].flatMap({ try? HTTPDate($0, now: now).date })
        else { return nil }
        return made.timeIntervalSince(changed) >= 60 ? field : nil
    }
}
