import Lade
import LadeCatalogue
import LadeContent

/// Makes the content models of the screens, which load from the catalogue.
struct CatalogueSource: Sendable {
    let loader: Loader
    let catalogue: Catalogue
    let unit: Catalogue.BusinessUnit

    /// The number of items of a page.
    static let pageSize = 25

    /// A model of a list of the catalogue.
    @MainActor
    func list<Item: Sendable>(_ endpoint: PagedEndpoint<Catalogue.Listing<Item>>) throws -> PagedContentModel<
        String, Item
    > {
        try PagedContentModel(pageSize: Self.pageSize) { [loader] position in
            let page = position.cursor as? PageRequest ?? endpoint.firstPage(size: position.size)
            let loaded = try await loader.load(page, of: endpoint)
            return ContentPage(loaded.value.items, cursor: loaded.next, hasMore: loaded.next != nil)
        }
    }

    /// A model of the medias that match the query of its refresh.
    ///
    /// A search finds URNs. The medias of a page of URNs are loaded together.
    @MainActor
    func search() throws -> PagedContentModel<String, Catalogue.Media> {
        try PagedContentModel(pageSize: Self.pageSize) { [loader, catalogue, unit] position in
            let hits = try catalogue.mediaSearch(unit, matching: position.query ?? "")
            let page = position.cursor as? PageRequest ?? hits.firstPage(size: position.size)
            let found = try await loader.load(page, of: hits)
            guard !found.value.urns.isEmpty else { return ContentPage([], hasMore: false) }
            let medias = try catalogue.medias(urns: found.value.urns)
            let loaded = try await loader.load(medias.firstPage(size: found.value.urns.count), of: medias)
            return ContentPage(loaded.value.items, cursor: found.next, hasMore: found.next != nil)
        }
    }

    /// A model of the composition for playing a media.
    @MainActor
    func composition(of urn: String) throws -> ContentModel<Void, Catalogue.MediaComposition> {
        let endpoint = try catalogue.mediaComposition(urn: urn)
        return ContentModel { [loader] _ in try await loader.load(endpoint) }
    }
}
