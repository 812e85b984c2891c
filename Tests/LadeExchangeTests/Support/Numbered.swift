import LadeCore

@testable import LadeExchange

extension Exchange {
    /// An exchange that a test knows by its number.
    static func numbered(_ number: Int) -> Exchange {
        let rules = Exchange.Rules(TransportSettings())
        guard let request = try? Request("http://127.0.0.1/\(number)"),
            let exchange = try? Exchange(request, call: Call(), rules: rules, lane: .direct)
        else { preconditionFailure("a plain request was refused") }
        return exchange
    }

    /// The number that the exchange was made with.
    var number: Int { address.split(separator: "/").last.flatMap { Int($0) } ?? -1 }
}

/// An admission whose exchanges a test knows by their numbers.
struct NumberedAdmission {
    private var admission: Admission

    init(limits: TransportSettings.ConnectionLimits, sharesMultiplexed: Bool = false) {
        admission = Admission(limits: limits, sharesMultiplexed: sharesMultiplexed)
    }

    mutating func host(_ key: String) -> Int { admission.host(key) }

    mutating func host(of address: String, upTo end: Int, key: () -> String) -> Int {
        admission.host(of: address, upTo: end, key: key)
    }

    func identity(host: Int) -> Int { admission.identity(host: host) }

    mutating func request(
        _ number: Int,
        host: Int,
        kind: Admission.Kind = .shared,
        priority: Request.Priority
    ) -> Admission.Decision {
        admission.request(.numbered(number), host: host, kind: kind, priority: priority)
    }

    mutating func withdraw(from place: Admission.Place, host: Int) { admission.withdraw(from: place, host: host) }

    mutating func end(host: Int, kind: Admission.Kind = .shared) -> [Int] {
        admission.end(host: host, kind: kind).map(\.number)
    }

    mutating func takeBack(
        _ number: Int,
        host: Int,
        kind: Admission.Kind = .shared,
        priority: Request.Priority
    ) -> Admission.Place {
        admission.takeBack(.numbered(number), host: host, kind: kind, priority: priority)
    }

    mutating func noteConnection(isMade: Bool, host: Int) -> [Int] {
        admission.noteConnection(isMade: isMade, host: host).map(\.number)
    }

    func awaitsSharing(host: Int) -> Bool { admission.awaitsSharing(host: host) }

    mutating func learn(_ multiplexing: Admission.Multiplexing, host: Int) -> [Int] {
        admission.learn(multiplexing, host: host).map(\.number)
    }

    mutating func allow(_ calls: Int?, host: Int) -> [Int] { admission.allow(calls, host: host).map(\.number) }

    mutating func startable() -> [Int] { admission.startable().map(\.number) }

    mutating func removeAllWaiting() -> [Int] { admission.removeAllWaiting().map(\.number) }
}
