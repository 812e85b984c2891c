#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The arguments in which all workers of a run must agree.
struct FleetArguments: Equatable {
    /// The arguments without secrets, as JSON; of hidden ones only the names.
    let text: String
    /// The digest of all arguments, with the name of the run.
    let digest: String

    init(_ worker: HarvestWorker, _ walk: PageWalk) {
        let harvest = worker.harvest
        let arguments = HarvestArguments(harvest, walk)
        var shown = arguments.shown
        shown["segment"] = String(worker.segmentSize)
        shown["repeated"] = harvest.repeatedPages.rawValue
        if harvest.isSameSignIn { shown["same sign-in"] = "yes" }
        if let limit = harvest.pageLimit { shown["max pages"] = String(limit) }
        if let limit = harvest.itemLimit { shown["max items"] = String(limit) }
        if !harvest.endStatuses.isEmpty { shown["end statuses"] = harvest.endStatuses.sorted().description }
        if worker.partitions != .none {
            let description = worker.partitions.description
            shown["partitions"] =
                description.utf8.count <= 200
                ? description : "\(worker.partitions.count) sets, \(Self.hex(SHA256.hash(Array(description.utf8))))"
        }
        // Secrets of the same sign-in may have other values.
        let hidden = arguments.digests(key: worker.run).filter { name, _ in
            !harvest.isSameSignIn || !arguments.secretNames.contains(name)
        }
        var whole = hidden
        for (name, value) in shown { whole["shown \(name)"] = value }
        for name in hidden.keys where name != HarvestArguments.wholeAddress { shown[name] = "(not shown)" }
        text = Self.json(shown.mapValues { $0.utf8.count <= 2_000 ? $0 : $0.escapedForDisplay(limit: 2_000) })
        digest = Self.hex(SHA256.hash(Array(Self.json(whole).utf8)))
    }

    /// The arguments that differ from those of another worker, whose text is not to be trusted.
    func differences(from other: String) -> [HarvestError.Difference] {
        let before = (try? JSONDecoder().decode([String: String].self, from: Data(other.utf8))) ?? [:]
        let now = (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? [:]
        func safe(_ text: String?) -> String? { text?.escapedForDisplay(limit: 200) }
        let found = Set(before.keys).union(now.keys).sorted().filter { before[$0] != now[$0] }.map {
            HarvestError.Difference(
                argument: $0.escapedForDisplay(limit: 80),
                before: safe(before[$0]),
                now: safe(now[$0])
            )
        }
        guard found.isEmpty else { return found }
        return [HarvestError.Difference(argument: "a secret", before: "one value", now: "another value")]
    }

    private static func json(_ members: [String: String]) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts can always be encoded.
        return (try? encoder.encode(members)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
