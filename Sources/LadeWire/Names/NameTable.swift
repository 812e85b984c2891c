/// The names that are looked up, the exchanges that wait for them, and the results that are kept.
///
/// A value: questions and results go in; the look-ups to start come out.
struct NameTable {
    /// The outcome of a question.
    enum Knowledge: Equatable {
        /// The addresses are known.
        case known([SocketAddress])
        /// The asker is notified later.
        case later
    }

    private struct LookUp {
        var began: Int64
        var askers: [Int]
    }

    /// The largest number of look-ups at the same time that have not become slow.
    static let most = 8
    /// The largest number of look-ups, slow ones included.
    static let mostSlow = 64
    /// When a look-up is slow: it then no longer keeps others waiting, in nanoseconds.
    static let patience: Int64 = 1_000_000_000
    /// How long addresses are kept, in nanoseconds.
    static let life: Int64 = 10_000_000_000
    /// The largest number of names that are kept.
    static let mostKept = 256

    private var kept: [String: (addresses: [SocketAddress], until: Int64)] = [:]
    private var running: [String: LookUp] = [:]
    /// The names that wait for a look-up, in order of arrival.
    private var waiting: [(name: String, askers: [Int])] = []

    /// Asks for the addresses of a name on behalf of a numbered asker.
    mutating func ask(_ name: String, for asker: Int, at now: Int64) -> Knowledge {
        if let found = kept[name], found.until > now { return .known(found.addresses) }
        if running[name] != nil {
            running[name]?.askers.append(asker)
        } else if let index = waiting.firstIndex(where: { $0.name == name }) {
            waiting[index].askers.append(asker)
        } else {
            waiting.append((name, [asker]))
        }
        return .later
    }

    /// Removes an asker; its look-up continues when it runs, and is forgotten when it does not.
    mutating func leave(_ name: String, _ asker: Int) {
        running[name]?.askers.removeAll { $0 == asker }
        guard let index = waiting.firstIndex(where: { $0.name == name }) else { return }
        waiting[index].askers.removeAll { $0 == asker }
        if waiting[index].askers.isEmpty { waiting.remove(at: index) }
    }

    /// Ends a look-up; a failure, which has no addresses, is not kept.
    ///
    /// - Returns: The askers to notify.
    mutating func done(_ name: String, _ addresses: [SocketAddress], at now: Int64) -> [Int] {
        if !addresses.isEmpty {
            if kept.count >= Self.mostKept { kept = kept.filter { $0.value.until > now } }
            if kept.count >= Self.mostKept { kept = [:] }
            kept[name] = (addresses, now + Self.life)
        }
        return running.removeValue(forKey: name)?.askers ?? []
    }

    /// Forgets the addresses of a name when connecting to all of them has failed.
    mutating func forget(_ name: String) { kept[name] = nil }

    /// The names whose look-ups start now.
    mutating func startable(at now: Int64) -> [String] {
        var names: [String] = []
        while !waiting.isEmpty, running.count < Self.mostSlow, quick(at: now) < Self.most {
            let (name, askers) = waiting.removeFirst()
            running[name] = LookUp(began: now, askers: askers)
            names.append(name)
        }
        return names
    }

    /// Whether names wait for a look-up.
    var hasWaiting: Bool { !waiting.isEmpty }

    /// When so many look-ups are slow that the next may start; the greatest value when none waits.
    ///
    /// A function of the stored values alone: as soon as it is reached, ``startable(at:)`` has a name.
    var due: Int64 {
        guard !waiting.isEmpty, running.count < Self.mostSlow else { return .max }
        guard running.count >= Self.most else { return .min }
        return running.values.map { $0.began + Self.patience }.sorted()[running.count - Self.most]
    }

    private func quick(at now: Int64) -> Int { running.values.count { $0.began + Self.patience > now } }
}
