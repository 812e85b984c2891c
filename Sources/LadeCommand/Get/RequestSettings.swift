#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The request of a command: the address, its items, and the options that correspond to curl's.
struct RequestSettings: Sendable {
    /// A piece of the body.
    indirect enum Piece: Equatable, Sendable {
        /// The text of the argument.
        case text(String)
        /// The bytes of a file, or of the standard input for `-`.
        case file(String, strippingLineEnds: Bool)
        /// Bytes that are not text.
        case bytes([UInt8])
        /// A name that is sent unchanged, and a piece that is percent-encoded.
        case encoded(name: String, Piece)

        /// Whether the piece reads the standard input.
        var readsStandardInput: Bool {
            switch self {
            case .text, .bytes: false
            case .file(let path, _): path == "-"
            case .encoded(_, let piece): piece.readsStandardInput
            }
        }

        /// Reads the argument of an option whose value is a text, or a file behind an at sign.
        init(_ argument: String, strippingLineEnds isStripped: Bool) {
            self =
                argument.utf8.first == UInt8(ascii: "@")
                ? .file(String(decoding: argument.utf8.dropFirst(), as: UTF8.self), strippingLineEnds: isStripped)
                : .text(argument)
        }

        /// Parses the argument of `--data-urlencode`: `text`, `=text`, `name=text`, `@file` or `name@file`.
        init(encoding argument: String) {
            let bytes = argument.utf8
            guard let index = bytes.firstIndex(where: { "=@".utf8.contains($0) }) else {
                self = .encoded(name: "", .text(argument))
                return
            }
            let value = String(decoding: bytes[bytes.index(after: index)...], as: UTF8.self)
            let isText = bytes[index] == UInt8(ascii: "=")
            let content = isText ? Piece.text(value) : .file(value, strippingLineEnds: false)
            self = .encoded(name: String(decoding: bytes[..<index], as: UTF8.self), content)
        }
    }

    var address: String?
    /// Further addresses, each requested with the same items and options.
    var otherAddresses: [String] = []
    /// The numbers of the addresses of `--url @FILE`, which are no patterns and whose bodies go to files without `-o`.
    var listedAddresses: Set<Int> = []
    /// Whether brackets and braces in addresses have no meaning.
    var takesAddressLiterally = false
    /// Whether brackets and braces that are no pattern are an error, as in curl.
    var hasStrictPatterns = false
    var items: [RequestItem] = []
    var method: String?
    var isHead = false
    var headers: [HeaderEdit] = []
    /// Fields of a configuration or a session; the user's fields override them.
    var defaultHeaders: [HeaderEdit] = []
    /// Pieces of `--data`, joined by `&`.
    var data: [Piece] = []
    /// Pieces of `--json`, concatenated.
    var json: [Piece] = []
    /// Whether `--data` is sent in the query.
    var sendsDataInQuery = false
    /// Whether `/../` and `/./` in the path are sent as written.
    var keepsDotSegments = false
    /// Whether the items make a form instead of JSON.
    var isForm = false
    /// Parts of `--form-part`, sent together with the parts of the items.
    var formParts: [FormPart] = []
    var uploadPath: String?
    /// The files for further addresses.
    var otherUploads: [String] = []
    /// Pieces that are added to the query.
    var queryPieces: [Piece] = []
    var readsStandardInput = false
    /// Whether the body is sent in chunks though its length is known.
    var sendsChunks = false
    var user: String?
    var userScheme = UserCredentials.Scheme.basic
    var userAgent: String?
    var referer: String?
    var timeCondition: TimeCondition?
    /// Where a download or an upload begins, as curl's `-C NUMBER` says; nil for the whole.
    var firstByte: Int64?
    /// Whether the options are those of a curl command line.
    var isForCurl = false
    /// The target that the request names in place of the path and the query of its address.
    var target: String?
    /// The file with the entity tag that the server compares.
    var tagPath: String?

    /// The options that set these values.
    static let rows: [OptionRow<RequestSettings>] = [
        .value("url", "URL", .request, "A further address to fetch", isCommon: false) {
            settings,
            value throws(CommandError) in
            try settings.addAddress(value)
        },
        .flag(
            "globoff",
            letter: "g",
            .request,
            "Give [1-3] and {a,b} in addresses no meaning",
            details: "Otherwise [1-3] and [a-z:5] stand for each of a range, and {a,b} for each of a list; #1 in -o is "
                + "what the first of them stands for.",
            isCommon: false
        ) { $0.takesAddressLiterally = true },
        .value("request", letter: "X", "METHOD", .request, "Request method (GET, or POST with a body)") {
            $0.method = $1
        },
        .value("header", letter: "H", "NAME:VALUE", .request, "Pass a custom header to the server") {
            settings,
            value throws(CommandError) in
            try settings.addHeader(value)
        },
        .value(
            "data",
            letter: "d",
            "TEXT|@FILE",
            .request,
            "HTTP POST data (a=1&b=2)",
            details: "Line ends of a file are left out; @- reads the standard input. Several texts are joined "
                + "by an ampersand.",
            completion: .files
        ) { $0.data.append(Piece($1, strippingLineEnds: true)) }.also("data-ascii"),
        .value(
            "data-raw",
            "TEXT",
            .request,
            "HTTP POST data, where @ has no meaning",
            isCommon: false
        ) { $0.data.append(.text($1)) },
        .value(
            "data-binary",
            "TEXT|@FILE",
            .request,
            "HTTP POST data, every byte of the file",
            details: "A file that is the whole body is sent from the disk, however large.",
            isCommon: false,
            completion: .files
        ) { $0.data.append(Piece($1, strippingLineEnds: false)) },
        .value(
            "data-urlencode",
            "TEXT|@FILE",
            .request,
            "HTTP POST data, URL encoded",
            details: "Written as TEXT, NAME=TEXT, @FILE or NAME@FILE; the name is sent as it is.",
            isCommon: false,
            completion: .files
        ) { settings, value throws(CommandError) in
            guard value.utf8.last != UInt8(ascii: "@"), !value.isEmpty else {
                throw .usage(
                    "--data-urlencode: nothing to encode",
                    advice: "Write TEXT, NAME=TEXT, @FILE or NAME@FILE."
                )
            }
            settings.data.append(Piece(encoding: value))
        },
        .flag("get", letter: "G", .request, "Put the data into the URL and use GET", isCommon: false) {
            $0.sendsDataInQuery = true
        },
        .flag("path-as-is", .request, "Send /../ and /./ in the path as written", isCommon: false) {
            $0.keepsDotSegments = true
        },
        .value(
            "url-query",
            "TEXT|@FILE",
            .request,
            "Add to the URL's query, URL encoded",
            details: "Written as for --data-urlencode; behind a plus sign a text is added as it is.",
            isCommon: false,
            completion: .files
        ) { settings, value in
            let isPlain = value.utf8.first == UInt8(ascii: "+")
            settings.queryPieces.append(
                isPlain ? .text(String(decoding: value.utf8.dropFirst(), as: UTF8.self)) : Piece(encoding: value)
            )
        },
        .flag("form", .request, "Send the items as a form instead of JSON") { $0.isForm = true },
        .value(
            "form-part",
            letter: "F",
            "NAME=TEXT|@FILE",
            .request,
            "Multipart form part, as curl -F",
            details: "NAME=@FILE,FILE uploads files, NAME=<FILE sends what it has as a field. Behind the text or file "
                + "stand ;type=TYPE, ;filename=NAME and ;headers=LINE or ;headers=@FILE if they are needed. A text "
                + "with a semicolon or a file with a comma is in double quotes. The type of a file follows from its "
                + "extension.",
            completion: .files
        ) { settings, value throws(CommandError) in settings.formParts.append(try FormPart(argument: value)) },
        .value(
            "form-string",
            "NAME=TEXT",
            .request,
            "Multipart form part without a grammar",
            isCommon: false
        ) { settings, value throws(CommandError) in settings.formParts.append(try FormPart(literal: value)) },
        .value(
            "json",
            "TEXT|@FILE",
            .request,
            "HTTP POST JSON, and accept JSON",
            completion: .files
        ) { $0.json.append(Piece($1, strippingLineEnds: false)) },
        .value(
            "upload-file",
            letter: "T",
            "FILE",
            .request,
            "Upload a local file to the URL (PUT)",
            details: "A dash is the standard input. To an address that ends with a slash, the file's name is added. "
                + "The first file goes to the first address, the second to the second; the other addresses are fetched.",
            completion: .files
        ) { settings, value throws(CommandError) in try settings.addUpload(value) },
        .flag("stdin", .request, "Send the standard input as the request body", isCommon: false) {
            $0.readsStandardInput = true
        },
        .value(
            "user",
            letter: "u",
            "USER[:PASSWORD]",
            .request,
            "Server user and password (Basic)",
            details: "A password given here can be seen by other users of the machine; without it, it is read from "
                + "the terminal."
        ) { $0.user = $1 },
        .flag("basic", .request, "Send the password of -u immediately", isCommon: false) {
            $0.userScheme = .basic
        },
        .flag("digest", .request, "Prove the password of -u by a digest", isCommon: false) { $0.userScheme = .digest },
        .flag("anyauth", .request, "Prove it in the safest way offered", isCommon: false) {
            $0.userScheme = .best
        },
        .value(
            "oauth2-bearer",
            "TOKEN",
            .request,
            "Send this bearer token to the server",
            details: "A token given here can be seen by other users of the machine; --auth bearer reads it elsewhere.",
            isCommon: false
        ) { $0.headers.append(.set("Authorization", "Bearer \($1)")) },
        .value("range", "RANGE", .request, "Ask for these bytes only: 0-99, 100-, -100", isCommon: false) {
            settings,
            value throws(CommandError) in try settings.setRange(value)
        },
        .value(
            "time-cond",
            letter: "z",
            "DATE|FILE",
            .request,
            "Only what was modified since then",
            details:
                "A date as HTTP writes it or as 2026-01-31, or a file, whose date is meant. Behind a dash: only what "
                + "was not modified since then.",
            isCommon: false,
            completion: .files
        ) { settings, value throws(CommandError) in settings.timeCondition = try TimeCondition(value) },
        .value(
            "etag-compare",
            "FILE",
            .request,
            "Only with another entity tag than the file",
            isCommon: false,
            completion: .files
        ) { $0.tagPath = $1 },
        .flag("head", letter: "I", .request, "Show the response headers only (HEAD)") { $0.isHead = true },
        .value(
            "user-agent",
            letter: "A",
            "TEXT",
            .request,
            "Send this User-Agent to the server",
            isCommon: false
        ) {
            $0.userAgent = $1
        },
        .value("referer", letter: "e", "URL", .request, "Send this Referer to the server", isCommon: false) {
            $0.referer = $1
        },
    ]

    /// How many addresses there are.
    var addressCount: Int { (address == nil ? 0 : 1) + otherAddresses.count }

    /// Adds an address.
    mutating func addAddress(_ value: String) throws(CommandError) {
        guard !value.isEmpty else { throw .usage("--url: no address", advice: "Write it as https://host/path.") }
        if address == nil { address = value } else { otherAddresses.append(value) }
    }

    /// Adds a header field, or the fields in a file behind an at sign.
    private mutating func addHeader(_ value: String) throws(CommandError) {
        guard value.utf8.first == UInt8(ascii: "@") else { return headers.append(try HeaderEdit(line: value)) }
        let path = String(decoding: value.utf8.dropFirst(), as: UTF8.self)
        for line in try ArgumentFile.lines(path, of: "--header") {
            headers.append(try HeaderEdit(line: line))
        }
    }

    /// Adds a file for the next address without one.
    private mutating func addUpload(_ path: String) throws(CommandError) {
        guard !path.isEmpty else { throw .usage("--upload-file: no file", advice: "Name it, or - for the pipe.") }
        if uploadPath == nil { uploadPath = path } else { otherUploads.append(path) }
    }

    private mutating func setRange(_ text: String) throws(CommandError) {
        let parts = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        let isRange = parts.allSatisfy { part in
            let part = part.drop { $0 == 0x20 }
            return part.contains { $0 != UInt8(ascii: "-") }
                && part.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
                && part.count { $0 == UInt8(ascii: "-") } < 2
        }
        guard isRange else {
            throw .usage("--range: “\(text.asArgument)” is no range", advice: "Write it as 0-99, 100- or -100.")
        }
        // A number alone is where the range begins, as in curl.
        headers.append(.set("Range", "bytes=" + text + (text.utf8.contains(UInt8(ascii: "-")) ? "" : "-")))
    }

    /// Takes the method in capitals if it is there, the address, then the items.
    mutating func addOperand(_ operand: String) throws(CommandError) {
        guard address != nil else {
            if method == nil, Self.isMethod(operand) { method = operand } else { address = operand }
            return
        }
        if items.isEmpty, ["http://", "https://"].contains(where: operand.lowercased().begins) {
            otherAddresses.append(operand)
            return
        }
        items.append(try RequestItem(operand))
    }

    /// Whether a word that stands before the address is a method: capital letters alone.
    static func isMethod(_ word: String) -> Bool {
        word.utf8.count > 2 && word.utf8.allSatisfy { (0x41...0x5A).contains($0) }
    }

    /// Checks that there is an address and at most one body.
    func validate() throws(CommandError) {
        guard address != nil else {
            throw .usage("there is no address to fetch", advice: "“lade get --help” shows how to write one.")
        }
        for address in [address].compactMap(\.self) + otherAddresses where Address.isItem(address) {
            throw .usage("“\(address.asArgument)” stands before the address", advice: "Items come after the address.")
        }
        guard otherUploads.count <= otherAddresses.count else {
            throw .usage("more files to upload than addresses", advice: "Give an address for each -T.")
        }
        let bodies = [
            ("items", hasItemBody && formParts.isEmpty), ("--form-part", !formParts.isEmpty),
            ("--data", !data.isEmpty && !sendsDataInQuery), ("--json", !json.isEmpty),
            ("--upload-file", uploadPath != nil),
            ("the standard input", readsStandardInput || items.contains(.standardInput)),
        ]
        .filter(\.1).map(\.0)
        guard bodies.count < 2 else {
            throw .usage("two bodies: \(bodies.joined(separator: " and "))", advice: "Choose one of them.")
        }
        guard !isHead || bodies.isEmpty else {
            throw .usage("--head has no body, \(bodies.joined()) has one", advice: "Choose one of them.")
        }
        guard !sendsDataInQuery || !data.isEmpty else {
            throw .usage("--get without --data", advice: "Give what goes into the URL with -d or --data-urlencode.")
        }
        guard otherAddresses.isEmpty || standardInputReaders == 0 else {
            throw .usage("the standard input for several addresses", advice: "Name a file, which can be read again.")
        }
        guard standardInputReaders < 2 else {
            throw .usage("the standard input is read twice", advice: "Name it once.")
        }
    }

    /// Checks that there is exactly one address.
    func checkSingleAddress() throws(CommandError) {
        guard let other = otherAddresses.first else { return }
        throw .usage("more than one address: \(other.asArgument)", advice: "Give one address at a time.")
    }

    /// Whether the request asks for the resource only if it has changed.
    var hasCondition: Bool {
        timeCondition != nil || tagPath != nil || sets(["If-None-Match", "If-Modified-Since"])
    }

    /// Whether the user, a configuration or a session gives one of the fields.
    func sets(_ names: [String]) -> Bool {
        let fields = (defaultHeaders + headers).compactMap { if case .set(let name, _) = $0 { name } else { nil } }
        let items = items.compactMap { item -> String? in
            switch item {
            case .header(.set(let name, _)), .headerFile(let name, _): name
            default: nil
            }
        }
        return (fields + items).contains { field in names.contains { $0.equalsIgnoringASCIICase(field) } }
    }

    /// Whether the items make a body.
    var hasItemBody: Bool {
        items.contains { item in
            switch item {
            case .text, .json, .file, .textFile, .jsonFile: true
            case .query, .header, .headerFile, .standardInput: false
            }
        }
    }

    /// Whether the request reads the standard input.
    var readsInput: Bool { standardInputReaders > 0 }

    private var standardInputReaders: Int {
        let pieces =
            (data + json + queryPieces).count(where: \.readsStandardInput)
            + formParts.reduce(0) { $0 + $1.paths.count { $0 == "-" } }
        let items = items.count { item in
            switch item {
            case .file(_, let path), .textFile(_, let path), .jsonFile(_, let path), .headerFile(_, let path):
                path == "-"
            case .standardInput: true
            case .text, .json, .query, .header: false
            }
        }
        let uploads = ([uploadPath].compactMap(\.self) + otherUploads).count { $0 == "-" || $0 == "." }
        return pieces + items + uploads + (readsStandardInput ? 1 : 0)
    }
}
