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
        /// A name that is sent unchanged, and a piece that is percent-encoded.
        case encoded(name: String, Piece)

        /// Whether the piece reads the standard input.
        var readsStandardInput: Bool {
            switch self {
            case .text: false
            case .file(let path, _): path == "-"
            case .encoded(_, let piece): piece.readsStandardInput
            }
        }

        /// Parses the argument of `--data-urlencode`: `text`, `=text`, `name=text`, `@file` or `name@file`.
        init(encoding argument: String) {
            let (name, rest) = argument.halves { "=@".has($0) }
            if let text = rest.behind("=") {
                self = .encoded(name: String(name), .text(String(text)))
            } else if let path = rest.behind("@") {
                self = .encoded(name: String(name), .file(String(path), strippingLineEnds: false))
            } else {
                self = .encoded(name: "", .text(argument))
            }
        }
    }

    var address: String?
    /// Further addresses, each requested with the same items and options.
    var otherAddresses: [String] = []
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
    /// Parts of `--form-part`, sent together with those of the items.
    var formParts: [FormPart] = []
    var uploadPath: String?
    var readsStandardInput = false
    var user: String?
    var userAgent: String?
    var referer: String?

    /// The options that set these values.
    static let rows: [OptionRow<RequestSettings>] = [
        .value("url", "URL", .request, "A further address to fetch", isCommon: false) {
            settings,
            value throws(CommandError) in
            guard !value.isEmpty else { throw .usage("--url: no address", advice: "Write it as https://host/path.") }
            if settings.address == nil { settings.address = value } else { settings.otherAddresses.append(value) }
        },
        .value("request", letter: "X", "METHOD", .request, "Request method (GET, or POST with a body)") {
            $0.method = $1
        },
        .value("header", letter: "H", "NAME:VALUE", .request, "Pass a custom header to the server") {
            settings,
            value throws(CommandError) in
            settings.headers.append(try HeaderEdit(line: value))
        },
        .value(
            "data",
            letter: "d",
            "TEXT|@FILE",
            .request,
            "HTTP POST data (a=1&b=2)",
            details: "Line ends of a file are left out; @- reads the standard input. Repeated, the texts are joined "
                + "by an ampersand.",
            completion: .files
        ) { settings, value in
            settings.data.append(
                value.behind("@").map { .file(String($0), strippingLineEnds: true) } ?? .text(value)
            )
        },
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
        ) { settings, value in
            settings.data.append(
                value.behind("@").map { .file(String($0), strippingLineEnds: false) } ?? .text(value)
            )
        },
        .value(
            "data-urlencode",
            "TEXT|@FILE",
            .request,
            "HTTP POST data, URL encoded",
            details: "Written as TEXT, NAME=TEXT, @FILE or NAME@FILE; the name is sent as it is.",
            isCommon: false,
            completion: .files
        ) { settings, value throws(CommandError) in
            guard !value.isEmpty, !value.hasSuffix("@") else {
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
        .flag("form", .request, "Send the items as a form instead of JSON") { $0.isForm = true },
        .value(
            "form-part",
            letter: "F",
            "NAME=TEXT|@FILE",
            .request,
            "Multipart form part, as curl -F",
            details: "NAME=@FILE uploads a file, NAME=<FILE sends what it has as a field. Behind the file stand "
                + ";type=TYPE and ;filename=NAME if they are needed.",
            completion: .files
        ) { settings, value throws(CommandError) in settings.formParts.append(try FormPart(argument: value)) },
        .value(
            "json",
            "TEXT|@FILE",
            .request,
            "HTTP POST JSON, and accept JSON",
            completion: .files
        ) { settings, value in
            settings.json.append(
                value.behind("@").map { .file(String($0), strippingLineEnds: false) } ?? .text(value)
            )
        },
        .value(
            "upload-file",
            letter: "T",
            "FILE",
            .request,
            "Upload a local file to the URL (PUT)",
            details: "A dash is the standard input. To an address that ends with a slash, the file's name is added.",
            completion: .files
        ) { $0.uploadPath = $1 },
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

    /// Takes the address first, then the items.
    mutating func addOperand(_ operand: String) throws(CommandError) {
        guard address != nil else {
            address = operand
            return
        }
        if items.isEmpty, ["http://", "https://"].contains(where: operand.lowercased().begins) {
            otherAddresses.append(operand)
            return
        }
        items.append(try RequestItem(operand))
    }

    /// Checks that there is an address and at most one body.
    func validate() throws(CommandError) {
        guard address != nil else {
            throw .usage("there is no address to fetch", advice: "“lade get --help” shows how to write one.")
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

    /// Whether the items make a body.
    var hasItemBody: Bool {
        items.contains { item in
            switch item {
            case .text, .json, .file, .textFile, .jsonFile: true
            case .query, .header, .headerFile, .standardInput: false
            }
        }
    }

    private var standardInputReaders: Int {
        let pieces = (data + json).count(where: \.readsStandardInput) + formParts.count { $0.path == "-" }
        let items = items.count { item in
            switch item {
            case .file(_, let path), .textFile(_, let path), .jsonFile(_, let path), .headerFile(_, let path):
                path == "-"
            case .standardInput: true
            case .text, .json, .query, .header: false
            }
        }
        return pieces + items + (uploadPath == "-" ? 1 : 0) + (readsStandardInput ? 1 : 0)
    }
}
