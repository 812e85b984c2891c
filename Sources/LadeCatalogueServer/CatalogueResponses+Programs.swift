#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting

// Channels, programs, songs, topics and modules.
extension CatalogueResponses {
    func channels(_ asked: CatalogueAsked, _ transmission: String) -> ServerResponse {
        .list("channelList", (0..<4).map { Data(stock.channel($0, asked.unit, transmission).utf8) })
    }

    func channel(_ asked: CatalogueAsked, _ transmission: String) throws(CatalogueRefusal) -> ServerResponse {
        let index = try channelIndex(asked.values[0], transmission)
        let now = CatalogueDay.newest.number * 24 + 20
        let more = ",\"now\":\(program(now, index, asked.unit)),\"next\":\(program(now + 1, index, asked.unit))"
        return .document(stock.channel(index, asked.unit, transmission, more: more))
    }

    func programs(_ asked: CatalogueAsked, _ transmission: String) throws(CatalogueRefusal) -> ServerResponse {
        let index = try channelIndex(asked.values[0], transmission)
        let latest = CatalogueDay.newest.number * 24 + 20
        let last = try asked["maxStartTime"].map { text throws(CatalogueRefusal) in try hour(text).floor } ?? latest
        // A program that ends exactly at this time is included.
        let first =
            try asked["minEndTime"].map { text throws(CatalogueRefusal) in try hour(text).ceiling - 1 } ?? last - 47
        // At most two weeks of programs, newest first.
        let count = min(max(0, last - first + 1), 336)
        let lead = "\"channel\":\(stock.channel(index, asked.unit, transmission)),"
        return try page("programList", count, asked, lead: lead) {
            Data(self.program(last - $0, index, asked.unit).utf8)
        }
    }

    func guide(_ asked: CatalogueAsked, isThirdParty: Bool) throws(CatalogueRefusal) -> ServerResponse {
        let day = try day(asked.values[0])
        let channels: [Int]
        if let uid = asked["channelId"] {
            channels = [try channelIndex(uid, "tv")]
        } else {
            channels = Array(0..<4)
        }
        let isReduced = asked["reduced"] == "true"
        return .list(
            "programGuide",
            channels.map { channel in
                // A television day begins at 05:00.
                let programs = (5..<29).map { hour in
                    program(day.number * 24 + hour, channel, asked.unit, isReduced: isReduced)
                }
                let unit = isThirdParty ? ["tvo", "ca"][channel % 2] : asked.unit
                let head = stock.channel(channel, unit, "tv")
                return Data("{\"channel\":\(head),\"programList\":[\(programs.joined(separator: ","))]}".utf8)
            }
        )
    }

    func songs(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let channel = try channelIndex(asked.values[0], "radio")
        if asked["onlyCurrentSong"] == "true" { return .list("songList", [song(0, channel)]) }
        return try page("songList", 120, asked, isUnlimited: true) { self.song($0, channel) }
    }

    func topics(_ asked: CatalogueAsked, _ transmission: String) -> ServerResponse {
        .list(
            "topicList",
            StockWords.themes.indices.map { index in
                let topic = stock.topic(index, asked.unit, transmission, StockWords.themes[index])
                guard index % 2 == 0 else { return Data(topic.utf8) }
                let title = "\(StockWords.themes[index]) d'ici"
                let subtopic = stock.topic(70 + index, asked.unit, transmission, title)
                return Data("\(topic.dropLast()),\"subTopicList\":[\(subtopic)]}".utf8)
            }
        )
    }

    func modules(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        guard asked.values[0] == "event" else { throw .notFound("The only type of modules is event.") }
        return modules(asked, "moduleConfigList")
    }

    /// The events, in a list with a key.
    func modules(_ asked: CatalogueAsked, _ root: String) -> ServerResponse {
        let (unit, vendor) = (asked.unit, asked.unit.uppercased())
        return .list(
            root,
            (1...CatalogueStock.modules).map { number in
                let start = CatalogueDay(number: CatalogueDay.newest.number - 20 * number)
                let end = CatalogueDay(number: start.number + 14)
                let dates = #""publishStartTimestamp":"\#(start.at(0))","publishEndTimestamp":"\#(end.at(0))""#
                return Data(
                    """
                    {"id":"mod\(number)","urn":"urn:\(unit):module:event:mod\(number)","vendor":"\(vendor)",\
                    "moduleConfigType":"EVENT","title":"Festival \(number)","lead":"Dix jours",\
                    "description":"Concerts et rencontres",\(dates),"seoName":"festival-\(number)",\
                    "bgImageUrl":"https://img.example.org/mod\(number)-bg.jpg",\
                    "logoImageUrl":"https://img.example.org/mod\(number)-logo.png",\
                    "keyVisualImageUrl":"https://img.example.org/mod\(number)-kv.jpg",\
                    "headerBackgroundColor":"#1A2B3C","headerTitleColor":"FFFFFF","bgColor":"#000000",\
                    "textColor":"#FFFFFF","linkColor":"#FF0000","microSiteTitle":"Le site",\
                    "microSiteUrl":"https://example.org/festival-\(number)",\
                    "sectionList":[{"id":"sec1","title":"Ouverture",\(dates)}]}
                    """.utf8
                )
            }
        )
    }

    // MARK: - Parts

    /// The hours since 1970 of a local time `yyyy-MM-ddTHH:mm:ss`, rounded down and rounded up.
    private func hour(_ text: String) throws(CatalogueRefusal) -> (floor: Int, ceiling: Int) {
        let parts = text.split(separator: "T", omittingEmptySubsequences: false)
        let clock = (parts.count == 2 ? parts[1] : "").split(separator: ":").map { Int($0) ?? -1 }
        guard let day = CatalogueDay(parts[0]), clock.count == 3, (0...23).contains(clock[0]),
            clock[1...].allSatisfy({ (0...59).contains($0) })
        else { throw .badRequest("That is no time: write yyyy-MM-ddTHH:mm:ss.") }
        let floor = day.number * 24 + clock[0]
        return (floor, clock[1] + clock[2] > 0 ? floor + 1 : floor)
    }

    /// The program in an hour since 1970.
    private func program(_ hour: Int, _ channel: Int, _ unit: String, isReduced: Bool = false) -> String {
        var random = SeededBits(stock.seed ^ UInt64(bitPattern: Int64(hour)) &* 0x9E37_79B9 ^ UInt64(channel) << 56)
        let dayNumber = hour >= 0 ? hour / 24 : (hour - 23) / 24
        let day = CatalogueDay(number: dayNumber)
        let clock = hour - dayNumber * 24
        let end = clock == 23 ? CatalogueDay(number: dayNumber + 1).at(0) : day.at(clock + 1)
        let title = "\(random.pick(StockWords.kinds)) : \(random.pick(StockWords.places))"
        let times = #""title":"\#(title)","startTime":"\#(day.at(clock))","endTime":"\#(end)""#
        guard !isReduced else { return "{\(times)}" }
        let count = max(1, stock.count(.video))
        let media = CatalogueItem(.video, random.next(below: count))
        let subprogram = """
            {"title":"Météo","startTime":"\(day.at(clock, 30))","endTime":"\(day.at(clock, 35))",\
            "imageUrl":"https://img.example.org/fallback.svg","imageIsFallbackUrl":true}
            """
        return """
            {\(times),"subtitle":"\(random.pick(StockWords.times))","lead":"En direct",\
            "imageUrl":"https://img.example.org/p\(hour).jpg","imageIsFallbackUrl":false,\
            "url":"https://example.org/p\(hour)","mediaUrn":"\(media.urn(unit))","genre":"Magazine",\
            "seasonNumber":\(random.next(below: 9) + 1),"episodeNumber":\(random.next(below: 20) + 1),\
            "episodesTotal":20,"productionYear":2023,"productionCountry":"CH","youthProtectionColor":"YELLOW",\
            "creditList":[{"realName":"Ada Exemple","role":"Présentation","name":"L'hôtesse"}],\
            "isRepetition":\(random.next(below: 2) == 0),"subtitlesAvailable":true,"hasTwoLanguages":false,\
            "hasSignLanguage":\(random.next(below: 4) == 0),"hasVisualDescription":false,"isDolbyDigital":true,\
            "subProgramList":[\(subprogram)]}
            """
    }

    private func song(_ index: Int, _ channel: Int) -> Data {
        var random = SeededBits(stock.seed ^ 0x50_4E47 ^ UInt64(index * 4 + channel))
        let place = random.pick(StockWords.places)
        let minute = 1200 - index * 5
        return Data(
            """
            {"title":"Nocturne pour \(place)",\
            "date":"\(CatalogueDay.newest.at(minute / 60, minute % 60))","duration":\(180_000 + random.next(below: 90) * 1000),\
            "isPlayingNow":\(index == 0),"artist":{"name":"Trio Invention \(random.next(below: 9) + 1)",\
            "url":"https://example.org/trio"},"cd":{"name":"Sérénades \(random.next(below: 30) + 1)",\
            "coverUrlSmall":"https://img.example.org/cd-s.jpg","coverUrlLarge":"https://img.example.org/cd-l.jpg"}}
            """.utf8
        )
    }
}
