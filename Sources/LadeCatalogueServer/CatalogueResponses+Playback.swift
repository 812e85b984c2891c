#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting

// Playback: compositions, episodes, stream tokens and images.
extension CatalogueResponses {
    func composition(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let text = asked.values[0]
        // A segment's URN is its media's URN followed by a number.
        let parts = text.split(separator: "-", maxSplits: 1)
        let segment = parts.count == 2 ? Int(parts[1]) : nil
        if parts.count == 2, segment.map({ (1...3).contains($0) }) != true {
            throw .badRequest("That is the URN of no media.")
        }
        let (unit, item) = try mediaOf(String(parts.first ?? ""))
        return composition(of: item, segment, unit, onlyChapters: asked["onlyChapters"] == "true")
    }

    func composition(
        of item: CatalogueItem,
        _ segment: Int?,
        _ unit: String,
        onlyChapters: Bool
    ) -> ServerResponse {
        let urn = item.urn(unit)
        let isLive = item.kind == .livestream || item.kind == .radioLivestream || item.kind == .event
        let length = stock.facts(item).minutes * 60_000
        let parts = isLive || item.kind == .clip ? [] : (1...3).map { part(of: item, $0, length, unit) }
        let segments = parts.map { "{\($0.members),\($0.marks)}" }.joined(separator: ",")
        var chapters = [
            "{\(stock.mediaMembers(item, unit)),\(chapterMembers(item, unit, isLive))"
                + (onlyChapters || parts.isEmpty ? "}" : ",\"segmentList\":[\(segments)]}")
        ]
        if onlyChapters {
            chapters += parts.map { part in
                "{\(part.members),\(part.fullLengthMarks),\"resourceList\":[\(resources(part.uid, false, isLive: false))]}"
            }
        }
        let channel = item.kind.isAudio ? "" : "\"channel\":\(stock.channel(item.index % 4, unit, "tv")),"
        let segmentMember = segment.map { ",\"segmentUrn\":\"\(urn)-\($0)\"" } ?? ""
        let chapter = onlyChapters ? segment.map { "\(urn)-\($0)" } ?? urn : urn
        return .document(
            """
            {"chapterUrn":"\(chapter)"\(onlyChapters ? "" : segmentMember),\(channel)"episode":\(episode(item, unit)),\
            \(stock.showMember(item, unit)),"chapterList":[\(chapters.joined(separator: ","))],\
            "analyticsMetadata":{"media_segment":"\(item.uid)"},"analyticsData":{"ns_st_ci":"\(item.uid)"}}
            """
        )
    }

    func episodes(
        of show: CatalogueItem,
        _ unit: String,
        _ asked: CatalogueAsked
    ) throws(CatalogueRefusal) -> ServerResponse {
        let list = medias(of: show)
        let count = list.count(stock)
        var first = 0
        if let text = asked["maxPublishedDate"] {
            // The first generation of services specifies a month.
            let last = try day(text.utf8.count == 7 ? Self.lastDay(ofMonth: text) : text)
            while first < count, stock.facts(list.item(first)).day > last { first += 1 }
        }
        let json = String(decoding: stock.json(show, unit), as: UTF8.self)
        let channel = stock.channel(show.index % 4, unit, show.kind == .radioShow ? "radio" : "tv")
        return try page("episodeList", count - first, asked, lead: "\"channel\":\(channel),\"show\":\(json),") {
            let item = list.item(first + $0)
            let media = String(decoding: self.stock.json(item, unit), as: UTF8.self)
            let episode = self.episode(item, unit)
            return Data("\(episode.dropLast()),\"mediaList\":[\(media)]}".utf8)
        }
    }

    /// The token for a stream, in the form of an Akamai token.
    func token(_ request: ServerRequest) -> ServerResponse {
        guard let acl = request.queryItem("acl"), !acl.isEmpty else {
            return .refusal(.badRequest("acl names no stream."))
        }
        let hash = String(acl.utf8.reduce(stock.seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }, radix: 16)
        let name = acl.jsonEscaped
        let authorisation = "hdnts=exp=1700000030~acl=\(name)~hmac=\(hash)"
        return .document(#"{"token":{"window":30,"acl":"\#(name)","authparams":"\#(authorisation)"}}"#)
    }

    /// An image with the requested width, in the aspect ratio that the name of the original says.
    func image(_ request: ServerRequest) -> ServerResponse {
        guard let original = request.queryItem("imageUrl"), !original.isEmpty else {
            return .refusal(.badRequest("imageUrl is missing."))
        }
        guard let width = request.queryItem("width").flatMap({ Int($0) }), (1...1920).contains(width) else {
            return .refusal(.badRequest("width is 1 to 1920."))
        }
        return .bytes(
            CataloguePicture.png(width: width, height: Self.height(of: original, width: width)),
            [ServerField("Content-Type", "image/png"), ServerField("Cache-Control", "max-age=3600")]
        )
    }

    /// Posters are 2:3, images of podcasts are squares, all others are 16:9.
    private static func height(of original: String, width: Int) -> Int {
        if original.contains("-poster.") { return width * 3 / 2 }
        if original.contains("-podcast.") { return width }
        return max(1, width * 9 / 16)
    }

    // MARK: - Parts

    private static func lastDay(ofMonth month: String) -> String {
        for day in ["31", "30", "29", "28"] where CatalogueDay("\(month)-\(day)") != nil { return "\(month)-\(day)" }
        return month
    }

    private struct Part {
        var uid: String
        var members: String
        var marks: String
        var fullLengthMarks: String
    }

    private func part(of item: CatalogueItem, _ number: Int, _ length: Int, _ unit: String) -> Part {
        let (uid, start, end) = ("\(item.uid)-\(number)", length * (number - 1) / 3, length * number / 3)
        let blocked = number == 3 && item.index % 5 == 0 ? #","blockReason":"LEGAL""# : ""
        return Part(
            uid: uid,
            members: """
                "id":"\(uid)","urn":"\(item.urn(unit))-\(number)","vendor":"\(unit.uppercased())",\
                "mediaType":"\(item.kind.mediaWord.uppercased())","title":"Partie \(number)","type":"CLIP",\
                "imageUrl":"https://img.example.org/\(uid).jpg","duration":\(end - start),\
                "date":"\(stock.facts(item).day.at(19, 30))","fullLengthUrn":"\(item.urn(unit))",\
                "displayable":true,"playableAbroad":true,"eventData":"event-\(uid)"\(blocked)
                """,
            marks: "\"markIn\":\(start),\"markOut\":\(end)",
            fullLengthMarks: "\"fullLengthMarkIn\":\(start),\"fullLengthMarkOut\":\(end)"
        )
    }

    private func chapterMembers(_ item: CatalogueItem, _ unit: String, _ isLive: Bool) -> String {
        let uid = item.uid
        let resources = resources(uid, item.kind.isAudio, isLive: isLive)
        let common = #""displayable":true,"eventData":"event-\#(uid)","resourceList":[\#(resources)]"#
        guard !item.kind.isAudio else { return common }
        let subtitle = #""locale":"fr","language":"Français (SDH)","source":"EXTERNAL","type":"SDH""#
        return """
            \(common),"aspectRatio":"16:9","dvrReferenceDate":"\(stock.facts(item).day.at(19, 30))",\
            "spriteSheet":{"urn":"\(item.urn(unit))","url":"https://img.example.org/\(uid)-sprites.jpg",\
            "rows":3,"columns":20,"thumbnailWidth":160,"thumbnailHeight":90,"interval":2000},\
            "subtitleList":[{\(subtitle),"format":"VTT","url":"https://media.example.org/\(uid).vtt"},\
            {\(subtitle),"format":"TTML","url":"https://media.example.org/\(uid).ttml"}]
            """
    }

    private func resources(_ uid: String, _ isAudio: Bool, isLive: Bool) -> String {
        let live = #""live":\#(isLive),"dvr":\#(isLive)"#
        let audio =
            #"{"url":"https://media.example.org/\#(uid).mp3","quality":"HQ","presentation":"DEFAULT","#
            + #""streaming":"PROGRESSIVE","mimeType":"audio/mpeg","mediaContainer":"NONE","audioCodec":"MP3","#
            + #""videoCodec":"NONE",\#(live)}"#
        guard !isAudio || isLive else { return audio }
        let streams = ["SD", "HD"].map { quality in
            """
            {"url":"https://stream.example.org/\(uid)-\(quality.lowercased())/master.m3u8","quality":"\(quality)",\
            "presentation":"DEFAULT","streaming":"HLS","mimeType":"application/x-mpegURL","mediaContainer":"NONE",\
            "audioCodec":"AAC","videoCodec":"H264","tokenType":"\(quality == "HD" ? "AKAMAI" : "NONE")",\
            "streamOffset":\(isLive ? 20_000 : 0),\
            "audioTrackList":[{"locale":"fr","language":"Français","source":"HLS"}],\
            "subtitleInformationList":[{"locale":"fr","language":"Français (SDH)","source":"HLS","type":"SDH"}],\(live)}
            """
        }
        return (isAudio ? [streams[0], audio] : streams).joined(separator: ",")
    }

    private func episode(_ item: CatalogueItem, _ unit: String) -> String {
        let facts = stock.facts(item)
        return """
            {"id":"ep\(item.uid)","title":"\(facts.title)","publishedDate":"\(facts.day.at(19, 30))",\
            "imageUrl":"https://img.example.org/ep\(item.uid).jpg","fullLengthUrn":"\(item.urn(unit))",\
            "seasonNumber":1,"number":\(item.index + 1),"socialCount":{"key":"srgView","value":\(item.index % 1000)}}
            """
    }
}
