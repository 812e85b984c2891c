import Lade
import LadeHarvest

/// How several processes fetch one list: `--fleet` and what belongs to it.
struct FleetSettings: Sendable {
    /// Whether there is a fleet, whose address is in the policies.
    var isOn = false
    var worker: String?
    var segmentSize: Int?
    var partitions: HarvestPartitions?
    var partitionFile: String?
    var restartsWalks = false
    var forces = false
    var continues = false

    /// The options that set these values.
    static let rows: [OptionRow<FleetSettings>] = [
        .value(
            "worker",
            "NAME",
            .paging,
            "With --fleet: the name of this process",
            details:
                "The machine and a number by default. A process that starts again with the name of one that has ended commits the parts that it wrote.",
            isCommon: false
        ) { settings, value throws(CommandError) in
            let isName = value.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "-_.".utf8.contains(byte)
            }
            guard isName, (1...64).contains(value.utf8.count), value.utf8.first != UInt8(ascii: ".") else {
                throw .usage(
                    "--worker: “\(value.asArgument)” is no name",
                    advice: "Use up to 64 letters, digits, “-”, “_” and “.”."
                )
            }
            settings.worker = value
        },
        .count("segment", .paging, "With --fleet: how many pages to take at once (32)", isCommon: false) {
            $0.segmentSize = $1
        },
        .value(
            "partition",
            "RANGE",
            .paging,
            "With --fleet: lists by a query, QUERY=A..B/STEP",
            details:
                "Each step of the half-open range is a list of its own, so that lists with links are fetched by many "
                + "processes, too. A, B and STEP are integers, or dates with a period: day=2026-01-01..2026-02-01/P1D. "
                + "With two queries, as in since,until=2026-01-01..2027-01-01/P1M, the second has the end of each step. "
                + "The output has the lists in this order.",
            isCommon: false
        ) { settings, value throws(CommandError) in
            guard let partitions = HarvestPartitions(range: value) else {
                throw .usage(
                    "--partition: “\(value.asArgument)” is no range of 1 to 1,000,000 steps",
                    advice: "Write it as year=2000..2026/1 or day=2026-01-01..2026-02-01/P1D."
                )
            }
            settings.partitions = partitions
        },
        .value(
            "partition-file",
            "FILE",
            .paging,
            "With --fleet: lists by lines of query items",
            isCommon: false,
            completion: .files
        ) { $0.partitionFile = $1 },
        .flag(
            "restart-lists",
            .paging,
            "With --fleet: begin again when a cursor expires",
            isCommon: false
        ) { $0.restartsWalks = true },
        .flag("continue", .output, "With --fleet: try failed pages again, or go on", isCommon: false) {
            $0.continues = true
        },
        .flag("force", .output, "With --fleet --restart: while others work, too", isCommon: false) { $0.forces = true },
    ]

    /// The first option that is given, as it is typed; nil without one.
    private var option: String? {
        if worker != nil { return "--worker" }
        if segmentSize != nil { return "--segment" }
        if partitions != nil { return "--partition" }
        if partitionFile != nil { return "--partition-file" }
        if restartsWalks { return "--restart-lists" }
        if continues { return "--continue" }
        return forces ? "--force" : nil
    }

    func validate(_ paging: PagingSettings) throws(CommandError) {
        guard isOn else {
            guard let option else { return }
            throw .usage("\(option) without --fleet", advice: "Say which fleet: --fleet redis://HOST/NAME.")
        }
        guard paging.path != nil else {
            throw .usage("--fleet without --out", advice: "Only a file can be fetched by several processes: name it.")
        }
        if paging.journalPath != nil {
            throw .usage("--state with --fleet", advice: "The journals are beside the parts, in the folder FILE.parts.")
        }
        if let segmentSize, segmentSize > 1_000 {
            throw .usage("--segment above 1000", advice: "A smaller number loses less when a process ends.")
        }
        if partitions != nil, partitionFile != nil {
            throw .usage("both --partition and --partition-file", advice: "Choose one of them.")
        }
        if forces, !paging.restarts {
            throw .usage("--force without --restart", advice: "Only a new run takes the work of others away.")
        }
        if continues, paging.restarts {
            throw .usage("both --continue and --restart", advice: "Choose one of them.")
        }
    }

    /// The worker for a harvest in the run of a fleet.
    func makeWorker(_ harvest: Harvest, run: String, output: String, restarts: Bool) throws(CommandError)
        -> HarvestWorker
    {
        var worker = HarvestWorker(harvest, run: run, name: worker ?? "", output: output)
        if let partitions { worker.partitions = partitions }
        if let partitionFile {
            let lines = try ArgumentFile.lines(partitionFile, of: "--partition-file")
            guard let sets = HarvestPartitions(lines: lines.joined(separator: "\n")) else {
                throw .usage(
                    "--partition-file: \(partitionFile.asArgument) has no sets of query items",
                    advice: "Write one a line, as in region=eu&kind=news."
                )
            }
            worker.partitions = sets
        }
        worker.segmentSize = segmentSize ?? worker.segmentSize
        worker.restartsWalks = restartsWalks
        worker.opening = restarts ? .restart(force: forces) : continues ? .resume : .join
        return worker
    }
}
