public import Lade

/// The outcome of one run of a page's request: a ``RequestOutcome`` with the page and its successor.
///
/// `outcome.page` is the requested page. `outcome.next` is the page after it, nil after the last and after a failure;
/// it belongs to this run only. The error ``NetworkError/pagination(_:)`` comes with a value: the page was loaded, but
/// the next one cannot be.
public typealias PageOutcome<Value: Sendable> = LoadedPage<RequestOutcome<Value>>
