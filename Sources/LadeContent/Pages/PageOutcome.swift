public import Lade

/// What one run of a page's request has brought: a ``RequestOutcome`` with the page and the one after it.
///
/// `outcome.page` is the page that was asked for. `outcome.next` is the page after it, nil after the last and after a
/// failure; it belongs to this run alone. An error ``NetworkError/pagination(_:)``, when a page was loaded but the next one
/// cannot be followed, comes with a value.
public typealias PageOutcome<Value: Sendable> = LoadedPage<RequestOutcome<Value>>
