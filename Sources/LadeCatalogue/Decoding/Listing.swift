/// A model that services list, and the keys of its lists in responses.
protocol ListedModel: CatalogueModel {
    static var listKeys: [String] { get }
}

extension Catalogue.Media: ListedModel { static let listKeys = ["mediaList"] }

extension Catalogue.Show: ListedModel { static let listKeys = ["showList", "searchResultListShow"] }

extension Catalogue.Channel: ListedModel { static let listKeys = ["channelList"] }

extension Catalogue.Topic: ListedModel { static let listKeys = ["topicList"] }

extension Catalogue.Song: ListedModel { static let listKeys = ["songList"] }

extension Catalogue.Module: ListedModel { static let listKeys = ["moduleConfigList"] }

extension Catalogue.ProgramComposition: ListedModel { static let listKeys = ["programGuide"] }

extension Catalogue.SearchHit: ListedModel { static let listKeys = ["searchResultMediaList", "searchResultShowList"] }

extension Catalogue.SearchResultMedia: ListedModel { static let listKeys = ["searchResultListMedia"] }

extension Catalogue {
    /// A page of a list.
    public struct Listing<Item: Sendable>: Sendable {
        /// The items; empty when the response has no list, as after the last page.
        public var items: [Item] = []
        /// The number of items on all pages; from `total`.
        public var total: Int?
        /// Filters for the search, with the number of results for each; from `aggregations`.
        public var aggregations: MediaAggregations?
        /// Alternative queries; from `suggestionList`.
        public var suggestions: [SearchSuggestion]?
        /// The address of the next page; from `next`.
        public var next: String?

        /// Makes a page.
        public init(_ items: [Item] = []) {
            self.items = items
        }
    }
}

extension Catalogue.Listing: Equatable where Item: Equatable {}

extension Catalogue.Listing: Decodable where Item: Decodable {
    /// Decodes a page of the models in the catalogue.
    public init(from decoder: any Decoder) throws {
        guard let listed = Item.self as? any ListedModel.Type else {
            let reason = "\(Item.self) is not listed by the catalogue."
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: reason))
        }
        let members = try ModelMembers(decoder)
        do {
            for key in listed.listKeys where items.isEmpty { items = try members.list(key, of: Item.self) ?? [] }
        } catch DecodingError.typeMismatch(_, let context)
            where context.codingPath.count == decoder.codingPath.count + 1
        {
            // A value that is not a list has no items.
        }
        total = members.count("total")
        next = members.address("next")
        guard Item.self == Catalogue.SearchHit.self else { return }
        do {
            try members.read("aggregations", &aggregations)
            try members.read("suggestionList", &suggestions)
        } catch {
            guard decoder.userInfo[.toleratesFacets] != nil else { throw error }
            // Valid suggestions count, too, after malformed aggregations.
            try? members.read("suggestionList", &suggestions)
        }
    }
}

extension Catalogue.Listing where Item == Catalogue.SearchHit {
    /// The URNs; load them with ``Catalogue/medias(urns:)`` or ``Catalogue/shows(urns:)``.
    public var urns: [String] { items.map(\.urn) }
}

extension Catalogue {
    /// A page of an object with lists in pages.
    @dynamicMemberLookup
    public struct PagedObject<Object: CatalogueModel>: Sendable, Equatable, Decodable {
        /// The object with the items of this page.
        public var object: Object
        /// The address of the next page; from `next`.
        public var next: String?

        /// Decodes a page.
        public init(from decoder: any Decoder) throws {
            object = try decoder.singleValueContainer().decode(Object.self)
            next = try ModelMembers(decoder).address("next")
        }

        /// The properties of the object.
        public subscript<Property>(dynamicMember property: KeyPath<Object, Property>) -> Property {
            object[keyPath: property]
        }
    }
}

extension ModelMembers {
    /// The number for a key; nil for any other value and for a negative number.
    fileprivate func count(_ key: String) -> Int? {
        var number: Int?
        // Another value says nothing about the list.
        try? read(key, &number)
        return number.flatMap { $0 < 0 ? nil : $0 }
    }

    /// The text for a key; nil for any other value, such as a channel's next program.
    fileprivate func address(_ key: String) -> String? {
        var text: String?
        try? read(key, &text)
        return text
    }
}
