import Foundation
import LadeCatalogue
import LadeCatalogueServer
import Testing

/// The services that the guide of the data provider names, under its names.
@Suite("Services of the data provider's guide", .timeLimit(.minutes(5)))
struct NamedServiceTests {
    private let local: LocalCatalogue
    private let catalogue: Catalogue
    private let loader: Loader

    init() throws {
        local = try LocalCatalogue()
        catalogue = try Catalogue(local.address("/"))
        loader = try Loader()
    }

    private static let national: [Catalogue.BusinessUnit] = [.srf, .rts, .rsi, .rtr]
    private static let international: [Catalogue.BusinessUnit] = national + [.swi]

    @Test("finding SF-1 the editorial and the trending medias have pages for every unit", arguments: international)
    func pagedMedias(unit: Catalogue.BusinessUnit) async throws {
        for list in [try catalogue.tvEditorialMedias(unit), try catalogue.tvTrendingMedias(unit)] {
            let first = try await loader.load(list.firstPage(size: 5), of: list)
            #expect(first.value.items.count == 5)
            let next = try await loader.load(try #require(first.next), of: list)

            #expect(next.value.items.count == 5 && Set(first.value.items).isDisjoint(with: next.value.items))
            #expect(first.value.items.allSatisfy { $0.urn.contains(unit.rawValue) })
        }
        // The list with a limit, which today's servers have, is still there.
        let limited = try await loader.load(catalogue.tvTrendingMedias(unit, limit: 7))
        #expect(limited.count == 7)
    }

    @Test(
        "finding SF-1 a video has its composition by its identifier, and its stream a token",
        arguments: international
    )
    func compositionAndToken(unit: Catalogue.BusinessUnit) async throws {
        let list = try catalogue.tvEditorialMedias(unit)
        let media = try #require(try await loader.load(list.firstPage(), of: list).value.items.first)

        let composition = try await loader.load(catalogue.videoComposition(unit, uid: media.uid))
        let stream = try #require(composition.mainChapter?.resources?.first?.url)
        let token = try Catalogue.tokenizeURL(stream, service: local.address("/akahd/token"))
        let playable = try await loader.load(token)

        #expect(composition.mainChapter?.uid == media.uid)
        #expect(playable.query()?.contains("hdnts=") == true)
    }

    @Test("finding SF-1 the television livestreams are a list for every unit that has them", arguments: national)
    func livestreams(unit: Catalogue.BusinessUnit) async throws {
        #expect(try await !loader.load(catalogue.tvLivestreams(unit)).isEmpty)
    }

    @Test("finding SF-1 every successor is a service of today, and the error of a refused service names it")
    func successors() throws {
        let named = CatalogueService.all.filter { $0.successor != nil }
        #expect(named.count > 25)
        for service in named {
            let successor = try #require(service.successor)
            #expect(CatalogueService.named(successor).map { !$0.isFirstGeneration } == true, "\(successor)")
            let refused = CatalogueError.unavailable(service: service.name, .ssatr, availableFor: service.sortedUnits)
            #expect(refused.description.hasSuffix("Today's servers have \(successor) instead."))
        }
        let error = #expect(throws: CatalogueError.self) { try catalogue.videoComposition(.ssatr, uid: "1") }
        #expect(error?.description.contains("mediaComposition") == true)
    }

    @Test("finding SF-13 an address that is none is shown as it was given, not percent-encoded")
    func shownAsGiven() {
        let catalogue = #expect(throws: CatalogueError.self) { try Catalogue("not an address") }
        let request = #expect(throws: LoadingError.self) { try Request("not an address") }

        #expect(catalogue?.description.contains("“not an address”") == true)
        #expect(request?.description.contains("“not an address”") == true)
    }

    @Test("finding SF-1 no service is named after where its name comes from")
    func names() {
        #expect(CatalogueService.all.allSatisfy { !$0.name.lowercased().contains("seed") })
    }
}
