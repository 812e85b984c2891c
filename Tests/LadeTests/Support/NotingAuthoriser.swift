import Lade
import LadePolicies
import LadeTesting

/// An authoriser that records its calls, and sets the field `Authorization` to “noted”.
final class NotingAuthoriser: Authoriser {
    let identifier = "noting"
    private let isClaiming: Bool
    private let signal: Signal?
    private let notes = Locked<[String]>([])

    /// - Parameters:
    ///   - isClaiming: Whether it claims every request, or none.
    ///   - signal: What it waits for before it authorises; nil for nothing.
    init(isClaiming: Bool = true, holdingUntil signal: Signal? = nil) {
        self.isClaiming = isClaiming
        self.signal = signal
    }

    /// Its calls, in order.
    var asked: [String] { notes.withLock { $0 } }

    func claims(_ request: Request) -> Bool {
        notes.withLock { $0.append("claims") }
        return isClaiming
    }

    func authorise(_ request: Request, in context: Authorisation.Context) async throws(LoadingError) -> Request {
        notes.withLock { $0.append("authorise") }
        try await signal?.wait()
        var request = request
        request.headers["Authorization"] = "noted"
        return request
    }
}
