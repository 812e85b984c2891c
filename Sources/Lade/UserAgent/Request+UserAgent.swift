public import LadeCore

extension Request {
    /// The `User-Agent` of the request; nil, the default, for that of the service.
    ///
    /// ```swift
    /// request.userAgent = .product("Player", version: "2.0")
    /// ```
    ///
    /// It is the field of that name in `headers`.
    public var userAgent: UserAgent? {
        get { headers["User-Agent"].map { UserAgent($0) } }
        set { headers["User-Agent"] = newValue?.text }
    }
}
