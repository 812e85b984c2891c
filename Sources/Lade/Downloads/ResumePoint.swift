#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a body that broke can be gone on with: the version it is of, and how many of its bytes are there.
///
/// A value that says what to ask for and judges what comes (RFC 9110 §13.1.5, §14.2).
struct ResumePoint: Sendable, Hashable {
    /// What an answer to the question for the rest is.
    enum Continuation: Hashable {
        /// The rest, or a part of it.
        case rest(ContentRange)
        /// Everything from the first byte on.
        case whole
        /// Nothing is missing: all of the same version is there.
        case complete
        /// Neither, and the reason; the rest cannot be had.
        case misfit(String)
        /// Another status: the server does not answer the question.
        case refused
    }

    /// The strong validator of the version: an entity tag, or a date; empty where it is not known.
    var validator: String
    /// How many bytes are there.
    var offset: Int64
    /// How many there are in all, when that is known.
    var length: Int64?

    /// The request for the rest.
    func asking(_ request: Request) -> Request {
        var asked = request
        asked.headers.set("Range", "bytes=\(offset)-")
        if !validator.isEmpty { asked.headers.set("If-Range", validator) }
        return asked
    }

    /// Judges the head of an answer to that.
    func continuation(by response: Response) -> Continuation {
        switch response.status.code {
        case 206: judge(response)
        case 200..<300: .whole
        case 416: isComplete(by: response) ? .complete : .misfit("the server has no such range")
        default: .refused
        }
    }

    /// Whether a 416 says that the bytes that are there are all there are.
    ///
    /// A server that has another version by now ignores the range, for `If-Range` does not hold (RFC 9110 §13.1.5).
    private func isComplete(by response: Response) -> Bool {
        let whole = response.headers["Content-Range"].flatMap(ContentRange.unsatisfiedLength)
        return whole == offset && offset > 0 && (length == nil || length == whole) && isSameVersion(response)
    }

    /// Whether the answer names no other version.
    private func isSameVersion(_ response: Response) -> Bool {
        guard !validator.isEmpty else { return true }
        let name = validator.hasPrefix("\"") ? "ETag" : "Last-Modified"
        return response.headers[name] == nil || response.headers[name] == validator
    }

    private func judge(_ response: Response) -> Continuation {
        guard let range = response.headers["Content-Range"].flatMap(ContentRange.init), range.first == offset else {
            return .misfit("another range came than was asked for")
        }
        // Without the length of the whole nobody could tell its end from another break.
        guard let whole = range.whole, length == nil || length == whole else {
            return .misfit("the length of the whole is another, or not known")
        }
        if let count = response.headers["Content-Length"], Int64(count) != range.last - range.first + 1 {
            return .misfit("the answer is as long as another range")
        }
        // A server that does not look at If-Range sends a range of whatever it has.
        guard isSameVersion(response) else { return .misfit("the range is of another version") }
        return .rest(range)
    }
}

extension Response {
    /// What tells this version of a file from all others: a strong entity tag, or the date of its last change.
    ///
    /// The date counts when the answer was made a minute later or more: the file may have changed twice within a second,
    /// and the two may be of different clocks (RFC 9110 §8.8.2.2).
    ///
    /// - Parameter now: What dates with two-digit years are measured against.
    /// - Returns: The value for `If-Range`; nil when there is none.
    func strongValidator(now: Date) -> String? {
        let tags = headers.all("ETag")
        guard tags.isEmpty else {
            return tags.count == 1 && tags[0].hasPrefix("\"") && tags[0].hasSuffix("\"") && tags[0].count > 1
                ? tags[0] : nil
        }
        // A date that cannot be read tells nothing.
        guard let field = headers["Last-Modified"], let changed = try? HTTPDate(field, now: now).date,
            let made = headers["Date"].flatMap({ try? HTTPDate($0, now: now).date })
        else { return nil }
        return made.timeIntervalSince(changed) >= 60 ? field : nil
    }
}
