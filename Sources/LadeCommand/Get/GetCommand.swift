/// The settings of `lade get`.
struct GetSettings: CallSettings {
    var request = RequestSettings()
    var session = SessionSettings()
    var output = OutputSettings()
    var caching = CachingSettings()
    var policy = PolicySettings()
    var connection = ConnectionSettings()
    /// Whether the command prints the call as a curl command line instead of making it.
    var printsCurl = false
    /// Whether the command prints the request instead of sending it.
    var isOffline = false
    /// Whether the options are those of a curl command line, which decides the defaults.
    var followsCurl = false
    /// The schemes that a curl command allows; nil for all.
    var allowedSchemes: Set<String>?
    /// The scheme that a curl command has for addresses without one; nil for http.
    var defaultScheme: String?
    /// Whether the calls are made at the same time, and how many.
    var isParallel = false
    var parallelLimit = 50
    /// Whether no further call is made after one that failed.
    var endsEarly = false
    /// The number of the address of its operation that the call is for, from 0.
    var addressNumber = 0
    /// The operations before this one, which `--next` separates.
    var earlier: [GetSettings] = []

    /// Whether the command prints something in place of a call.
    var writesNothing: Bool { printsCurl || isOffline }

    static let rows: [OptionRow<GetSettings>] =
        RequestSettings.rows.lifted(\.request)
        + curlRows
        + SessionSettings.rows.lifted(\.session)
        + CachingSettings.rows.lifted(\.caching)
        + OutputSettings.rows.lifted(\.output).map(\.fittingHelp)
        + PolicySettings.rows.lifted(\.policy)
        + ConnectionSettings.rows.lifted(\.connection).rare()

    private static let curlRows: [OptionRow<GetSettings>] = [
        .flag("next", .request, "Begin a further call with options of its own", isCommon: false) {
            $0.beginNext()
        },
        .value(
            "config",
            letter: "K",
            "FILE",
            .request,
            "Read options from a file",
            details: "Each line has an option and its value, as curl reads them: url = \"https://host/\". - is the "
                + "standard input.",
            isCommon: false,
            completion: .files
        ) { settings, value throws(CommandError) in
            let arguments = try OptionFile(value).entries.flatMap(\.arguments)
            guard try ArgumentParser(command: "lade get", rows: rows).read(arguments, into: &settings) else {
                throw .usage("--config: the file asks for help", advice: "Leave it out of \(value).")
            }
        },
        .flag("parallel", letter: "Z", .request, "Make the calls at the same time", isCommon: false) {
            $0.isParallel = true
        },
        .count("parallel-max", .request, "How many at the same time (50)", isCommon: false, to: 300) {
            $0.parallelLimit = $1
        },
        .flag("fail-early", .request, "Make no further call after one that failed", isCommon: false) {
            $0.endsEarly = true
        },
        .flag("offline", .request, "Print the request, send nothing", isCommon: false) { $0.isOffline = true },
        .flag("curl", .request, "Print a curl command, send nothing", isCommon: false) {
            $0.printsCurl = true
        },
        .value(
            "from-curl",
            "LINE",
            .request,
            "Read a curl command line",
            details:
                "The line as a browser or a manual gives it, in quotes. What curl has and lade has not is refused by "
                + "name.",
            isCommon: false
        ) { settings, value throws(CommandError) in try CurlReader.read(value, into: &settings) },
    ]

    /// Whether the request sends a file.
    var isUpload: Bool { request.uploadPath != nil }

    /// Ends an operation; the options that follow belong to the next operation.
    mutating func beginNext() {
        var next = GetSettings()
        next.earlier = earlier
        (next.printsCurl, next.isOffline) = (printsCurl, isOffline)
        (next.isParallel, next.parallelLimit, next.endsEarly) = (isParallel, parallelLimit, endsEarly)
        (next.output.isSilent, next.output.showsErrors) = (output.isSilent, output.showsErrors)
        (next.output.isVerbose, next.output.showsSecrets) = (output.isVerbose, output.showsSecrets)
        earlier = []
        next.earlier.append(self)
        self = next
    }

    /// Each call of these settings, with one address, one destination and at most one file to upload.
    ///
    /// Addresses, destinations and files to upload are paired in their order, as curl pairs them.
    ///
    /// - Throws: A usage error for an address that is no pattern, and for a file to upload that cannot be paired.
    func calls() throws(CommandError) -> [GetSettings] {
        var calls: [GetSettings] = []
        for operation in earlier { calls += try operation.calls() }
        let addresses = [request.address].compactMap(\.self) + request.otherAddresses
        let uploads = [request.uploadPath].compactMap(\.self) + request.otherUploads
        let targets = [output.target].compactMap(\.self) + output.otherTargets
        for (index, address) in addresses.enumerated() {
            var call = self
            call.earlier = []
            call.addressNumber = index
            (call.request.otherAddresses, call.request.otherUploads, call.output.otherTargets) = ([], [], [])
            let isListed = request.listedAddresses.contains(index)
            call.output.target = index < targets.count ? targets[index] : isListed ? .remoteName : nil
            let matches = isListed ? [AddressPattern.Match(text: address, parts: [])] : try matches(of: address)
            let files = index < uploads.count ? try uploadPaths(uploads[index]) : [nil]
            // curl requests the next address as many times as the pattern has files.
            guard files.count == 1 || index + 1 >= addresses.count || index + 1 < uploads.count else {
                throw .usage(
                    "a pattern of --upload-file before an address without a file",
                    advice: "Use --next between them."
                )
            }
            call.request.uploadPath = files[0]
            guard matches.count == 1 && files.count == 1 || !call.request.readsInput else {
                throw .usage(
                    "the standard input for several addresses",
                    advice: "Name a file, which can be read again."
                )
            }
            for (file, match) in files.flatMap({ file in matches.map { (file, $0) } }) {
                call.request.address = match.text
                call.request.uploadPath = file
                if case .file(let name) = call.output.target, !match.parts.isEmpty {
                    var one = call
                    one.output.target = .file(match.fileName(name))
                    calls.append(one)
                } else {
                    calls.append(call)
                }
            }
        }
        return calls
    }

    /// The files that a name stands for, which may be a pattern in lines of curl.
    private func uploadPaths(_ name: String) throws(CommandError) -> [String?] {
        guard followsCurl, name != "-", name != "." else { return [name] }
        return try matches(of: name).map(\.text)
    }

    private func matches(of address: String) throws(CommandError) -> [AddressPattern.Match] {
        guard !request.takesAddressLiterally else { return [.init(text: address, parts: [])] }
        do throws(AddressPattern.Fault) {
            return try AddressPattern(address, isStrict: request.hasStrictPatterns).matches
        } catch {
            throw .usage(
                "the address “\(address.asArgument)” \(error.reason)",
                advice: "--globoff (-g) gives brackets and braces no meaning."
            )
        }
    }

    func validateRest() throws(CommandError) {
        for operation in earlier { try operation.validate() }
        _ = try calls()
        let targets = [output.target].compactMap(\.self) + output.otherTargets
        if targets.count > request.otherAddresses.count + 1, !followsCurl {
            throw .usage("more outputs than addresses", advice: "Give an address for each -o and -O.")
        }
        if output.selection != nil, output.usesRemoteNames || targets.contains(where: { $0 != .standardOutput }) {
            throw .usage("--select with a file", advice: "Print the part to a file with >, or download without it.")
        }
        if output.failsWithoutBody, request.hasItemBody, !request.isForm, !request.hasFile, !followsCurl {
            throw .usage(
                "--fail (-f) with items that make JSON",
                advice: "--form sends the items as a form; --fail-with-body writes no body away."
            )
        }
        if output.keepsExisting, output.continuesFile || output.mayOverwrite && !followsCurl {
            let other = output.continuesFile ? "--continue" : "--force"
            throw .usage("--no-clobber with \(other)", advice: "Choose one of them.")
        }
        try checkDigest()
        guard output.continuesFile else { return }
        guard output.path != nil || output.usesRemoteName else {
            throw .usage(
                "--continue without a file",
                advice: "Name the file with -o FILE, or by its address with -O."
            )
        }
        guard !output.includesHead, !(output.mayOverwrite && !followsCurl) else {
            let other = output.includesHead ? "--include" : "--force"
            throw .usage("--continue with \(other)", advice: "Choose one of them.")
        }
        guard request.uploadPath == nil else {
            throw .usage("--continue with --upload-file", advice: "An upload begins at the first byte.")
        }
    }

    /// Checks that `--sha256` is compared with a whole file, whatever the server responds.
    private func checkDigest() throws(CommandError) {
        guard output.digest != nil else { return }
        guard output.path != nil || output.usesRemoteName else {
            throw .usage("--sha256 without a file", advice: "Name the file with -o FILE, or by its address with -O.")
        }
        var own = self
        own.earlier = []
        guard try own.calls().count == 1 else {
            throw .usage("--sha256 for several addresses", advice: "Give each of them its own behind --next.")
        }
        let others = [
            ("a condition, which may leave the file as it is", request.hasCondition),
            ("a range", (request.firstByte ?? 0) > 0 || request.sets(["Range"])), ("--include", output.includesHead),
            ("--head", request.isHead || request.method == "HEAD"), ("--skip-existing", output.skipsExisting),
        ]
        if let other = others.first(where: \.1)?.0 {
            throw .usage("--sha256 with \(other)", advice: "Leave out one of them.")
        }
    }
}

extension OptionRow {
    /// The row, without a line of its own where the help page has no room for it.
    fileprivate var fittingHelp: OptionRow { ["fail", "force", "ignore-status"].contains(info.name) ? rare : self }
}

extension Command {
    /// `lade get`: makes one call and writes the response to the standard output or a file.
    static let get = Command(
        "get",
        "Fetch one address, or send something to it",
        operands: "[METHOD] URL [URL...] [ITEM...]",
        operandCompletions: [.nothing, .files],
        description: "Without a scheme the address is https, on this machine http; :8080/path is on this machine. A "
            + "word in capital letters before it is the method. [1-3] and {a,b} in an address make several calls. On a "
            + "terminal JSON is laid out and coloured and control characters are shown escaped; elsewhere every byte "
            + "is passed on as it came. The standard input is read only where a dash, @- or --stdin says so.",
        chapters: [Chapter(title: "Items", rows: RequestItem.kinds)],
        options: GetSettings.rows,
        examples: [
            Example(line: "lade get https://api.example.com/shows size==10", purpose: "With a query"),
            Example(line: "lade get https://api.example.com/shows title=News", purpose: "Send JSON"),
            Example(line: "lade get -O https://api.example.com/show.mp4", purpose: "Download"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        try await FetchList(calls: try settings.calls(), settings: settings, context: context).run()
    }
}
