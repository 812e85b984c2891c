import Lade

/// Parses the quantities in option values.
enum Quantity {
    /// A duration: `30`, `1.5s`, `200ms`, `2m`, `1h`; in seconds without a unit, at most a hundred years.
    ///
    /// - Throws: A usage error that names the option.
    static func duration(_ text: String, of option: String) throws(CommandError) -> Duration {
        let units: [(String, Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3_600), ("", 1)]
        for (unit, seconds) in units where text.ends(with: unit) {
            let digits = Substring(text.unicodeScalars.dropLast(unit.utf8.count))
            guard !digits.has(" "), !digits.has("\t"), let number = Whole.decimal(digits), number > 0 else { break }
            // A longer duration counts as a hundred years, whose nanoseconds fit into 64 bits.
            return .milliseconds(Int64(min(number * seconds * 1_000, 3_155_760_000_000)))
        }
        throw .usage(
            "\(option): “\(text.asArgument)” is no length of time",
            advice: "Write it as 30s, 1.5s, 200ms, 2m or 1h."
        )
    }

    /// A whole number within a range.
    ///
    /// - Throws: A usage error that names the option.
    static func count(
        _ text: String,
        of option: String,
        from least: Int = 1,
        to most: Int = .max
    ) throws(CommandError) -> Int {
        guard let count = Whole.count(text).flatMap({ Int(exactly: $0) }), count >= least, count <= most else {
            let bounds = most == .max ? "from \(least)" : "from \(least) to \(most)"
            throw .usage("\(option): “\(text.asArgument)” is no number \(bounds)", advice: "Write it in digits.")
        }
        return count
    }

    /// A number of bytes: `1000`, `64k`, `10M`, `2G`; each unit is 1024 times the previous one.
    ///
    /// - Throws: A usage error that names the option.
    static func bytes(_ text: String, of option: String) throws(CommandError) -> Int {
        let shift =
            switch text.unicodeScalars.last {
            case "k", "K": 10
            case "m", "M": 20
            case "g", "G": 30
            default: 0
            }
        let digits = shift == 0 ? text[...] : Substring(text.unicodeScalars.dropLast())
        if let count = Whole.count(digits).flatMap({ Int(exactly: $0) }) {
            let (bytes, overflow) = count.multipliedReportingOverflow(by: 1 << shift)
            if !overflow { return bytes }
        }
        throw .usage(
            "\(option): “\(text.asArgument)” is no number of bytes",
            advice: "Write it as 1000, 64k, 10M or 2G."
        )
    }

    /// A host with an optional port: `host`, `host:8080`, `[::1]:8080`.
    ///
    /// - Throws: A usage error that names the option.
    static func hostAndPort(_ text: String, of option: String) throws(CommandError) -> (host: String, port: Int?) {
        guard !text.has("@") else {
            throw .usage("\(option): “\(text.asArgument)” has a user", advice: "Write it as host or host:8080.")
        }
        var host = text[...]
        var port: Int?
        let isBareAddress = text.unicodeScalars.count { $0 == ":" } > 1 && !text.begins(with: "[")
        if let (name, digits) = text.cut(atLast: ":"), !isBareAddress, !digits.has("]") {
            guard let number = Whole.count(digits), (1...65_535).contains(number) else {
                throw .usage(
                    "\(option): “\(text.asArgument)” has no port from 1 to 65535",
                    advice: "Write it as host:8080."
                )
            }
            port = Int(number)
            host = name
        }
        if host.begins(with: "["), host.ends(with: "]") { host = Substring(host.unicodeScalars.dropFirst().dropLast()) }
        guard !host.isEmpty else {
            throw .usage("\(option): “\(text.asArgument)” names no host", advice: "Write it as host or host:8080.")
        }
        return (String(host), port)
    }
}
