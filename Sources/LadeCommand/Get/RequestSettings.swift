#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// What is to be asked for: the address, its items, and the options that say the same as curl's.
struct RequestSettings: Sendable {
    /// A piece of the body.
    enum Piece: Equatable, Sendable {
        /// What the argument says.
        case text(String)
        /// A file's bytes, or those of the standard input for `-`.
        case file(String, strippingLineEnds: Bool)
    }

    var address: String?
    var items: [RequestItem] = []
    var method: String?
    var isHead = false
    var headers: [HeaderEdit] = []
    /// Pieces of `--data`, joined by `&`.
    var data: [Piece] = []
    /// Pieces of `--json`, joined by nothing.
    var json: [Piece] = []
    var uploadPath: String?
    var readsStandardInput = false
    var user: String?
    var userAgent: String?
    var referer: String?

    /// The options that fill this in.
    static let rows: [OptionRow<RequestSettings>] = [
        .value("request", letter: "X", "METHOD", .request, "Method instead of GET, or POST with a body") {
            $0.method = $1
        },
        .value("header", letter: "H", "NAME:VALUE", .request, "Send a header field; takes a default's place") {
            settings,
            value throws(CommandError) in
            settings.headers.append(try HeaderEdit(line: value))
        },
        .value(
            "data",
            letter: "d",
            "TEXT|@FILE",
            .request,
            "Send a form, as one line",
            details: "Line ends of a file are left out; @- reads the standard input. Repeated, the texts are joined "
                + "by an ampersand.",
            completion: .files
        ) { settings, value in
            settings.data.append(
                value.hasPrefix("@")
                    ? .file(String(value.dropFirst()), strippingLineEnds: true) : .text(value)
            )
        },
        .value(
            "data-raw",
            "TEXT",
            .request,
            "The same, where @ has no meaning",
            isCommon: false
        ) { $0.data.append(.text($1)) },
        .value(
            "data-binary",
            "TEXT|@FILE",
            .request,
            "The same, keeping every byte of the file",
            details: "A file that is the whole body is sent from the disk, however large.",
            isCommon: false,
            completion: .files
        ) { settings, value in
            settings.data.append(
                value.hasPrefix("@")
                    ? .file(String(value.dropFirst()), strippingLineEnds: false) : .text(value)
            )
        },
        .value(
            "json",
            "TEXT|@FILE",
            .request,
            "Send JSON and accept JSON",
            completion: .files
        ) { settings, value in
            settings.json.append(
                value.hasPrefix("@")
                    ? .file(String(value.dropFirst()), strippingLineEnds: false) : .text(value)
            )
        },
        .value(
            "upload-file",
            letter: "T",
            "FILE",
            .request,
            "Upload a file (PUT); - is the standard input",
            details: "To an address that ends with a slash, the file's name is added.",
            completion: .files
        ) { $0.uploadPath = $1 },
        .flag("stdin", .request, "Send the standard input as the body", isCommon: false) {
            $0.readsStandardInput = true
        },
        .value(
            "user",
            letter: "u",
            "USER[:PASSWORD]",
            .request,
            "Sign in with Basic; asks for the password",
            details: "A password given here can be seen by other users of the machine; without it, it is asked for on "
                + "the terminal."
        ) { $0.user = $1 },
        .flag("head", letter: "I", .request, "Ask for the head only (HEAD) and print it") { $0.isHead = true },
        .value(
            "user-agent",
            letter: "A",
            "TEXT",
            .request,
            "Say that another program asks (User-Agent)",
            isCommon: false
        ) {
            $0.userAgent = $1
        },
        .value("referer", letter: "e", "URL", .request, "Say which page led here (Referer)", isCommon: false) {
            $0.referer = $1
        },
    ]

    /// Takes the address, then the items.
    mutating func addOperand(_ operand: String) throws(CommandError) {
        guard address != nil else {
            address = operand
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
            ("items", hasItemBody), ("--data", !data.isEmpty), ("--json", !json.isEmpty),
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
        guard standardInputReaders < 2 else {
            throw .usage("the standard input is read twice", advice: "Name it once.")
        }
    }

    /// Whether items make a body.
    var hasItemBody: Bool {
        items.contains { item in
            switch item {
            case .text, .json, .file: true
            case .query, .header, .standardInput: false
            }
        }
    }

    private var standardInputReaders: Int {
        let pieces = (data + json).count { if case .file("-", _) = $0 { true } else { false } }
        let items = items.count {
            if case .file(_, "-") = $0 { true } else { $0 == .standardInput }
        }
        return pieces + items + (uploadPath == "-" ? 1 : 0) + (readsStandardInput ? 1 : 0)
    }
}
