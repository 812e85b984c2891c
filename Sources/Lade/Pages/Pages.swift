/// The parts of lists that come in pages: how the next page is found, how a size is requested, and what was loaded.
///
/// A ``PagedEndpoint`` is made of a ``Pages/Paginator`` and a ``Pages/Sizer``.
/// ``Loader/pages(of:size:prefetch:pageLimit:from:meter:)`` returns a ``Pages/Sequence``.
public enum Pages {}
