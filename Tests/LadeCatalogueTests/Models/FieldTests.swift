import Foundation
import Testing

@testable import LadeCatalogue

/// A model, and a response with a value for each of its keys.
struct ModelSample: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let json: String
    /// The place of the first fault when decoding is strict or not; nil when there is none.
    let fault: @Sendable (String, _ isStrict: Bool) throws -> String?
    let text: @Sendable (String) throws -> String
    let keys: @Sendable () throws -> ModelKeys
    /// The text of the model, or the place and the reason of the first fault.
    let outcome: @Sendable (String) throws -> String
    let foundationOutcome: @Sendable (String) throws -> String

    init<Model: CatalogueModel>(_ type: Model.Type, _ json: String) {
        testDescription = String(reflecting: type)
        self.json = json
        fault = { try faultPath(type, $0, strict: $1) }
        text = { try decoded(type, $0).description }
        keys = { try ModelKeys(of: type) }
        outcome = { json in
            do {
                return try decoded(type, json).description
            } catch let fault as CatalogueError {
                return fault.description
            }
        }
        foundationOutcome = { json in
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            do {
                return try decoder.decode(type, from: Data(json.utf8)).description
            } catch let error as DecodingError {
                return try #require(CatalogueError(error)).description
            }
        }
    }

    /// The value at a path of keys and indices of a response.
    static func part(_ json: String, _ path: String...) throws -> String {
        var value = try JSONSerialization.jsonObject(with: Data(json.utf8))
        for key in path {
            let next =
                (value as? [String: Any])?[key] ?? (value as? [Any]).flatMap { list in Int(key).map { list[$0] } }
            value = try #require(next)
        }
        return String(
            decoding: try JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed),
            as: UTF8.self
        )
    }
}

@Suite("Every field of every model", .timeLimit(.minutes(5)))
struct FieldTests {
    static let samples: [ModelSample] = {
        do {
            func part(_ json: String, _ a: String, _ b: String = "0") throws -> String {
                try ModelSample.part(json, a, b)
            }
            let media = try part(Samples.mediaList, "mediaList")
            let chapter = try part(Samples.mediaComposition, "chapterList")
            let show = try part(Samples.showList, "showList")
            let program = try part(Samples.programComposition, "programList")
            let module = try part(Samples.modules, "moduleConfigList")
            let section = try part(Samples.page, "sectionList")
            let song = try part(Samples.songList, "songList")
            let topic = try part(Samples.topicList, "topicList")
            let aggregations = try ModelSample.part(Samples.mediaSearch, "aggregations")
            return [
                ModelSample(Catalogue.Media.self, media),
                ModelSample(Catalogue.Chapter.self, chapter),
                ModelSample(Catalogue.Segment.self, try ModelSample.part(chapter, "segmentList", "1")),
                ModelSample(Catalogue.MediaComposition.self, Samples.mediaComposition),
                ModelSample(Catalogue.Resource.self, try ModelSample.part(chapter, "resourceList", "0")),
                ModelSample(Catalogue.Variant.self, try ModelSample.part(media, "audioTrackList", "1")),
                ModelSample(Catalogue.Subtitle.self, try ModelSample.part(chapter, "subtitleList", "0")),
                ModelSample(
                    Catalogue.Resource.DRM.self,
                    try ModelSample.part(chapter, "resourceList", "0", "drmList", "1")
                ),
                ModelSample(Catalogue.Chapter.SpriteSheet.self, try ModelSample.part(chapter, "spriteSheet")),
                ModelSample(Catalogue.FocalPoint.self, try ModelSample.part(media, "imageFocalPoint")),
                ModelSample(Catalogue.Channel.self, Samples.channel),
                ModelSample(Catalogue.Program.self, program),
                ModelSample(Catalogue.Program.CrewMember.self, try ModelSample.part(program, "creditList", "0")),
                ModelSample(
                    Catalogue.Program.Presenter.self,
                    #"{"name": "A", "url": "https://example.org", "imageUrl": "https://example.org/i"}"#
                ),
                ModelSample(Catalogue.ProgramComposition.self, Samples.programComposition),
                ModelSample(Catalogue.Show.self, show),
                ModelSample(
                    Catalogue.Show.BroadcastInformation.self,
                    try ModelSample.part(show, "broadcastInformation")
                ),
                ModelSample(Catalogue.ShowAndMedias.self, Samples.showAndMedias),
                ModelSample(Catalogue.Topic.self, topic),
                ModelSample(Catalogue.Topic.Subtopic.self, try ModelSample.part(topic, "subTopicList", "0")),
                ModelSample(Catalogue.Episode.self, try part(Samples.episodeComposition, "episodeList")),
                ModelSample(Catalogue.EpisodeComposition.self, Samples.episodeComposition),
                ModelSample(Catalogue.RelatedContent.self, try ModelSample.part(media, "relatedContentList", "0")),
                ModelSample(Catalogue.SocialCount.self, try ModelSample.part(media, "socialCountList", "0")),
                ModelSample(Catalogue.SocialCountOverview.self, Samples.socialCounts),
                ModelSample(Catalogue.ShowStatisticsOverview.self, Samples.showStatistics),
                ModelSample(Catalogue.Song.self, song),
                ModelSample(Catalogue.Song.Artist.self, try ModelSample.part(song, "artist")),
                ModelSample(Catalogue.Song.Album.self, try ModelSample.part(song, "cd")),
                ModelSample(Catalogue.Module.self, module),
                ModelSample(Catalogue.Module.Section.self, try ModelSample.part(module, "sectionList", "0")),
                ModelSample(Catalogue.EditorialPage.self, Samples.page),
                ModelSample(Catalogue.EditorialPage.Section.self, section),
                ModelSample(
                    Catalogue.EditorialPage.Representation.self,
                    try ModelSample.part(section, "representation")
                ),
                ModelSample(
                    Catalogue.EditorialPage.Representation.Properties.self,
                    try ModelSample.part(section, "representation", "properties")
                ),
                ModelSample(
                    Catalogue.EditorialPage.Link.self,
                    try ModelSample.part(section, "representation", "properties", "link")
                ),
                ModelSample(Catalogue.MediaAggregations.self, aggregations),
                ModelSample(
                    Catalogue.MediaAggregations.ValueBucket.self,
                    """
                    {"date": "2023-05-01", "downloadAvailable": true, "duration": 5, "mediaType": "VIDEO",
                    "playableAbroad": true, "quality": "HD", "subtitlesAvailable": true, "count": 3}
                    """
                ),
                ModelSample(Catalogue.MediaAggregations.ItemBucket.self, try part(aggregations, "showList")),
                ModelSample(Catalogue.SearchSuggestion.self, try part(Samples.mediaSearch, "suggestionList")),
                ModelSample(Catalogue.SearchHit.self, #"{"urn": "urn:srf:video:m1"}"#),
                ModelSample(
                    Catalogue.SearchResultMedia.self,
                    try part(Samples.seedMediaSearch, "searchResultListMedia")
                ),
                ModelSample(
                    Catalogue.ServiceMessage.self,
                    #"{"id": "1", "text": "A", "modifyDate": "2023-05-01T10:00:00Z", "url": "https://example.org"}"#
                ),
            ]
        } catch {
            Issue.record(error)
            return []
        }
    }()

    private func changed(_ object: [String: Any], _ key: String, _ value: Any?) throws -> String {
        var object = object
        object[key] = value
        return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    }

    @Test("a model survives each of its fields missing, null, of another type and unknown", arguments: samples)
    func fields(sample: ModelSample) throws {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(sample.json.utf8)) as? [String: Any])
        let whole = try sample.text(sample.json)
        #expect(!object.isEmpty)

        for key in object.keys.sorted() where key != "next" {
            // Missing, and null: never an error, and always another value, for the sample has no defaults.
            #expect(try sample.fault(changed(object, key, nil), false) == nil, "\(key) missing")
            #expect(try sample.fault(changed(object, key, NSNull()), false) == nil, "\(key) null")
            // Unknown: the same as without it.
            #expect(try sample.text(changed(object, "x-\(key)", object[key])) == whole, "\(key) unknown")
            // Of another type: an object where none belongs, and a text where an object or a list belongs.
            let isContainer = object[key] is [Any] || object[key] is [String: Any]
            let other: Any = isContainer ? "text" : ["x": 1]
            let path = try sample.fault(changed(object, key, other), false)
            // Whatever it is, a part that says whether something is hidden hides it.
            #expect(path == (key == "displayable" ? nil : "/\(key)"), "\(key) of another type")
            // A number as a text.
            let number = object[key] as? NSNumber
            if number != nil, key != "displayable" {
                #expect(try sample.fault(changed(object, key, "7"), false) == "/\(key)", "\(key) as a text")
            }
        }
        // A list with null elements has none of them.
        for (key, value) in object {
            guard let list = value as? [Any] else { continue }
            #expect(try sample.text(changed(object, key, [NSNull()] + list + [NSNull()])) == whole, "\(key) with null")
        }
        #expect(try sample.fault("{}", false) == nil)
        #expect(try sample.fault("[]", false) == "" && sample.fault("null", false) == "")
    }

    @Test(
        "a field that is missing, null, unknown or of any other type is a value, or an error at its path",
        arguments: samples
    )
    func anyValue(sample: ModelSample) throws {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(sample.json.utf8)) as? [String: Any])
        let keys = try sample.keys().all
        #expect(Set(object.keys).isSubset(of: keys + ["next"]), "the sample has keys that the model does not read")
        let values: [Any] = [
            NSNull(), true, 0, -7, 1.5, 1e300, "", "text", "2023-13-99", "http://[", [Any](), [NSNull()], ["text"],
            [7], [[String: Any]()], [[Any]()], [String: Any](), ["x": 1],
        ]
        for key in keys {
            #expect(try sample.fault(changed(object, key, nil), false) == nil, "\(key) missing")
            for value in values {
                guard let path = try sample.fault(changed(object, key, value), false) else { continue }
                #expect(path == "/\(key)" || path.hasPrefix("/\(key)/"), "\(key) \(value)")
                #expect(!(value is NSNull), "\(key) null")
            }
        }
    }

    @Test("in strict decoding each mandatory field that is missing or null is an error at its path", arguments: samples)
    func strictFields(sample: ModelSample) throws {
        let mandatory = try sample.keys().mandatory
        // The least that decodes: texts, and lists where a text is of the wrong type.
        var least: [String: Any] = [:]
        for key in mandatory { least[key] = "text" }
        for key in mandatory {
            let isText = try sample.fault(changed(least, key, [Any]()), true) == "/\(key)"
            least[key] = isText ? "text" : [Any]()
        }
        #expect(try sample.fault(changed(least, "x", nil), true) == nil)
        for key in mandatory {
            #expect(try sample.fault(changed(least, key, nil), true) == "/\(key)")
            #expect(try sample.fault(changed(least, key, NSNull()), true) == "/\(key)")
            // By default the service may omit it.
            #expect(try sample.fault(changed(least, key, nil), false) == nil)
        }
    }

    @Test("every model has a sample, and models have mandatory fields")
    func everyModel() throws {
        let folder = URL(filePath: #filePath).appending(path: "../../../../Sources/LadeCatalogue/Models").standardized
        var models: Set<String> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)) {
            // The types that a line is in, with their indentation.
            var types: [(name: String, indent: Int)] = []
            for line in try String(contentsOf: folder.appending(path: name), encoding: .utf8).split(separator: "\n") {
                let indent = line.prefix { $0 == " " }.count
                let code = line.dropFirst(indent)
                if let match = code.firstMatch(
                    of: /^(?:public |private )?(?:struct|enum|extension|protocol) ([\w.]+)[:< ]/
                ) {
                    types.append((String(match.1), indent))
                    if code.contains(": ModelPart") { types[types.count - 1].name = "" }
                } else if code == "}" {
                    types.removeAll { $0.indent >= indent }
                } else if code.hasPrefix("public mutating func read(_ members"), let last = types.last,
                    last.indent + 4 == indent, !types.contains(where: \.name.isEmpty)
                {
                    models.insert("LadeCatalogue." + types.map(\.name).joined(separator: "."))
                }
            }
        }
        let sampled = Self.samples.map(\.testDescription)

        #expect(models.count > 40 && models.subtracting(sampled).isEmpty)
        #expect(Set(sampled).count == sampled.count)
        #expect(try Self.samples.filter { try !$0.keys().mandatory.isEmpty }.count > 20)
        #expect(try ModelKeys(of: Catalogue.Song.self).mandatory == ["title"])
    }

    @Test("strict decoding names the place of what is missing")
    func strictPath() throws {
        #expect(
            try faultPath(
                Catalogue.Listing<Catalogue.Media>.self,
                #"{"mediaList": [{"title": "a", "id": "1"}]}"#,
                strict: true
            )
                == "/mediaList/0/urn"
        )
        #expect(try faultPath(Catalogue.MediaComposition.self, #"{"chapterUrn": "a"}"#, strict: true) == "/chapterList")
        #expect(
            try faultPath(
                Catalogue.MediaComposition.self,
                #"{"chapterUrn": "a", "chapterList": [{"title": "a", "id": "1"}]}"#,
                strict: true
            ) == "/chapterList/0/urn"
        )
        #expect(try faultPath(Catalogue.Listing<Catalogue.Media>.self, Samples.mediaList, strict: true) == nil)
        let error = #expect(throws: CatalogueError.self) {
            try decoded(Catalogue.Song.self, "{}") { $0.isStrict = true }
        }
        guard case .malformed(let path, _, let isMissing) = error else { throw try #require(error) }
        #expect(isMissing)
        #expect(path.description == "/title")
        #expect(error?.description == "/title: The value is mandatory.")
    }

    @Test("numbers take booleans and booleans numbers, and huge numbers are the largest there are")
    func numbers() throws {
        #expect(try decoded(Catalogue.Media.self, #"{"playableAbroad": 1}"#).isPlayableAbroad)
        #expect(try !decoded(Catalogue.Media.self, #"{"playableAbroad": 0}"#).isPlayableAbroad)
        #expect(try decoded(Catalogue.Media.self, #"{"duration": true}"#).duration == .milliseconds(1))
        #expect(try decoded(Catalogue.Media.self, #"{"duration": 1500.9}"#).duration == .milliseconds(1500))
        #expect(try decoded(Catalogue.Media.self, #"{"duration": 1e300}"#).duration == .milliseconds(Int.max))
        #expect(try decoded(Catalogue.Media.self, #"{"duration": -1e300}"#).duration == .milliseconds(Int.min))
        #expect(
            try decoded(Catalogue.Show.self, #"{"posterImageIsFallbackUrl": 1}"#).shouldFallbackToPosterImage == true
        )
        #expect(try decoded(Catalogue.Show.self, "{}").shouldFallbackToPosterImage == nil)
        #expect(try decoded(Catalogue.Show.self, #"{"numberOfEpisodes": true}"#).numberOfEpisodes == 1)
        #expect(
            try decoded(Catalogue.MediaAggregations.ValueBucket.self, #"{"count": -3, "duration": true}"#).count == 0
        )
    }

    @Test("a total is a number from 0, and an address of the next page a text; anything else is none")
    func envelope() throws {
        for value in ["-1", "null", #""7""#, "[]", "{}"] {
            let listing = try decoded(
                Catalogue.Listing<Catalogue.Media>.self,
                "{\"mediaList\": [{}], \"total\": \(value)}"
            )
            #expect(listing.total == nil && listing.items.count == 1, "\(value)")
        }
        #expect(try decoded(Catalogue.Listing<Catalogue.Media>.self, #"{"total": 0}"#).total == 0)
        for value in ["null", "7", "{}", "[]", "true"] {
            #expect(
                try decoded(Catalogue.Listing<Catalogue.Media>.self, "{\"next\": \(value)}").next == nil,
                "\(value)"
            )
        }
        #expect(try decoded(Catalogue.Listing<Catalogue.Media>.self, #"{"next": "a"}"#).next == "a")
    }

    @Test("an address that is empty is none, and a malformed one is an error at its path")
    func addresses() throws {
        #expect(
            try decoded(Catalogue.Media.self, #"{"imageUrl": "https://example.org/a b"}"#).image?.url.host()
                == "example.org"
        )
        for value in ["null", #""""#] {
            #expect(try decoded(Catalogue.Media.self, "{\"imageUrl\": \(value)}").image == nil)
            #expect(try decoded(Catalogue.Show.self, "{\"homepageUrl\": \(value)}").homepageURL == nil)
        }
        #expect(try faultPath(Catalogue.Media.self, #"{"imageUrl": "http://["}"#) == "/imageUrl")
        #expect(try faultPath(Catalogue.Media.self, #"{"imageUrl": 7}"#) == "/imageUrl")
        let listed = #"{"mediaList": [{}, {"show": {"homepageUrl": "http://["}}]}"#
        #expect(try faultPath(Catalogue.Listing<Catalogue.Media>.self, listed) == "/mediaList/1/show/homepageUrl")
        // Foundation's decoder has the same rule.
        let empty = try JSONDecoder().decode(Catalogue.Media.self, from: Data(#"{"imageUrl": ""}"#.utf8))
        #expect(empty.image == nil)
    }

    @Test("words that are missing, null, empty or unknown")
    func words() throws {
        func reason(_ value: String) throws -> Catalogue.BlockingReason {
            try decoded(Catalogue.Media.self, "{\"blockReason\": \(value)}").originalBlockingReason
        }
        #expect(try decoded(Catalogue.Media.self, "{}").originalBlockingReason == .none)
        #expect(try reason("null") == .unknown && reason(#""""#) == .unknown && reason(#""X""#) == .unknown)
        #expect(try decoded(Catalogue.Media.self, #"{"type": null}"#).contentType == .none)
        #expect(try decoded(Catalogue.Media.self, #"{"type": "X"}"#).contentType == .none)
        #expect(try decoded(Catalogue.Resource.self, #"{"mediaContainer": "NONE"}"#).mediaContainer == .unknown)
        #expect(try decoded(Catalogue.Show.self, #"{"transmission": "CABLE"}"#).transmission == .unknown)
        #expect(try faultPath(Catalogue.Media.self, #"{"vendor": 5}"#) == "/vendor")
        #expect(
            Catalogue.Resource.Quality.none < .sd && Catalogue.Resource.Quality.sd < .hd
                && Catalogue.Resource.Quality.hd < .hq
        )
    }

    @Test("every word of every enumeration decodes to its case")
    func everyWord() throws {
        func check<Word: CatalogueWord>(_ type: Word.Type) throws {
            for word in Word.allCases where word != .none {
                let list = try decoded([Word].self, "[\"\(word.rawValue)\"]")
                #expect(list == [word], "\(type) \(word)")
            }
            #expect(try decoded([Word].self, #"["a word of tomorrow"]"#) == [Word.fallback], "\(type)")
        }
        try check(Catalogue.Resource.AudioCodec.self)
        try check(Catalogue.BlockingReason.self)
        try check(Catalogue.EditorialPage.Link.Kind.self)
        try check(Catalogue.EditorialPage.Kind.self)
        try check(Catalogue.EditorialPage.Representation.Kind.self)
        try check(Catalogue.EditorialPage.Section.Kind.self)
        try check(Catalogue.Media.ContentType.self)
        try check(Catalogue.Resource.DRM.Kind.self)
        try check(Catalogue.Resource.Container.self)
        try check(Catalogue.MediaType.self)
        try check(Catalogue.Module.Kind.self)
        try check(Catalogue.Presentation.self)
        try check(Catalogue.Resource.Quality.self)
        try check(Catalogue.SocialCount.Kind.self)
        try check(Catalogue.Media.Source.self)
        try check(Catalogue.Resource.StreamingMethod.self)
        try check(Catalogue.Subtitle.Format.self)
        try check(Catalogue.Resource.TokenType.self)
        try check(Catalogue.Transmission.self)
        try check(Catalogue.Variant.Source.self)
        try check(Catalogue.Variant.Kind.self)
        try check(Catalogue.Vendor.self)
        try check(Catalogue.Resource.VideoCodec.self)
        try check(Catalogue.YouthProtectionColor.self)
    }

    @Test("what is not displayable is hidden")
    func hidden() throws {
        func isHidden(_ value: String) throws -> Bool {
            try decoded(Catalogue.Segment.self, "{\"displayable\": \(value)}").isHidden
        }

        #expect(try !decoded(Catalogue.Segment.self, "{}").isHidden)
        #expect(try !isHidden("true") && !isHidden("1"))
        #expect(try isHidden("false") && isHidden("0") && isHidden("null") && isHidden(#""yes""#) && isHidden("[]"))
    }

    @Test("colours have six digits, or three for six, and are black otherwise")
    func colors() {
        #expect(Catalogue.RGBColor(hex: "#1A2B3C") == Catalogue.RGBColor(red: 0x1A, green: 0x2B, blue: 0x3C))
        #expect(Catalogue.RGBColor(hex: "1a2b3c").hex == "1A2B3C" && Catalogue.RGBColor(hex: "#abc").hex == "AABBCC")
        #expect(Catalogue.RGBColor(hex: "FF1A2B3C").hex == "1A2B3C")
        for text in ["", "#", "red", "#12345G", "-12345", "+12345", "+1234567", "-0", "ffffffffffffffffffffff"] {
            #expect(Catalogue.RGBColor(hex: text) == .black, "\(text)")
        }
    }

    @Test("values without a key are equal when everything in them is")
    func equality() throws {
        var first = Catalogue.Media()
        var second = Catalogue.Media()
        #expect(first == second && first.hashValue == second.hashValue)
        second.title = "B"
        #expect(first != second)
        first.urn = "urn:rts:video:1"
        second.urn = "urn:rts:video:1"
        #expect(first == second && Set([first, second]).count == 1)
        second.urn = "urn:rts:video:2"
        #expect(first != second)
        var song = Catalogue.Song()
        song.title = "A"
        #expect(song != Catalogue.Song() && song == song)
        var program = Catalogue.Program()
        program.title = "A"
        let same = program
        #expect(program == same && program != Catalogue.Program())
    }

    @Test("a description has the properties that have a value, by name, with nested ones indented")
    func descriptions() throws {
        let text = try decoded(Catalogue.EditorialPage.Link.self, #"{"targetType": "MICRO_PAGE", "target": "page2"}"#)
            .description
        #expect(text == "Link {\n    target: page2\n    type: microPage\n}")
        let media = try decoded(Catalogue.Listing<Catalogue.Media>.self, Samples.mediaList).items[0].description
        #expect(media.contains("\n    show: Show {\n") && media.contains("\n        title: Promenades\n"))
        #expect(!Catalogue.Media().description.contains("lead") && !Catalogue.Media().description.contains("show"))
    }

    /// A model of a service of its own, as an application declares it.
    private struct Podcast: CatalogueModel {
        var title = ""
        var feed: URL?
        var kind: Catalogue.MediaType = .none
        var latest: Catalogue.Media?
        var hosts: [Catalogue.Program.Presenter] = []

        mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("title", &title)
            try members.read("feedUrl", &feed)
            try members.read("mediaType", &kind)
            try members.read("latestMedia", &latest)
            try members.read("hostList", &hosts)
        }
    }

    @Test("a model of an application follows the same rules, by every decoder")
    func ownModel() throws {
        let json = #"""
            {"title": "A", "feedUrl": "", "mediaType": "TAPE", "latestMedia": {"title": "B", "duration": true},
            "hostList": [null, {"name": "C"}]}
            """#
        let ours = try decoded(Podcast.self, json)
        let theirs = try JSONDecoder().decode(Podcast.self, from: Data(json.utf8))

        #expect(ours.title == "A" && ours.feed == nil && ours.kind == .none && ours.hosts.map(\.name) == ["C"])
        #expect(ours.latest?.title == "B" && ours.latest?.duration == .milliseconds(1))
        #expect(ours == theirs && ours.description == theirs.description)
        #expect(try faultPath(Podcast.self, #"{"latestMedia": {"show": {"title": 1}}}"#) == "/latestMedia/show/title")
        #expect(try faultPath(Podcast.self, #"{"title": ""}"#, strict: true) == "/hostList")
        let listed = #"{"title": "", "hostList": [{"name": ""}, {}]}"#
        #expect(try faultPath(Podcast.self, listed, strict: true) == "/hostList/1/name")
    }

    @Test("a part of the document that is not a text has the path of its place")
    func invalidText() throws {
        let error = #expect(throws: DecodingError.self) {
            try decoded(Catalogue.Listing<Catalogue.Media>.self, #"{"mediaList": [{}, {"show": {"title": "\ud800"}}]}"#)
        }
        guard case .dataCorrupted(let context) = error else { return }
        #expect("\(try #require(context.underlyingError))".hasSuffix("in /mediaList/1/show/title"))
    }

    @Test("Foundation's decoder gives the same values, and errors at the same paths", arguments: samples)
    func foundationFields(sample: ModelSample) throws {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(sample.json.utf8)) as? [String: Any])
        let values: [Any?] = [nil, NSNull(), true, 1.5, "text", [7], [NSNull()], ["x": 1]]
        for key in try sample.keys().all {
            for value in values {
                let json = try changed(object, key, value)
                #expect(try sample.outcome(json) == sample.foundationOutcome(json), "\(key) \(value ?? "missing")")
            }
        }
    }

    @Test("models decode by Foundation's decoder, too")
    func foundation() throws {
        let ours = try decoded(Catalogue.Listing<Catalogue.Media>.self, Samples.mediaList)
        let theirs = try JSONDecoder().decode(
            Catalogue.Listing<Catalogue.Media>.self,
            from: Data(Samples.mediaList.utf8)
        )
        let composition = try JSONDecoder().decode(
            Catalogue.MediaComposition.self,
            from: Data(Samples.mediaComposition.utf8)
        )

        #expect(ours.items.map(\.description) == theirs.items.map(\.description) && ours.next == theirs.next)
        #expect(
            try composition.description
                == decoded(Catalogue.MediaComposition.self, Samples.mediaComposition).description
        )
    }
}
