private enum ConnectivityTag: Request.Tag {
    static let defaultValue = false
}

extension Request {
    /// Whether an exchange that finds no network waits for one instead of failing immediately; false by default.
    ///
    /// It has an effect where the platform reports when there is a network: with `LadeURLSession` on Apple platforms.
    /// Everywhere else the exchange fails immediately. The wait is reported as an event (``Call/WaitReason/connectivity``).
    /// It counts towards `timeouts.whole` and towards the service's limits on the call and on each exchange, but not
    /// towards `timeouts.idle`.
    public var waitsForConnectivity: Bool {
        get { self[ConnectivityTag.self] }
        set { self[ConnectivityTag.self] = newValue }
    }
}
