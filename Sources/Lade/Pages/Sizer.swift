public import LadeCore

/// How a request says how many items a page is to have.
///
/// It always gets the first page's original request, and only when a size is asked for (`requests-pages-queues.md` §3.3,
/// pages PA-02).
public struct Sizer: Sendable {
    let apply: @Sendable (Request, Int) -> Request

    /// Makes a sizer from a closure that gets the original request and a size above 0.
    public init(_ apply: @escaping @Sendable (_ request: Request, _ size: Int) -> Request) {
        self.apply = apply
    }

    /// Sets a query item, in place of what is there of that name; other items stay as they are written.
    public static func query(_ name: String) -> Sizer {
        Sizer { request, size in
            var sized = request
            sized.url = request.url.settingQuery(name, String(size))
            return sized
        }
    }
}
