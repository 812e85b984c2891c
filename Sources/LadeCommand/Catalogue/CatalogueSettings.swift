import Lade
import LadeCatalogue

/// The settings of `lade catalogue`.
struct CatalogueSettings: CallSettings {
    var request = RequestSettings()
    var session = SessionSettings()
    var output = OutputSettings()
    var policy = PolicySettings()
    var connection = ConnectionSettings()
    /// The name of the service and its arguments, or the word `services` and a part of a name.
    var operands: [String] = []
    var unit: Catalogue.BusinessUnit?
    var base = Catalogue.Stage.production.rawValue
    var tokenService: String?
    var size: Int?
    /// The maximum number of pages; nil for all.
    var pageLimit: Int? = 1
    /// The option that set the number of pages.
    var pageOption: String?
    var isJSON = false
    var imageWidth: CatalogueImage.Width?
    var showsStreams = false

    static let rows: [OptionRow<CatalogueSettings>] =
        callRows + outputRows
        + OutputSettings.rows.only(
            "verbose",
            "show-secrets",
            "color",
            "silent",
            "events",
            "har",
            "har-secrets",
            "har-bodies"
        ).lifted(\.output).rare()
        + RequestSettings.rows.only("header", "user", "user-agent").lifted(\.request).rare()
        + SessionSettings.rows.only("profile", "no-config").lifted(\.session).rare()
        + PolicySettings.rows.except("location", "max-redirects", "idempotency-key", "retry-unsafe").lifted(\.policy)
        .rare()
        + ConnectionSettings.rows.lifted(\.connection).rare()

    private static let unitNames = Catalogue.BusinessUnit.allCases.map(\.rawValue)

    private static let callRows: [OptionRow<CatalogueSettings>] = [
        .value(
            "unit",
            "UNIT",
            .request,
            "The business unit: \(unitNames.joined(separator: ", "))",
            completion: .words(unitNames)
        ) { settings, value throws(CommandError) in
            guard let unit = Catalogue.BusinessUnit(rawValue: value.lowercased()) else {
                let nearest = Suggestion.nearest(to: value.lowercased(), among: unitNames)
                throw .usage(
                    "--unit: there is no “\(value.asArgument)”" + (nearest.map { "; did you mean “\($0)”?" } ?? ""),
                    advice: "The business units are \(unitNames.joined(separator: ", "))."
                )
            }
            settings.unit = unit
        },
        .value(
            "base",
            "URL",
            .request,
            "The catalogue to call (the public one)",
            details: "An address, or production, staging or test for the public installations. For a catalogue on "
                + "this machine, :8080 is enough; “lade serve” serves one."
        ) { settings, value in
            let stages = ["production": Catalogue.Stage.production, "staging": .staging, "test": .test]
            settings.base = stages[value]?.rawValue ?? Address(value).text
        },
        .value(
            "size",
            "N",
            .paging,
            "The items of a page: 1 to 100, or unlimited (10)",
            completion: .words(["unlimited"])
        ) { settings, value throws(CommandError) in
            // A number below 1 is refused with the sizes that the service has.
            let isNegative = value.utf8.first == UInt8(ascii: "-")
            let digits = isNegative ? String(decoding: value.utf8.dropFirst(), as: UTF8.self) : value
            guard value != "unlimited" else { return settings.size = Catalogue.PageSize.unlimited }
            settings.size = try Quantity.count(digits, of: "--size", from: 0) * (isNegative ? -1 : 1)
        },
        .count("pages", .paging, "Print this many pages (1)") {
            ($0.pageLimit, $0.pageOption) = ($1, "--pages")
        },
        .flag("all", .paging, "Print all pages") { ($0.pageLimit, $0.pageOption) = (nil, "--all") },
    ]

    private static let outputRows: [OptionRow<CatalogueSettings>] = [
        .flag("json", .output, "Print the documents that the catalogue sent") { $0.isJSON = true },
        .value(
            "images",
            "WIDTH",
            .output,
            "Print image addresses: \(CatalogueImage.Width.allCases.map { String($0.rawValue) }.joined(separator: ", "))",
            completion: .words(CatalogueImage.Width.allCases.map { String($0.rawValue) })
        ) { settings, value throws(CommandError) in
            guard let width = Int(value).flatMap(CatalogueImage.Width.init(rawValue:)) else {
                let widths = CatalogueImage.Width.allCases.map { String($0.rawValue) }.joined(separator: ", ")
                throw .usage("--images: “\(value.asArgument)” is no width", advice: "The widths are \(widths).")
            }
            settings.imageWidth = width
        },
        .flag(
            "streams",
            .output,
            "Print stream addresses of the medias, with tokens",
            details:
                "Loads the composition of each media, and a token for each stream that needs one. A token is valid "
                + "for about 30 seconds."
        ) { $0.showsStreams = true },
        .value(
            "token-service",
            "URL",
            .output,
            "With --streams: the service for tokens",
            details: "By default the public one for a public installation, otherwise /akahd/token of --base.",
            isCommon: false
        ) { $0.tokenService = Address($1).text },
    ]

    mutating func addOperand(_ operand: String) throws(CommandError) {
        operands.append(operand)
    }

    func validate() throws(CommandError) {
        try session.validate()
        try connection.validate()
        try policy.validate(request, connection)
        let forms = [("--json", isJSON), ("--images", imageWidth != nil), ("--streams", showsStreams)].filter(\.1)
        guard forms.count < 2 else {
            throw .usage("both \(forms[0].0) and \(forms[1].0)", advice: "Choose one of them.")
        }
    }

    // MARK: - The call

    /// Whether the services are listed instead of one being called.
    var listsServices: Bool { operands.first.map { $0 == Self.listWord } ?? true }

    /// The operand for the list of services.
    static let listWord = "services"

    /// The catalogue to call.
    ///
    /// - Throws: A usage error for an invalid address.
    func catalogue() throws(CommandError) -> Catalogue {
        try CommandError.translatingCatalogue { () throws(CatalogueError) in try Catalogue(base) }
    }

    /// The service that the first operand names, in any letter case.
    ///
    /// - Throws: A usage error with the nearest names.
    func service() throws(CommandError) -> CatalogueService {
        let name = operands.first ?? ""
        let services = CatalogueService.all
        if let exact = services.first(where: { $0.name.lowercased() == name.lowercased() }) { return exact }
        let nearest = Suggestion.several(for: name, among: services.map(\.name))
        throw .usage(
            "there is no service “\(name.asArgument)”"
                + (nearest.isEmpty ? "" : "; did you mean \(nearest.joined(separator: ", "))?"),
            advice: "“lade catalogue services” lists them."
        )
    }

    /// The values of a service's arguments.
    ///
    /// `NAME=VALUE` sets an argument of that name. Other operands are the values of the path and of required items, in
    /// the order in which the list of services shows them.
    ///
    /// - Throws: A usage error for an operand too many, and for an argument that is given twice.
    func values(of service: CatalogueService) throws(CommandError) -> [String: String] {
        let arguments = service.arguments
        var values: [String: String] = [:]
        var positional: [String] = []
        for operand in operands.dropFirst() {
            let parts = operand.parts(at: "=", most: 2).map(String.init)
            if parts.count == 2, let argument = arguments.first(where: { $0.name == parts[0] }) {
                guard values.updateValue(parts[1], forKey: argument.name) == nil else {
                    throw .usage("\(argument.name) is given twice", advice: "Give it once.")
                }
            } else {
                positional.append(operand)
            }
        }
        let free = arguments.filter { argument in
            values[argument.name] == nil && (argument.isRequired || service.variables.contains(argument.name))
        }
        guard positional.count <= free.count else {
            let names = arguments.map(\.name).joined(separator: ", ")
            throw .usage(
                "\(service.name) has no place for “\(positional[free.count].asArgument)”",
                advice: names.isEmpty ? "It takes no arguments." : "It takes \(names); write the rest as NAME=VALUE."
            )
        }
        for (argument, value) in zip(free, positional) { values[argument.name] = value }
        return values
    }

    /// Checks the paging options.
    ///
    /// - Throws: A usage error for an option that the service does not support, and for a size out of range.
    func checkPaging(of service: CatalogueService) throws(CommandError) {
        if service.paging == .none, let option = size == nil ? pageOption : "--size" {
            throw .usage("\(option): \(service.name) has no pages", advice: "Leave the option out.")
        }
        guard let size else { return }
        if service.paging == .unsized {
            throw .usage("--size: \(service.name) chooses the size of its pages", advice: "Leave the option out.")
        }
        if size == Catalogue.PageSize.unlimited, service.paging != .unlimited {
            throw .usage("--size: \(service.name) has no unlimited pages", advice: "Write 1 to 100, and --all.")
        }
        try CommandError.translatingCatalogue { () throws(CatalogueError) in try Catalogue.PageSize.validate(size) }
        if service.paging == .urns, size > Catalogue.PageSize.maximumURNs {
            throw .usage(
                "--size: \(service.name) takes \(Catalogue.PageSize.maximumURNs) URNs at most",
                advice: "Write less."
            )
        }
    }
}
