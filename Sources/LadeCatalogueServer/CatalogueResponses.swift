#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

/// Makes the responses of the services in ``CatalogueServices``.
final class CatalogueResponses: Sendable {
    let stock: CatalogueStock
    let search: CatalogueSearch
    private let maximumPageSize: Int
    /// The counts by path, at most ``statisticLimit`` of them.
    private let statistics = Locked<[String: Int]>([:])
    private static let statisticLimit = 10_000

    init(_ stock: CatalogueStock, maximumPageSize: Int) {
        self.stock = stock
        self.maximumPageSize = max(maximumPageSize, 1)
        search = CatalogueSearch(stock)
    }

    /// The response for a path below `integrationlayer/`.
    func respond(_ path: ArraySlice<Substring>, _ request: ServerRequest) -> ServerResponse {
        do throws(CatalogueRefusal) {
            let (row, asked) = try CatalogueServices.find(path, request)
            guard request.method == row.method || (request.method == "HEAD" && row.method == "GET") else {
                return .status(405, [ServerField("Allow", row.method)])
            }
            return try row.respond(self, asked)
        } catch {
            return .refusal(error)
        }
    }

    // MARK: - Reading what is asked

    /// The item with an identifier.
    func item(_ uid: String, _ kinds: [CatalogueKind]) throws(CatalogueRefusal) -> CatalogueItem {
        guard let item = CatalogueItem(uid: uid, of: kinds), stock.has(item) else {
            throw .notFound("There is nothing with this identifier.")
        }
        return item
    }

    /// The media with a URN.
    func mediaOf(_ urn: String) throws(CatalogueRefusal) -> (unit: String, item: CatalogueItem) {
        guard let urn = StockURN(urn), case .item(let item) = urn.subject, item.kind.transmission == nil,
            stock.has(item)
        else { throw .badRequest("That is the URN of no media.") }
        return (urn.unit, item)
    }

    /// The show with a URN.
    func showOf(_ urn: String) throws(CatalogueRefusal) -> (unit: String, item: CatalogueItem) {
        guard let urn = StockURN(urn), case .item(let item) = urn.subject, item.kind.transmission != nil,
            stock.has(item)
        else { throw .badRequest("That is the URN of no show.") }
        return (urn.unit, item)
    }

    /// The index of a channel.
    func channelIndex(_ uid: String, _ transmission: String) throws(CatalogueRefusal) -> Int {
        let prefix = transmission == "radio" ? "radio" : "chan"
        guard uid.hasPrefix(prefix), let number = Int(uid.dropFirst(prefix.count)), (1...4).contains(number) else {
            throw .notFound("There is no such channel.")
        }
        return number - 1
    }

    func day(_ text: String) throws(CatalogueRefusal) -> CatalogueDay {
        guard let day = CatalogueDay(text) else { throw .badRequest("That is no day: write yyyy-MM-dd.") }
        return day
    }

    // MARK: - Lists of medias

    func published(_ text: String, _ kind: CatalogueKind) throws(CatalogueRefusal) -> CatalogueList {
        stock.published(on: try day(text), kind)
    }

    func topic(_ text: String) throws(CatalogueRefusal) -> CatalogueList {
        guard let topic = Int(text), (0..<8).contains(topic) else { throw .notFound("There is no such topic.") }
        return stock.list(.video, topic, every: 8)
    }

    func medias(of show: CatalogueItem) -> CatalogueList {
        stock.list(show.kind == .radioShow ? .audio : .video, show.index, every: stock.count(show.kind))
    }

    func shows(ofTopic text: String) throws(CatalogueRefusal) -> CatalogueList {
        guard let topic = Int(text), (0..<8).contains(topic) else { throw .notFound("There is no such topic.") }
        return stock.list(.tvShow, topic, every: 8)
    }

    func page(
        _ list: CatalogueList,
        _ asked: CatalogueAsked,
        unit: String? = nil
    ) throws(CatalogueRefusal) -> ServerResponse {
        let unit = unit ?? asked.unit
        return try page("mediaList", list.count(stock), asked) { self.stock.json(list.item($0), unit) }
    }

    func shows(
        _ list: CatalogueList,
        _ asked: CatalogueAsked,
        unit: String? = nil,
        isUnlimited: Bool = false
    ) throws(CatalogueRefusal) -> ServerResponse {
        let unit = unit ?? asked.unit
        return try page("showList", list.count(stock), asked, isUnlimited: isUnlimited) {
            self.stock.json(list.item($0), unit)
        }
    }

    /// All medias in a short list.
    func whole(_ list: CatalogueList, _ asked: CatalogueAsked) -> ServerResponse {
        var body = Data("{\"mediaList\":".utf8)
        body.appendArray(0..<list.count(stock)) { stock.json(list.item($0), asked.unit) }
        body.append(UInt8(ascii: "}"))
        return .item(body)
    }

    func events(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        if let type = asked["eventType"], type != "news", type != "sport" {
            throw .badRequest("eventType is news or sport.")
        }
        let step = asked["signLanguageOnly"] == "true" ? 4 : asked["eventType"] == nil ? 1 : 2
        return try page(stock.list(.event, asked["eventType"] == "sport" ? 1 : 0, every: step), asked)
    }

    func liveCenter(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let step = asked["onlyEventsWithResult"] == "false" ? 1 : 2
        switch asked["types"] {
        case nil, "scheduled_livestream": return try page(stock.list(.event, 0, every: step), asked)
        case "episode": return try page(stock.list(.video, 0, every: 100 * step), asked)
        default: throw .badRequest("types is scheduled_livestream or episode.")
        }
    }

    func trending(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        // The first generation delivered the list in pages, as `next` indicates.
        let limit = asked["pageSize"].map { Int($0) } ?? 10
        guard let limit, (0...50).contains(limit) else { throw .badRequest("pageSize is 0 to 50.") }
        if let picks = asked["maxCountEditorPicks"], (Int(picks) ?? -1) < 0 {
            throw .badRequest("maxCountEditorPicks is 0 or more.")
        }
        let list = stock.list(.video, 1, every: 7, most: 500)
        if asked.request.path.hasSuffix(".json") { return try page(list, asked) }
        return whole(stock.list(.video, 1, every: 7, most: limit), asked)
    }

    func tagged(_ kind: CatalogueKind, _ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let includes = asked.list("includes")
        let excludes = asked.list("excludes")
        let tags = StockWords.tags
        let wanted = tags.indices.filter { index in
            (includes.isEmpty || includes.contains(tags[index])) && !excludes.contains(tags[index])
        }
        let count = stock.count(kind) / tags.count * wanted.count
        let list = CatalogueList { _ in
            count
        } item: {
            CatalogueItem(kind, $0 / wanted.count * tags.count + wanted[$0 % wanted.count])
        }
        return try page(list, asked)
    }

    func mediasOfShows(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let urns = asked.list("urns")
        guard urns.count <= 10 else { throw .badRequest("At most 10 shows can be asked for.") }
        let last = try asked["maxPublishedDate"].map { text throws(CatalogueRefusal) in try day(text) }
        let kind: CatalogueKind?
        switch asked["types"] {
        case nil, "episode": kind = nil
        case "clip,segment": kind = .clip
        default: throw .badRequest("types is episode or clip,segment.")
        }
        let shows = urns.compactMap { StockURN($0) }
        guard let unit = shows.first?.unit else { return try page(.only([]), asked) }
        var items: [CatalogueItem] = []
        for urn in shows {
            guard case .item(let show) = urn.subject, show.kind.transmission != nil, stock.has(show) else { continue }
            let list = kind.map { stock.list($0, show.index, every: stock.count(show.kind)) } ?? medias(of: show)
            for index in 0..<min(list.count(stock), 1000) {
                let item = list.item(index)
                if last.map({ stock.facts(item).day <= $0 }) ?? true { items.append(item) }
            }
        }
        items.sort { ($0.index, $0.kind.rawValue) < ($1.index, $1.kind.rawValue) }
        return try page(.only(items), asked, unit: unit)
    }

    // MARK: - By URN and identifier

    func media(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let (unit, item) = try mediaOf(asked.values[0])
        return .item(stock.json(item, unit))
    }

    func show(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let (unit, item) = try showOf(asked.values[0])
        return .item(stock.json(item, unit))
    }

    func medias(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        try byURNs(asked, "mediaList") { $0.kind.transmission == nil }
    }

    func showsByURNs(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        try byURNs(asked, "showList") { $0.kind.transmission != nil }
    }

    /// The items for some URNs; unknown URNs are omitted.
    private func byURNs(
        _ asked: CatalogueAsked,
        _ root: String,
        _ isWanted: (CatalogueItem) -> Bool
    ) throws(CatalogueRefusal) -> ServerResponse {
        let urns = asked.list("urns")
        guard urns.count <= 50 else { throw .badRequest("At most 50 URNs can be asked for.") }
        var found: [Data] = []
        for text in urns {
            guard let urn = StockURN(text), case .item(let item) = urn.subject, isWanted(item), stock.has(item)
            else { continue }
            found.append(stock.json(item, urn.unit))
        }
        return .list(root, found)
    }

    /// The items for some identifiers; an error when all are unknown.
    func byIds(
        _ asked: CatalogueAsked,
        _ kinds: [CatalogueKind],
        _ root: String
    ) throws(CatalogueRefusal) -> ServerResponse {
        let items = asked.list("ids").compactMap { CatalogueItem(uid: $0, of: kinds) }.filter(stock.has)
        guard !items.isEmpty else { throw .notFound("There is nothing with these identifiers.") }
        return .list(root, items.map { stock.json($0, asked.unit) })
    }

    // MARK: - Popularity

    func count(_ asked: CatalogueAsked, _ kinds: [CatalogueKind]? = nil) throws(CatalogueRefusal) -> ServerResponse {
        let unit: String
        let item: CatalogueItem
        if let kinds {
            (unit, item) = (asked.unit, try self.item(asked.values[0], kinds))
        } else {
            (unit, item) = try mediaOf(asked.values[0])
        }
        let parts = asked.request.path.split(separator: "/").suffix(2).joined(separator: "/").dropJSON
        let key: String
        switch parts {
        case _ where parts.hasSuffix("/clicked"): key = "srgView"
        case _ where parts.hasSuffix("/liked"): key = "srgLike"
        case "shared/facebook": key = "fbShare"
        case "shared/twitter": key = "twitterShare"
        case "shared/google": key = "googleShare"
        case "shared/whatsapp": key = "whatsAppShare"
        default: throw .notFound("There is no such statistic.")
        }
        guard asked.request.text.first == "{" else { throw .badRequest("The body is no JSON object.") }
        return .document(
            """
            {"id":"\(item.uid)","urn":"\(item.urn(unit))","vendor":"\(unit.uppercased())",\
            "mediaType":"\(item.kind.mediaWord.uppercased())",\
            "socialCountList":[{"key":"\(key)","value":\(counted(item.urn(unit) + key))}]}
            """
        )
    }

    func countShow(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let (unit, show) = try showOf(asked.values[0])
        return .document(
            """
            {"id":"\(show.uid)","urn":"\(show.urn(unit))","vendor":"\(unit.uppercased())",\
            "transmission":"\((show.kind.transmission ?? "tv").uppercased())",\
            "searchResultClicked":\(counted(show.urn(unit)))}
            """
        )
    }

    private func counted(_ key: String) -> Int {
        statistics.withLock { statistics in
            if statistics[key] == nil, statistics.count == Self.statisticLimit { statistics.removeAll() }
            statistics[key, default: 1200] += 1
            return statistics[key] ?? 0
        }
    }

    // MARK: - Pages

    /// A page of a list, with the address of the next page.
    ///
    /// - Parameters:
    ///   - root: The name of the list.
    ///   - count: The number of items.
    ///   - asked: The request, with its `pageSize` and `next`.
    ///   - isUnlimited: Whether all items can be requested on one page.
    ///   - isSized: Whether the request can set a page size.
    ///   - lead: The members before the list.
    ///   - item: Makes an item.
    /// - Returns: The page.
    /// - Throws: A refusal for an invalid size.
    func page(
        _ root: String,
        _ count: Int,
        _ asked: CatalogueAsked,
        isUnlimited: Bool = false,
        isSized: Bool = true,
        lead: String = "",
        _ item: (Int) -> Data
    ) throws(CatalogueRefusal) -> ServerResponse {
        let request = asked.request
        let size = isSized ? try size(asked["pageSize"], isUnlimited: isUnlimited) : 10
        let token = asked["next"].flatMap { $0.hasPrefix("token-") ? Int($0.dropFirst(6)) : nil }
        let start = min(max(token ?? 0, 0), count)
        let end = start + min(size, count - start)
        var body = Data("{\(lead)\"\(root)\":".utf8)
        body.appendArray(start..<end, item)
        if end < count {
            var target = request.path + "?"
            for part in (request.query ?? "").split(separator: "&") where !part.hasPrefix("next=") {
                target += part + "&"
            }
            body.append(contentsOf: ",\"next\":\"http://\(request["Host"] ?? "")\(target)next=token-\(end)\"".utf8)
        }
        body.append(UInt8(ascii: "}"))
        return .item(body)
    }

    private func size(_ text: String?, isUnlimited: Bool) throws(CatalogueRefusal) -> Int {
        guard let text else { return min(10, maximumPageSize) }
        if text == "unlimited" {
            guard isUnlimited else { throw .badRequest("This service has no pages of unlimited size.") }
            return .max
        }
        guard let size = Int(text), size > 0 else { throw .badRequest("pageSize is 1 or more.") }
        return min(size, maximumPageSize)
    }
}

extension ServerResponse {
    /// A complete JSON document.
    static func item(_ bytes: Data) -> ServerResponse {
        .bytes(bytes, [ServerField("Content-Type", "application/json")])
    }

    /// A complete JSON document.
    static func document(_ json: String) -> ServerResponse { item(Data(json.utf8)) }

    /// An object with a list.
    static func list(_ root: String, _ items: [Data]) -> ServerResponse {
        var body = Data("{\"\(root)\":".utf8)
        body.appendArray(items.indices) { items[$0] }
        body.append(UInt8(ascii: "}"))
        return .item(body)
    }

    /// A refusal in the services' format.
    static func refusal(_ refusal: CatalogueRefusal, _ fields: [ServerField] = []) -> ServerResponse {
        let body = #"{"status":{"code":\#(refusal.status),"msg":"\#(refusal.message)"}}"#
        return .json(body, status: refusal.status, fields)
    }
}

extension Data {
    mutating func appendArray(_ range: Range<Int>, _ item: (Int) -> Data) {
        append(UInt8(ascii: "["))
        for index in range {
            if index > range.lowerBound { append(UInt8(ascii: ",")) }
            append(item(index))
        }
        append(UInt8(ascii: "]"))
    }
}

extension String {
    fileprivate var dropJSON: String { hasSuffix(".json") ? String(dropLast(5)) : self }

    /// The text as the contents of a JSON string.
    var jsonEscaped: String {
        unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20:
                result += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
