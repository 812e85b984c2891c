/// The rules that an entry may break although it can be read.
package enum HARCheck {
    /// Times that differ by less add up: programs round each phase.
    static let tolerance = Duration.milliseconds(3)

    /// The broken rules of an entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - number: Its number, from 1.
    /// - Returns: The faults, in the order of the members.
    package static func faults(of entry: HAREntry, number: Int) -> [HARFault] {
        var faults: [HARFault] = []
        func add(_ member: String, _ reason: String) {
            faults.append(HARFault(entry: number, member: member, reason: reason))
        }
        let sum = entry.timings.sum
        let difference = entry.time < sum ? sum - entry.time : entry.time - sum
        if difference > tolerance {
            add("time", "it is \(entry.time.millisecondsText) ms, the timings add up to \(sum.millisecondsText) ms")
        }
        if let secure = entry.timings.secureConnect, secure > (entry.timings.connect ?? .zero) + tolerance {
            add("timings.ssl", "it is longer than connect, which contains it")
        }
        for field in entry.request.headers + entry.response.headers where !field.name.utf8.starts(with: ":".utf8) {
            if Headers([(field.name, field.value)]).fault != nil {
                add("headers", "“\(field.name.escapedForDisplay(limit: 60))” is no valid field")
            }
        }
        if entry.response.status == 0, entry.facts.fault == nil {
            add("response.status", "it is 0, and no error says why")
        }
        return faults
    }
}

extension HARReader {
    /// Reads a recording for all of its faults: each entry strictly, and the rest of the file in spite of a fault.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - each: Receives each entry without a fault.
    /// - Returns: The summary with the faults, at most 100.
    /// - Throws: The fault of a file that cannot be opened or read.
    public static func everyFault(
        _ path: String,
        each: (Int, HAREntry) throws(HARFault) -> Void
    ) throws(HARFault) -> Summary {
        var reader = HARReader(isLenient: true)
        reader.readsEntriesStrictly = true
        return try reader.read(path, each: each)
    }
}
