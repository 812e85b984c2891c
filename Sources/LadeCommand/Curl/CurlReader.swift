import Lade

/// Reads a curl command into the settings of `lade get`.
///
/// A line that is accepted has the same effect as with curl, except for the differences that *Coming from curl* lists.
/// Everything else is refused by name, before anything is sent.
struct CurlReader {
    /// An option or an address of the present operation.
    private enum Step {
        case option(CurlOption, [UInt8])
        case address(String)
    }

    /// The settings of the present operation.
    private var settings: GetSettings
    /// The steps of the operation so far, applied at its end: `--no-NAME` takes an option back.
    private var steps: [Step] = []
    private var variables = CurlVariables()
    /// The token of `--oauth2-bearer`, which counts less than a field of `-H`.
    private var bearerToken: String?
    private var fileDepth = 0
    private let rows = GetSettings.rows

    // A file of options that names itself would be read without end.
    private static let fileLimit = 8

    /// Reads a command line.
    ///
    /// - Throws: A usage error for a text that is not a curl command, and for an option without a counterpart in lade.
    static func read(_ line: String, into settings: inout GetSettings) throws(CommandError) {
        var words = try words(line)[...]
        if words.first == Array("$".utf8) { words.removeFirst() }
        guard let program = words.popFirst().map({ String(decoding: $0, as: UTF8.self) }), isCurl(program) else {
            throw wrong("it does not begin with curl")
        }
        var reader = CurlReader(settings)
        try reader.readOptions(&words)
        settings = try reader.finished()
    }

    private static func words(_ line: String) throws(CommandError) -> [[UInt8]] {
        do throws(ShellWords.Fault) {
            return WindowsWords.isMade(line) ? try WindowsWords.words(line) : try ShellWords.words(line)
        } catch {
            switch error {
            case .unfinished: throw wrong("a quote has no end")
            case .unsupported(let what):
                let advice = "Give one command with its values in single quotes; nothing of the shell is carried out."
                throw .usage("--from-curl: it has \(what), and is to be one command", advice: advice)
            }
        }
    }

    private static func isCurl(_ program: String) -> Bool {
        ["curl", "curl.exe"].contains(program) || program.ends(with: "/curl")
    }

    private init(_ settings: GetSettings) {
        self.settings = settings
        begin()
    }

    /// Sets what curl does by default.
    private mutating func begin() {
        settings.followsCurl = true
        settings.request.hasStrictPatterns = true
        settings.request.isForCurl = true
        settings.policy.followsLoops = true
        settings.connection.decodesContent = false
        settings.output.mayOverwrite = true
        settings.policy.repeatsLikeCurl = true
    }

    /// Whether an option of a name was given in the present operation.
    private func isGiven(_ name: String) -> Bool {
        steps.contains { if case .option(let option, _) = $0 { option.name == name } else { false } }
    }

    private var hasAddress: Bool {
        steps.contains { step in
            if case .option(let option, _) = step { option.name == "url" } else { true }
        }
    }

    private mutating func finished() throws(CommandError) -> GetSettings {
        try end()
        return settings
    }

    /// Checks and completes an operation.
    private mutating func end() throws(CommandError) {
        for step in steps {
            switch step {
            case .option(let option, let value): try apply(option, value)
            case .address(let text): try settings.addCurlAddress(text)
            }
        }
        defer { steps = [] }
        let token = bearerToken
        bearerToken = nil
        if let token, !settings.request.headers.contains(where: { $0.name.equalsIgnoringASCIICase("Authorization") }) {
            settings.request.headers.append(.set("Authorization", "Bearer \(token)"))
        }
        let addresses = [settings.request.address].compactMap(\.self) + settings.request.otherAddresses
        for address in addresses {
            guard let allowed = settings.allowedSchemes else { break }
            let scheme = String(decoding: address.utf8.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self).lowercased()
            guard allowed.contains(scheme) else { throw Self.wrong("--proto allows no \(scheme)") }
        }
        try endContinuing()
        try checkOldVersion()
        settings.policy.failsByStatus =
            settings.policy.retriesAllErrors && (isGiven("fail") || isGiven("fail-with-body"))
        if settings.policy.followsByRules {
            settings.policy.followsRedirects = true
            let request = settings.request
            settings.policy.followsByRules =
                !request.data.isEmpty || !request.json.isEmpty || !request.formParts.isEmpty
        }
        if settings.policy.followsRedirects, settings.policy.redirectLimit == nil { settings.policy.redirectLimit = 50 }
        if !settings.policy.followsRedirects { settings.policy.redirectLimit = nil }
        // curl's limit is for a transfer with its redirects; with further tries it begins anew with each.
        if settings.policy.retries ?? 0 == 0, let limit = settings.connection.timeouts.whole {
            settings.connection.timeouts.whole = nil
            settings.policy.deadline = limit
        }
        if settings.request.uploadPath != nil, isGiven("range") {
            throw Self.unknown("--range with --upload-file")
        }
        if settings.request.addressCount > 1, isGiven("etag-save") || isGiven("etag-compare") {
            throw Self.wrong("--etag-save and --etag-compare are for one address")
        }
        if isGiven("head"), let method = settings.request.method, method != "HEAD" {
            throw Self.unknown("--head with --request \(method.asArgument)")
        }
        // Without data, -G has no effect.
        if settings.request.data.isEmpty { settings.request.sendsDataInQuery = false }
        let type = settings.request.headers.last { $0.name.lowercased() == "content-type" }
        if case .set(_, let type) = type, !settings.request.formParts.isEmpty,
            !type.lowercased().utf8.starts(with: "multipart/form-data".utf8)
        {
            throw Self.wrong("-F with another Content-Type than multipart/form-data")
        }
        if settings.isFormMixedWithData {
            throw Self.wrong("-F and -d both make a body, and curl takes one")
        }
    }

    /// Completes `-C`, which begins a download or an upload behind its first bytes.
    private func checkOldVersion() throws(CommandError) {
        guard settings.connection.isHTTP1_0 else { return }
        let isUnknown = [settings.request.uploadPath].compactMap(\.self).contains { !InputReader.isRegularFile($0) }
        guard !isUnknown, !settings.request.readsInput else {
            throw Self.wrong("--http1.0 with a body of unknown length")
        }
    }

    private mutating func endContinuing() throws(CommandError) {
        guard isGiven("continue-at") else { return }
        if settings.output.keepsExisting { throw Self.wrong("--continue-at with --no-clobber") }
        for other in ["remove-on-error", "remote-header-name"] where isGiven(other) {
            throw Self.wrong("--continue-at with --\(other)")
        }
        if !settings.request.data.isEmpty || !settings.request.json.isEmpty || !settings.request.formParts.isEmpty {
            throw Self.wrong("--continue-at with a body of -d or -F")
        }
        // An upload begins at the first byte where no earlier part is known. A response that goes to no file also begins there.
        let isFile = settings.output.usesRemoteNames || (settings.output.target ?? .standardOutput) != .standardOutput
        guard settings.output.continuesFile, settings.request.uploadPath != nil || !isFile else { return }
        settings.output.continuesFile = false
        if settings.request.uploadPath != nil { settings.request.firstByte = 0 }
    }

    private mutating func readOptions(_ words: inout ArraySlice<[UInt8]>) throws(CommandError) {
        var optionsEnded = false
        while let word = words.popFirst() {
            let isOption = word.first == UInt8(ascii: "-") && word.count > 1 && !optionsEnded
            if word == Array("--".utf8), !optionsEnded {
                optionsEnded = true
            } else if isOption, word.starts(with: "--".utf8) {
                try readLong(word[2...], &words)
            } else if isOption {
                try readLetters(word[1...], &words)
            } else {
                steps.append(.address(try Self.text(word, "an address")))
            }
        }
    }

    private mutating func readLong(
        _ word: ArraySlice<UInt8>,
        _ rest: inout ArraySlice<[UInt8]>
    ) throws(CommandError) {
        let name = String(decoding: word.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
        let attached = word.dropFirst(name.utf8.count).isEmpty ? nil : Array(word.dropFirst(name.utf8.count + 1))
        guard let plain = name.behind("expand-") else { return try readLong(name, attached, &rest) }
        let isKnown = ["config", "variable"].contains(plain) || CurlOption.all.contains { $0.name == plain }
        guard isKnown else { throw Self.unknown("--\(name)".asArgument) }
        let value = try variables.expanded(try Self.value("--\(name)", &rest, attached), of: name)
        try readLong(String(plain), value, &rest)
    }

    private mutating func readLong(
        _ name: String,
        _ attached: [UInt8]?,
        _ rest: inout ArraySlice<[UInt8]>
    ) throws(CommandError) {
        if try readStructure(name, letter: nil, attached, &rest) { return }
        guard let option = CurlOption.all.first(where: { $0.name == name }) else {
            return try readNegation(name, attached)
        }
        guard option.takesValue || attached == nil else { throw Self.wrong("--\(option.name) takes no value") }
        steps.append(.option(option, option.takesValue ? try Self.value("--\(name)", &rest, attached) : []))
    }

    /// The options that set the same as another option.
    ///
    /// `--no-NAME` is refused if another option of the group was given, and not NAME: it cannot take back the other's value.
    private static let related: [Set<String>] = [
        ["netrc", "netrc-optional", "netrc-file"], ["fail", "fail-with-body"],
        ["location", "location-trusted"], ["digest", "basic", "anyauth", "oauth2-bearer"],
    ]

    /// Reads `--no-NAME`, which takes NAME back.
    private mutating func readNegation(_ name: String, _ attached: [UInt8]?) throws(CommandError) {
        let positive = String(decoding: name.utf8.dropFirst(3), as: UTF8.self)
        guard name.utf8.starts(with: "no-".utf8), attached == nil else { throw Self.unknown("--\(name)".asArgument) }
        if CurlOption.unsupportedSwitches.contains(positive) { return }
        if positive == "remote-name", isGiven("remote-name-all"), !isGiven(positive) {
            // The next address is for the standard output.
            return steps.append(.option(CurlOption.standardOutput, []))
        }
        let related = Self.related.first { $0.contains(positive) } ?? []
        guard let option = CurlOption.all.first(where: { $0.name == positive && !$0.takesValue }),
            option.canBeTakenBack, isGiven(positive) || !related.contains(where: isGiven)
        else { throw Self.unknown("--\(name)".asArgument) }
        steps.removeAll { step in
            if case .option(let other, _) = step { other.name == positive || other.isSame(as: option) } else { false }
        }
    }

    private mutating func readLetters(
        _ word: ArraySlice<UInt8>,
        _ rest: inout ArraySlice<[UInt8]>
    ) throws(CommandError) {
        var letters = word
        while let byte = letters.popFirst() {
            let letter = Character(Unicode.Scalar(byte))
            let attached = letters.isEmpty ? nil : Array(letters)
            if letter == "K" || letter == ":" {
                _ = try readStructure("", letter: letter, attached, &rest)
                if letter == "K" { return }
                continue
            }
            guard byte < 0x7F, byte > 0x20, let option = CurlOption.all.first(where: { $0.letter == letter }) else {
                throw Self.unknown(byte < 0x7F && byte > 0x20 ? "-\(letter)" : "letter")
            }
            guard option.takesValue else {
                steps.append(.option(option, []))
                continue
            }
            steps.append(.option(option, try Self.value("-\(letter)", &rest, attached)))
            return
        }
    }

    /// Reads the options that change how other options are read; false for any other option.
    private mutating func readStructure(
        _ name: String,
        letter: Character?,
        _ attached: [UInt8]?,
        _ rest: inout ArraySlice<[UInt8]>
    ) throws(CommandError) -> Bool {
        if name == "next" || letter == ":" {
            guard hasAddress else {
                // In a file of options it may stand first, too.
                if fileDepth > 0 { return true }
                throw Self.wrong("--next without an address before it")
            }
            try end()
            settings.beginNext()
            begin()
            return true
        }
        if name == "variable" {
            try variables.set(try Self.value("--variable", &rest, attached))
            return true
        }
        guard name == "config" || letter == "K" else { return false }
        guard fileDepth < Self.fileLimit else { throw Self.wrong("files of options that name one another") }
        fileDepth += 1
        defer { fileDepth -= 1 }
        let path = try Self.text(try Self.value("--config", &rest, attached), "--config")
        for entry in try OptionFile(path).entries {
            var words = entry.arguments.map { Array($0.utf8) }[...]
            guard let first = words.popFirst() else { continue }
            if first.starts(with: "--".utf8) {
                // A switch may have an empty value there.
                try readLong(first[2...], &words)
            } else {
                try readLetters(first[1...], &words)
            }
            guard words.isEmpty else { throw Self.wrong("a value for \(entry.name.asArgument), which takes none") }
        }
        return true
    }

    private mutating func apply(_ option: CurlOption, _ value: [UInt8]) throws(CommandError) {
        if option.name == "remote-name-all", settings.request.address != nil {
            throw Self.wrong("--remote-name-all stands behind an address")
        }
        if ["data-raw", "data-binary", "data", "data-ascii"].contains(option.name), value.first != UInt8(ascii: "@"),
            String(validating: value, as: UTF8.self) == nil
        {
            settings.request.data.append(.bytes(value))
            return
        }
        let text = try Self.text(value, "--\(option.name)")
        switch option.meaning {
        case .ignored: break
        case .special(let apply): try apply(&settings, text)
        case .option(let name):
            if try applyCurlForm(option.name, text) { return }
            guard let row = rows.first(where: { $0.info.name == name || $0.info.aliases.contains(name) }) else {
                throw Self.unknown("--\(option.name)")
            }
            try row.apply(&settings, text)
        }
    }

    /// Applies the values that curl reads in another way than lade; false for all others.
    private mutating func applyCurlForm(_ name: String, _ text: String) throws(CommandError) -> Bool {
        switch (name, text) {
        case ("max-redirs", "-1"): settings.policy.redirectLimit = Int(Int32.max)
        case ("max-time", "0"): settings.connection.timeouts.whole = nil
        case ("connect-timeout", "0"): settings.connection.timeouts.connect = Request.Timeouts().connect
        case ("retry-delay", "0"): settings.policy.retryDelay = nil
        case ("retry-max-time", "0"): settings.policy.retryTime = nil
        case ("limit-rate", "0"): settings.output.rate = nil
        case ("max-filesize", "0"): settings.output.maximumSize = nil
        case ("max-time", _), ("connect-timeout", _), ("retry-delay", _), ("retry-max-time", _):
            // curl knows no units: it takes their letters for nothing, or refuses them.
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }) else {
                throw Self.wrong("--\(name) “\(text.asArgument)” is no number of seconds")
            }
            return false
        case ("proxy", _):
            settings.connection.isDirect = text.isEmpty
            settings.connection.proxy =
                text.isEmpty ? nil : try TransportSettings.ProxyChoice.Proxy(argument: text, isForCurl: true)
        case ("output", ""): throw Self.wrong("--output without a name")
        case ("dump-header", "%"):
            // New releases of curl write to the standard error, old ones to a file of this name.
            throw Self.wrong("--dump-header has a name that curl reads by version: “%”")
        case ("header", _):
            var lines = [text]
            if let path = text.behind("@") {
                lines = try ArgumentFile.lines(String(path), of: "--header")
            }
            for line in lines {
                if let edit = try HeaderEdit(curlLine: line) { settings.request.headers.append(edit) }
            }
        case ("cookie", _) where !text.has("=") && !InputReader.exists(text) && text != "-":
            // curl keeps cookies from then on, and a file that does not exist has no cookies.
            settings.session.keepsNewCookies = true
        case ("digest", _), ("basic", _):
            // curl takes both for a choice, and waits for the schemes that the server offers.
            guard isGiven("digest") && isGiven("basic") || isGiven("anyauth") else { return false }
            settings.request.userScheme = .best
        case ("oauth2-bearer", _): bearerToken = text
        case ("proxy-digest", _) where isGiven("proxy-anyauth"): settings.connection.proxyScheme = .best
        case ("time-cond", _) where text.utf8.count(where: { $0 == UInt8(ascii: "-") }) > 1 && text.utf8.count < 12:
            // curl takes such a date for nothing, and sends no condition.
            throw Self.wrong("--time-cond with a date that curl does not read")
        default: return false
        }
        return true
    }

    private static func value(
        _ option: String,
        _ rest: inout ArraySlice<[UInt8]>,
        _ attached: [UInt8]?
    ) throws(CommandError) -> [UInt8] {
        if let attached { return attached }
        guard let value = rest.popFirst() else { throw wrong("\(option) has no value") }
        return value
    }

    private static func text(_ bytes: [UInt8], _ what: String) throws(CommandError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw wrong("\(what) has bytes that are no text in UTF-8")
        }
        return text
    }

    static func wrong(_ what: String) -> CommandError {
        .usage("--from-curl: \(what)", advice: "Give one line in quotes: --from-curl 'curl -H \"A: b\" https://…'.")
    }

    static func unknown(_ option: String) -> CommandError {
        .usage("--from-curl: lade has no counterpart of curl's \(option)", advice: "Leave it out of the line.")
    }
}

extension GetSettings {
    /// Adds an address as curl reads it: without a scheme it is `http`.
    mutating func addCurlAddress(_ text: String) throws(CommandError) {
        let bytes = Array(text.utf8)
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CurlReader.wrong("an address has a control character")
        }
        guard !bytes.contains(0x20) else { throw CurlReader.wrong("an address has a space") }
        let scheme = bytes.prefix { !":/?#".utf8.contains($0) }
        let hasScheme = !scheme.isEmpty && bytes.dropFirst(scheme.count).starts(with: ":/".utf8)
        if hasScheme {
            let name = String(decoding: scheme, as: UTF8.self).lowercased()
            guard ["http", "https", "file"].contains(name) else {
                throw CurlReader.unknown("scheme \(name.asArgument)")
            }
            // curl reads one slash or three as two.
            let slashes = bytes.dropFirst(scheme.count + 1).prefix { $0 == UInt8(ascii: "/") }.count
            guard name == "file" || slashes == 2 else {
                throw CurlReader.wrong("an address has \(slashes) slashes behind its scheme")
            }
            return try request.addAddress(text)
        }
        try request.addAddress((defaultScheme ?? "http") + "://" + text)
    }

    /// Whether a form is combined with another body.
    fileprivate var isFormMixedWithData: Bool {
        !request.formParts.isEmpty && (!request.data.isEmpty || !request.json.isEmpty) && !request.sendsDataInQuery
    }
}

extension HeaderEdit {
    /// Reads a line as curl does; nil for one that is neither a field nor an empty field, which curl leaves out.
    fileprivate init?(curlLine line: String) throws(CommandError) {
        if let (name, _) = line.cut(at: ":") {
            guard !name.isEmpty else { return nil }
            try self.init(line: line)
        } else {
            guard let (name, rest) = line.cut(at: ";"), rest.isEmpty, !name.trimmedOfSpace.isEmpty else { return nil }
            self = .set(String(name.trimmedOfSpace), "")
        }
    }
}
