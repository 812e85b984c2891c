package import LadeCore
import Synchronization

/// Reports the entries of `no_proxy` that are not understood: once, with the first call that is observed.
package final class ExceptionNotice: Sendable {
    private let environment: EnvironmentProxies?
    private let wasGiven = Atomic(false)

    /// Makes a notice about the proxies of the environment; nil when a transport does not use them.
    package init(_ environment: EnvironmentProxies?) {
        self.environment = environment.flatMap { $0.ignored.isEmpty ? nil : $0 }
    }

    /// Records an event for each entry, unless that has happened.
    package func give(to call: Call) {
        guard let environment, call.isObserved, !wasGiven.exchange(true, ordering: .relaxed) else { return }
        for entry in environment.ignored {
            call.record(.valueIgnored(name: environment.exceptionsVariable ?? "no_proxy", value: entry))
        }
    }
}
