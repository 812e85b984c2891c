public import LadeCore

/// Why the pages ended before the last one, and the page to resume at.
///
/// ```swift
/// do throws(PageFailure) {
///     for try await page in loader.pages(of: shows) { render(page.value.showList) }
/// } catch {
///     // Later: the same list, from the page that failed.
///     for try await page in loader.pages(of: shows, from: error.page) { render(page.value.showList) }
/// }
/// ```
public struct PageFailure: Error, Sendable {
    /// The cause.
    @nonexhaustive
    public enum Cause: Error, Sendable {
        /// The page could not be loaded; no retries are left.
        case loading(LoadingError)
        /// The page was loaded before: the server's pages form a loop.
        case loop
        /// The page has the same content as the first page or the page before it; see ``RepeatedPages``.
        case repeated
        /// The page has another origin, and the settings do not allow that.
        case otherOrigin
        /// The page has another origin, and the request has a body, which would be sent there.
        case bodyToOtherOrigin
        /// The page has an http address, while the first page has an https address.
        case insecure
        /// The answer names a next page that cannot be loaded; the text is truncated and escaped.
        case invalidTarget(String)
        /// The paginator threw an error.
        case paginator(any Error)
    }

    /// The page that could not be loaded.
    ///
    /// ``Cause/invalidTarget(_:)`` and ``Cause/paginator(_:)`` have no such page; for them it is the page before.
    public let page: Page
    /// The cause.
    public let cause: Cause

    /// Makes a failure.
    package init(page: Page, cause: Cause) {
        self.page = page
        self.cause = cause
    }

    /// The task was cancelled before a page.
    package static func cancelled(at page: Page) -> PageFailure {
        PageFailure(page: page, cause: .loading(.cancelled(ErrorContext(page.request))))
    }

    /// Whether the call was cancelled, which is an outcome and not a failure.
    public var isCancellation: Bool {
        if case .loading(let error) = cause { error.isCancellation } else { false }
    }
}

extension PageFailure: CustomStringConvertible {
    /// One plain sentence with the number of the page.
    public var description: String {
        switch cause {
        case .loading(let error): "Page \(page.number): \(error)"
        case .loop: "Page \(page.number) was fetched before, so the pages never end: \(page.request)."
        case .repeated:
            "Page \(page.number) has the content of an earlier page, so the server ignores the page's number or has "
                + "no further pages: \(page.request)."
        case .otherOrigin: "Page \(page.number) has another origin, which is not followed: \(page.request)."
        case .bodyToOtherOrigin:
            "After page \(page.number) comes one on another origin, which the body is not sent to: \(page.request)."
        case .insecure: "After page \(page.number) comes one that leaves https: \(page.request)."
        case .invalidTarget(let target):
            "After page \(page.number) comes “\(Redaction(page.request).unparsable(target))”, which cannot be followed."
        case .paginator(let error):
            "What comes after page \(page.number) could not be determined: \(error)".endedByFullStop
        }
    }
}
