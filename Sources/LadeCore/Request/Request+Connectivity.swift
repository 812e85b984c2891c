private enum ConnectivityTag: RequestTag {
    static let defaultValue = false
}

extension Request {
    /// Whether an exchange that finds no network waits for one instead of failing at once; false by default.
    ///
    /// Kept where the platform knows when there is a network: by `LadeURLSession` on Apple platforms. Everywhere else it
    /// changes nothing, and the exchange fails as it would without it. The wait is an event
    /// (``WaitReason/connectivity``); it counts for `timeouts.whole` and for the limits of the service on the call and
    /// on each exchange, but not for `timeouts.idle`. Source: `service-loader.md` §3.2, §6.1.
    public var waitsForConnectivity: Bool {
        get { self[ConnectivityTag.self] }
        set { self[ConnectivityTag.self] = newValue }
    }
}
