#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCatalogue

/// One run of `lade catalogue`: the list of services, or a call and its output.
struct CatalogueRun: Sendable {
    private let settings: CatalogueSettings
    private let context: CommandContext
    private let console: Console

    init(settings: CatalogueSettings, context: CommandContext) {
        self.settings = settings
        self.context = context
        console = context.console.coloured(settings.output.colour)
    }

    /// Prints the list, or makes the call.
    ///
    /// - Returns: Success; throws for a call that cannot be made, and for a failure.
    func run() async throws(CommandError) -> ExitCode {
        if settings.listsServices {
            try list()
        } else {
            try await call()
        }
        return .success
    }

    // MARK: - The list of services

    private func list() throws(CommandError) {
        guard settings.operands.count <= 2 else {
            throw .usage(
                "more than one text: “\(settings.operands[2].asArgument)”",
                advice: "Name a part of the services' names."
            )
        }
        let part = settings.operands.dropFirst().first ?? ""
        let services = CatalogueService.all.filter { service in
            (part.isEmpty || service.name.lowercased().contains(part.lowercased()))
                && settings.unit.map { !service.needsBusinessUnit || service.isAvailable(for: $0) } ?? true
        }
        let exact = services.filter { $0.name.lowercased() == part.lowercased() }
        guard !services.isEmpty else {
            let nearest = Suggestion.several(for: part, among: CatalogueService.all.map(\.name))
            throw .usage(
                "no service has “\(part.asArgument)” in its name"
                    + (settings.unit.map { " and is one of \($0)" } ?? ""),
                advice: nearest.isEmpty
                    ? "“lade catalogue services” lists all of them."
                    : "Similar names are \(nearest.joined(separator: ", "))."
            )
        }
        try print(CatalogueTable.services(exact.isEmpty ? services : exact, for: settings.unit))
        guard let service = exact.first, console.isOutputTerminal, !service.arguments.isEmpty else { return }
        try console.write("\n")
        try print(CatalogueTable.arguments(service))
    }

    // MARK: - The call

    private func call() async throws(CommandError) {
        let service = try settings.service()
        let values = try settings.values(of: service)
        var catalogue = try settings.catalogue()
        // The request is made and validated before the password is read.
        _ = try endpoint(service, values, catalogue)
        try settings.checkPaging(of: service)
        var prepared = settings
        prepared.request.address = settings.base
        let call = try await PreparedCall(prepared, context)
        catalogue.globalHeaders = call.request.headers
        let endpoint = try endpoint(service, values, catalogue)
        try await Witness.observing(settings.output, settings.policy, settings.connection, context) {
            [catalogue] (witness) async throws(CommandError) in
            try await self.call(endpoint, of: catalogue, call, witness)
        }
    }

    private func call(
        _ endpoint: PagedEndpoint<CatalogueResponse>,
        of catalogue: Catalogue,
        _ call: PreparedCall,
        _ witness: Witness
    ) async throws(CommandError) {
        let account = try await context.account(
            settings.connection,
            settings.policy,
            for: .list,
            call,
            witness: witness
        )
        let loader = account.makeLoader()
        let result = await pages(of: endpoint, catalogue, loader)
        await account.service.shutDown()
        switch result {
        case .success(let hasMore): tellOfMore(hasMore)
        case .failure(let failure): throw failure.error(witness)
        }
    }

    private func endpoint(
        _ service: CatalogueService,
        _ values: [String: String],
        _ catalogue: Catalogue
    ) throws(CommandError) -> PagedEndpoint<CatalogueResponse> {
        var endpoint = try CommandError.translatingCatalogue { () throws(CatalogueError) in
            try catalogue.call(service, settings.unit, values)
        }
        apply(to: &endpoint.endpoint.request)
        return endpoint
    }

    private func apply(to request: inout Request) {
        settings.connection.apply(to: &request)
        settings.policy.apply(to: &request)
    }

    /// Why the pages ended.
    private enum Failure: Error {
        case loading(LoadingError)
        case page(PageError)
        case command(CommandError)

        func error(_ witness: Witness) -> CommandError {
            switch self {
            case .loading(let error): return Self.error(error, witness)
            case .page(let failure):
                if case .loading(let error) = failure.cause { return Self.error(error, witness) }
                return CommandError(
                    what: failure.description,
                    advice: "Print the page with --json.",
                    code: .decoding
                )
            case .command(let error): return error
            }
        }

        /// The error with the reason that the catalogue gives for its status.
        private static func error(_ error: LoadingError, _ witness: Witness) -> CommandError {
            var reported = witness.failure(error)
            if case .unacceptableStatus = error.kind,
                let response = error.context.processedBody as? CatalogueResponse,
                let reason = response.document[["status", "msg"]]?.string
            {
                reported.what += " It says: \(error.context.redaction.text(reason))"
            }
            return reported
        }
    }

    /// Prints the pages.
    ///
    /// - Returns: Whether there are further pages.
    private func pages(
        of endpoint: PagedEndpoint<CatalogueResponse>,
        _ catalogue: Catalogue,
        _ loader: Loader
    ) async -> Result<Bool, Failure> {
        var printer = CataloguePrinter(console)
        var hasMore = false
        do throws(PageError) {
            let sequence = loader.pages(of: endpoint, size: settings.size ?? 0, pageLimit: settings.pageLimit)
            for try await page in sequence {
                hasMore = page.next != nil
                do throws(Failure) {
                    try await show(page.value, &printer, catalogue, loader)
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            return .failure(.page(error))
        }
        do throws(CommandError) {
            try printer.end(settings)
        } catch {
            return .failure(.command(error))
        }
        return .success(hasMore)
    }

    private func show(
        _ response: CatalogueResponse,
        _ printer: inout CataloguePrinter,
        _ catalogue: Catalogue,
        _ loader: Loader
    ) async throws(Failure) {
        do throws(CommandError) {
            if settings.isJSON { return try printer.print(json: response.data) }
            if let fault = CatalogueTable.fault(in: response) {
                throw CommandError(what: fault, advice: "Print the response with --json.", code: .decoding)
            }
            if let width = settings.imageWidth {
                return try printer.print(CatalogueTable.images(of: response, catalogue, width))
            }
            guard settings.showsStreams else {
                for table in CatalogueTable.tables(of: response) { try printer.print(table) }
                return
            }
        } catch {
            throw .command(error)
        }
        for composition in try await compositions(of: response, catalogue, loader) {
            let item = try await streams(of: composition, loader)
            do throws(CommandError) {
                try printer.print([item])
            } catch {
                throw .command(error)
            }
        }
    }

    // MARK: - Streams

    private func compositions(
        of response: CatalogueResponse,
        _ catalogue: Catalogue,
        _ loader: Loader
    ) async throws(Failure) -> [Catalogue.MediaComposition] {
        if response.listKey == "chapterList" {
            do {
                return [try catalogue.decoder.decode(Catalogue.MediaComposition.self, from: response.data)]
            } catch {
                let advice = "Print the response with --json."
                throw .command(CommandError(what: "The composition: \(error).", advice: advice, code: .decoding))
            }
        }
        var compositions: [Catalogue.MediaComposition] = []
        for urn in CatalogueTable.mediaURNs(of: response) {
            var endpoint: Endpoint<Catalogue.MediaComposition>
            do throws(CatalogueError) {
                endpoint = try catalogue.mediaComposition(urn: urn)
            } catch {
                throw .command(CommandError(error))
            }
            apply(to: &endpoint.request)
            do throws(LoadingError) {
                compositions.append(try await loader.load(endpoint))
            } catch {
                throw .loading(error)
            }
        }
        return compositions
    }

    private func streams(
        of composition: Catalogue.MediaComposition,
        _ loader: Loader
    ) async throws(Failure) -> CatalogueTable.LinkedItem {
        let chapter = composition.mainChapter ?? composition.chapters.first
        var links: [CatalogueTable.Link] = []
        for resource in chapter?.playableResources ?? [] {
            guard let url = resource.url else { continue }
            do throws(LoadingError) {
                let playable = try await playable(url, resource.tokenType, loader)
                links.append(.init(label: resource.label, address: playable.absoluteString))
            } catch {
                throw .loading(error)
            }
        }
        return .init(title: chapter?.title ?? "", name: chapter?.urn ?? composition.chapterURN, links: links)
    }

    private func playable(_ url: URL, _ token: Catalogue.Resource.TokenType, _ loader: Loader)
        async throws(LoadingError) -> URL
    {
        guard token == .akamai || Catalogue.needsToken(url) else { return url }
        var endpoint = try Catalogue.tokenizeURL(url, service: settings.tokenAddress)
        apply(to: &endpoint.request)
        return try await loader.load(endpoint)
    }

    // MARK: - Output

    private func print(_ table: TextTable) throws(CommandError) {
        var printer = CataloguePrinter(console)
        try printer.print(table)
    }

    private func tellOfMore(_ hasMore: Bool) {
        guard hasMore, console.isTalkTerminal, !settings.output.isSilent else { return }
        console.say("lade: There are more; --pages N or --all prints them.")
    }
}

extension CatalogueSettings {
    /// The address of the service for stream tokens.
    ///
    /// A private installation has a token service of its own: only a public installation may cause a request to the public one.
    var tokenAddress: String {
        if let tokenService { return tokenService }
        let isPublic = Catalogue.Stage.allCases.contains { $0.rawValue == base }
        return isPublic ? Catalogue.tokenServiceURL : base + (base.ends(with: "/") ? "" : "/") + "akahd/token"
    }
}

extension Catalogue.Resource {
    /// The method, the quality and the type of the stream.
    fileprivate var label: String {
        let type = streamType == .live ? "live" : streamType == .dvr ? "live, rewinds" : ""
        let drm = drms?.isEmpty == false ? "DRM" : ""
        return [streamingMethod.rawValue, quality.rawValue, type, drm].filter { !$0.isEmpty }.joined(separator: " ")
    }
}
