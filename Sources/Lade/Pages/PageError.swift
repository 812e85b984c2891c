#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// Why the pages ended before the last one, and the page to resume at.
///
/// ```swift
/// do throws(PageError) {
///     for try await page in loader.pages(of: shows) { render(page.value.showList) }
/// } catch {
///     // Later: the same list, from the page that failed.
///     for try await page in loader.pages(of: shows, from: error.page) { render(page.value.showList) }
/// }
/// ```
public struct PageError: Error, Sendable {
    /// The cause.
    @nonexhaustive
    public enum Cause: Error, Sendable {
        /// The page could not be loaded; no retries are left.
        case loading(LoadingError)
        /// The page was loaded before: the server's pages form a loop.
        case loop
        /// The page has the same content as the first page or the page before it; see ``Pages/Rule/RepeatedPages``.
        case repeated
        /// The page has another origin, and the settings do not allow that.
        case otherOrigin(URL)
        /// The page has another origin, and the request has a body, which would be sent there.
        case bodyToOtherOrigin(URL)
        /// The page has an http address, while the first page has an https address.
        case insecure(URL)
        /// The response names a next page that cannot be loaded; the text is escaped, truncated and without secrets.
        case invalidTarget(String)
        /// A place that a rule reads has a value that names no page; the text describes it, as in ``invalidTarget(_:)``.
        case unusable(place: Pages.Rule.Place, found: String)
        /// The response says that there is more, and no rule names the next page.
        case cut(more: Pages.Rule.Place)
        /// More pages in a row than allowed had no items, and another one follows.
        case emptyPages(limit: Int)
        /// The paginator threw an error.
        case paginator(any Error)

        /// The error of the call that loads the page; nil for all other causes.
        public var loadingError: LoadingError? {
            if case .loading(let error) = self { error } else { nil }
        }
    }

    /// The page that could not be loaded.
    ///
    /// Causes that lie in the page before have no such page; for them it is the page before.
    public let page: PageRequest
    /// The cause.
    public let cause: Cause
    /// Whether the list is counted, so that a status may mean its end.
    package let isCounted: Bool

    /// Makes a failure.
    package init(page: PageRequest, cause: Cause, isCounted: Bool = false) {
        self.page = page
        self.cause = cause
        self.isCounted = isCounted
    }

    /// Whether the same list, continued at ``page``, may get further: the cause is not the server's response.
    package var canContinue: Bool {
        switch cause {
        case .loading, .paginator, .otherOrigin, .bodyToOtherOrigin, .insecure, .emptyPages: true
        case .loop, .repeated, .invalidTarget, .unusable, .cut: false
        }
    }

    /// The number of the page in texts, which count from 1.
    private var number: Int { page.number.addingSaturated(1) }

    /// The task was cancelled before a page.
    package static func cancelled(at page: PageRequest) -> PageError {
        PageError(page: page, cause: .loading(LoadingError(.cancelled, LoadingError.Context(page.request))))
    }

    /// Whether the call was cancelled, which is an outcome and not a failure.
    public var isCancellation: Bool {
        if case .loading(let error) = cause { error.isCancellation } else { false }
    }
}

extension PageError: CustomStringConvertible {
    /// One plain sentence with the number of the page.
    public var description: String {
        switch cause {
        case .loading(let error): "Page \(number): \(error)\(endStatusHint)"
        case .loop: "Page \(number) was fetched before, so the pages never end: \(page.request)."
        case .repeated:
            "Page \(number) has the content of an earlier page, so the server ignores the page's number or cursor, or "
                + "has no further pages: \(page.request)."
        case .otherOrigin(let url):
            "After page \(number) of \(origin) comes one on another origin, which is not followed: \(shown(url))."
        case .bodyToOtherOrigin(let url):
            "After page \(number) of \(origin) comes one on another origin, which the body of the request is not sent "
                + "to: \(shown(url))."
        case .insecure(let url): "After page \(number) of \(origin) comes one that leaves https: \(shown(url))."
        case .invalidTarget(let target):
            "After page \(number) comes “\(target)”, which cannot be followed."
        case .unusable(let place, let found):
            "Page \(number) names its next page in \(place), where it has \(found), which names no page."
        case .cut(let more): "Page \(number) says in \(more) that there is more, and no rule names the next page."
        case .emptyPages(let limit):
            "Page \(number) is the last of more than \(limit) pages without items in a row, and names another one."
        case .paginator(let error):
            "What comes after page \(number) could not be determined: \(error)".endedByFullStop
        }
    }

    /// The description without the number of the page, where it begins with that.
    package var clause: String {
        if case .loading(let error) = cause { "\(error)" } else { description }
    }

    private var origin: String { Origin(page.request.url)?.description ?? "the list" }

    private func shown(_ url: URL) -> String {
        Redaction(page.request).address(url.absoluteString).escapedForDisplay(limit: 200)
    }

    /// The setting for a list that is counted and ends with a status.
    private var endStatusHint: String {
        guard let status = endStatus else { return "" }
        return " If the list ends there, endStatuses should have \(status)."
    }

    /// The status after the first page with which many counted lists end; nil for any other failure.
    package var endStatus: Int? {
        guard isCounted, page.number > 0, case .loading(let error) = cause,
            case .unacceptableStatus(let status) = error.kind,
            [400, 404, 410, 416, 422].contains(status.code)
        else { return nil }
        return status.code
    }
}

extension PageError.Cause {
    /// The cause as a clause, for an event.
    func description(in request: Request) -> String {
        switch self {
        case .unusable(let place, let found): "\(place) has \(found)"
        case .invalidTarget(let target): target
        default:
            PageError(page: PageRequest(size: 0, number: 0, request: request, itemsBefore: nil), cause: self)
                .description
        }
    }
}

extension PageError {
    /// A text for display to the user.
    public func text(in language: MessageLanguage = .preferred) -> String { cause.text(in: language) }
}

extension PageError.Cause {
    /// A text for display to the user.
    func text(in language: MessageLanguage = .preferred) -> String {
        if case .loading(let error) = self { error.text(in: language) } else { Message.invalidData.text(in: language) }
    }
}

extension PageError: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var localizedDescription: String { text() }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}

extension PageError.Cause: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var localizedDescription: String { text() }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}

/// An error that may stand for a cancellation, which is an outcome and not a failure.
package protocol CancellableError: Error {
    /// Whether it stands for a cancellation.
    var isCancellation: Bool { get }
}

extension LoadingError: CancellableError {}

extension PageError: CancellableError {}
