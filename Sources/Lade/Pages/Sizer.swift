public import LadeCore

/// How a request asks for a number of items per page.
///
/// It always receives the first page's original request, and is called only when a size is requested.
public struct Sizer: Sendable {
    let apply: @Sendable (Request, Int) -> Request

    /// Makes a sizer from a closure that receives the original request and a size above 0.
    public init(_ apply: @escaping @Sendable (_ request: Request, _ size: Int) -> Request) {
        self.apply = apply
    }

    /// Sets a query item and replaces those of the same name; other items stay as written.
    public static func query(_ name: String) -> Sizer {
        Sizer { request, size in
            var sized = request
            sized.url = request.url.settingQuery(name, String(size))
            return sized
        }
    }
}
