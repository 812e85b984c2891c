/// The user level: who the calls are made for.
public final class Account: Sendable {
    /// The service that carries out its calls.
    public let service: Service
    /// What tells its cached answers and cookies from those of others; empty for nobody.
    public let identifier: String

    init(service: Service, identifier: String) {
        self.service = service
        self.identifier = identifier
    }

    /// Makes a loader for a screen, a job, a scope.
    public func makeLoader() -> Loader {
        Loader(account: self)
    }
}
