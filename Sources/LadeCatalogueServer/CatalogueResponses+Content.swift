#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting

// Editorial pages, which consist of sections.
extension CatalogueResponses {
    /// The kind of content in a section.
    enum SectionContent: String, CaseIterable {
        case medias = "MediaSection"
        case shows = "ShowSection"
        case showAndMedias = "MediaSectionWithShow"
        case predefined = "SimpleSection"
    }

    private static let products: Set<String> = ["PLAY_VIDEO", "PLAY_AUDIO", "NEWS_APP", "NEWS_VIDEO", "NEWS_AUDIO"]

    /// The message of the first generation to the users of a business unit.
    func serviceMessage(_ asked: CatalogueAsked) -> ServerResponse {
        .document(
            """
            {"id":"message-\(asked.unit)","text":"Travaux sur le réseau cette nuit.",\
            "modifyDate":"\(CatalogueDay.newest.at(6))","url":"https://example.org/\(asked.unit)/travaux"}
            """
        )
    }

    func landingPage(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let product = asked.values[0]
        guard Self.products.contains(product) else { throw .notFound("There is no such product.") }
        return contentPage("landing-\(product)", "LANDING_PAGE", "Accueil", asked)
    }

    func topicPage(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        guard let urn = StockURN(asked.values[0]), case .topic(let topic) = urn.subject else {
            throw .notFound("There is no such topic.")
        }
        let more = ",\"topicUrn\":\"\(asked.values[0].jsonEscaped)\""
        return contentPage("topic-\(topic)", "TOPIC_PAGE", StockWords.themes[topic], asked, more)
    }

    func showPage(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        guard Self.products.contains(asked.values[0]) else { throw .notFound("There is no such product.") }
        let (_, show) = try showOf(asked.values[1])
        return contentPage("show-\(show.uid)", "SHOW_PAGE", stock.showTitle(show), asked)
    }

    func contentPage(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let uid = asked.values[0]
        if uid == "page1" { return contentPage(uid, "LANDING_PAGE", "Accueil", asked) }
        if uid == "page2" {
            return contentPage(uid, "MICRO_PAGE", "Dossier", asked, ",\"description\":\"Tout sur le lac\"")
        }
        if uid.hasPrefix("landing-"), Self.products.contains(String(uid.dropFirst(8))) {
            return contentPage(uid, "LANDING_PAGE", "Accueil", asked)
        }
        if uid.hasPrefix("topic-"), let topic = Int(uid.dropFirst(6)), StockWords.themes.indices.contains(topic) {
            return contentPage(uid, "TOPIC_PAGE", StockWords.themes[topic], asked)
        }
        if uid.hasPrefix("show-") {
            let show = try item(String(uid.dropFirst(5)), CatalogueKind.shows)
            return contentPage(uid, "SHOW_PAGE", stock.showTitle(show), asked)
        }
        throw .notFound("There is no such page.")
    }

    func section(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        .document(section(try sectionNumber(asked.values[0]), asked))
    }

    func sectionContent(
        _ asked: CatalogueAsked,
        _ content: SectionContent
    ) throws(CatalogueRefusal) -> ServerResponse {
        let number = try sectionNumber(asked.values[0])
        guard Self.content(number) == content else {
            throw .badRequest("That section has another content: \(Self.content(number).rawValue).")
        }
        let unit = asked.unit
        switch content {
        case .shows:
            let list = stock.list(.tvShow, number, every: 5, most: 30)
            return try page("showList", list.count(stock), asked, isSized: false) {
                self.stock.json(list.item($0), unit)
            }
        case .medias, .showAndMedias, .predefined:
            let show = CatalogueItem(.tvShow, number % stock.count(.tvShow))
            let list = content == .medias ? stock.list(.video, number, every: 11, most: 36) : medias(of: show)
            let json = String(decoding: stock.json(show, unit), as: UTF8.self)
            let lead = content == .medias ? "" : "\"show\":\(json),"
            return try page("mediaList", list.count(stock), asked, isSized: false, lead: lead) {
                self.stock.json(list.item($0), unit)
            }
        }
    }

    // MARK: - Parts

    private static func content(_ number: Int) -> SectionContent { SectionContent.allCases[number % 4] }

    private func sectionNumber(_ uid: String) throws(CatalogueRefusal) -> Int {
        guard uid.hasPrefix("sec"), let number = Int(uid.dropFirst(3)), (0..<8).contains(number) else {
            throw .notFound("There is no such section.")
        }
        return number
    }

    private func contentPage(
        _ uid: String,
        _ type: String,
        _ title: String,
        _ asked: CatalogueAsked,
        _ more: String = ""
    ) -> ServerResponse {
        let sections = (0..<8).map { section($0, asked) }
        return .document(
            """
            {"id":"\(uid)","vendor":"\(asked.unit.uppercased())","type":"\(type)","title":"\(title)",\
            "isPublished":\(asked["isPublished"] != "false")\(more),"sectionList":[\(sections.joined(separator: ","))]}
            """
        )
    }

    private func section(_ number: Int, _ asked: CatalogueAsked) -> String {
        let content = Self.content(number)
        let names = [
            "Swimlane", "Grid", "ShowPromotion", "FavoriteShows", "HeroStage", "Swimlane", "MediaElement",
            "Livestreams",
        ]
        let properties = """
            ,"properties":{"title":"Rayon \(number + 1)","description":"Choix du jour","label":"Nouveau",\
            "hasDetailPage":\(number % 2 == 0),"pickRandomElement":\(number == 6),\
            "imageUrl":"https://img.example.org/sec\(number).jpg",\
            "imageFocalPoint":{"percentageX":50,"percentageY":50},\
            "link":{"targetType":"MICRO_PAGE","target":"page2"}}
            """
        return """
            {"id":"sec\(number)","vendor":"\(asked.unit.uppercased())","sectionType":"\(content.rawValue)",\
            "isPublished":\(asked["isPublished"] != "false"),"hasPersonalizedContent":\(content == .predefined),\
            "start":"2023-01-01T00:00:00+01:00","end":"2033-01-01T00:00:00+01:00",\
            \(content == .medias ? "\"mediaType\":\"VIDEO\"," : "")\
            "representation":{"name":"\(names[number])"\(content == .predefined ? "" : properties)}}
            """
    }
}
