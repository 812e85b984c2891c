public import LadeCore

extension Pages {
    /// The sizes of pages that a service delivers.
    ///
    /// ```swift
    /// shows.sizes = Pages.Sizes(standard: 10, allowed: 1...100)
    /// let standard = shows.firstPage().size              // 10
    /// let largest = shows.firstPage(size: 1_000).size    // 100
    /// ```
    public struct Sizes: Sendable, Hashable {
        /// The size of a page when none is requested.
        public var standard: Int
        /// The sizes that the service delivers; another size is replaced by the nearest of them.
        public var allowed: ClosedRange<Int>
        /// The size that stands for all items on one page, and is allowed besides; nil, the default, for none.
        public var unlimited: Int?

        /// Makes the sizes of a service.
        public init(standard: Int, allowed: ClosedRange<Int>, unlimited: Int? = nil) {
            self.standard = standard
            self.allowed = allowed
            self.unlimited = unlimited
        }

        /// The size that the service delivers for a requested one: the same, or the nearest that is allowed.
        public func nearest(_ size: Int) -> Int {
            size == unlimited ? size : min(max(size, allowed.lowerBound), allowed.upperBound)
        }
    }
}

extension Pages {
    /// How a request asks for a number of items per page.
    ///
    /// It always receives the first page's original request, and is called only when a size is requested.
    public struct Sizer: Sendable {
        let apply: @Sendable (Request, Int) -> Request

        /// Makes a sizer from a closure that receives the original request and a size above 0.
        public init(_ apply: @escaping @Sendable (_ request: Request, _ size: Int) -> Request) {
            self.apply = apply
        }

        /// Sets a query item and replaces items of the same name; other items stay as written.
        public static func query(_ name: String) -> Pages.Sizer {
            Pages.Sizer { request, size in
                var sized = request
                sized.url = request.url.settingQuery(name, String(size))
                return sized
            }
        }
    }
}
