import Foundation
import LadeTesting
import Testing

@testable import LadeCatalogue

/// A call of a service, and the request it is to make.
struct ServiceRow: Sendable {
    let call: @Sendable (Catalogue, Catalogue.BusinessUnit) throws -> Request
    /// The path below `integrationlayer/`, with `{bu}` for the business unit, and the query items of the call.
    let target: String
    /// Whether the size of pages is sent.
    let isSized: Bool
    let units: [Catalogue.BusinessUnit]

    init(
        _ target: String,
        _ units: String,
        isSized: Bool = false,
        _ call: @escaping @Sendable (Catalogue, Catalogue.BusinessUnit) throws -> Request
    ) {
        self.call = call
        self.target = target
        self.isSized = isSized
        self.units = units.split(separator: " ").compactMap { Catalogue.BusinessUnit(rawValue: String($0)) }
    }
}

// The rows of the tables of services, by their numbers.
extension ServiceRow {
    private static let urn = "urn:rts:video:1"
    private static let day = Catalogue.Day(day: 1, month: 5, year: 2023)
    private static let from = Date(timeIntervalSince1970: 1_682_964_000)
    private static let to = Date(timeIntervalSince1970: 1_682_967_600)
    private static let part: Catalogue.Segment = {
        var part = Catalogue.Segment()
        part.uid = "1"
        part.mediaType = .video
        return part
    }()

    static let all: [Case<ServiceRow>] = [
        Case("§4 1", ServiceRow("2.0/{bu}/channelList/tv", "srf rts rsi rtr") { try $0.tvChannels($1).request }),
        Case(
            "§4 2",
            ServiceRow("2.0/{bu}/channel/c%201@x/tv/nowAndNext", "srf rts rsi rtr") {
                try $0.tvChannel($1, uid: "c 1@x").request
            }
        ),
        Case(
            "§4 3",
            ServiceRow(
                "2.0/{bu}/programListComposition/tv/byChannel/c1?livestreamId=l&minEndTime=2023-05-01T20:00:00&maxStartTime=2023-05-01T21:00:00",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.tvLatestPrograms($1, uid: "c1", livestreamUid: "l", from: from, to: to).endpoint.request }
        ),
        Case(
            "§4 3 without range",
            ServiceRow("2.0/{bu}/programListComposition/tv/byChannel/c1", "srf rts rsi rtr", isSized: true) {
                try $0.tvLatestPrograms($1, uid: "c1").endpoint.request
            }
        ),
        Case(
            "§4 4",
            ServiceRow("2.0/{bu}/programGuide/tv/byDate/2023-05-01?channelId=c1&reduced=true", "srf rts rsi rtr") {
                try $0.tvPrograms($1, day: day, channelUid: "c1", isReduced: true).request
            }
        ),
        Case(
            "§4 4 third party",
            ServiceRow("2.0/{bu}/programGuideNonSrg/tv/byDate/2023-05-01", "srf rtr") {
                try $0.tvThirdPartyPrograms($1, day: day).request
            }
        ),
        Case(
            "§4 5",
            ServiceRow("2.0/{bu}/mediaList/video/livestreams", "srf rts rsi rtr") { try $0.tvLivestreams($1).request }
        ),
        Case(
            "§4 6",
            ServiceRow(
                "2.0/{bu}/mediaList/video/scheduledLivestreams?signLanguageOnly=true&eventType=sport",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.tvScheduledLivestreams($1, signLanguageOnly: true, eventType: .sport).endpoint.request }
        ),
        Case(
            "§4 6 without filter",
            ServiceRow("2.0/{bu}/mediaList/video/scheduledLivestreams", "srf rts rsi rtr", isSized: true) {
                try $0.tvScheduledLivestreams($1).endpoint.request
            }
        ),
        Case(
            "§4 6 news",
            ServiceRow("2.0/{bu}/mediaList/video/scheduledLivestreams?eventType=news", "srf rts rsi rtr", isSized: true)
            { try $0.tvScheduledLivestreams($1, eventType: .news).endpoint.request }
        ),
        Case(
            "§4 7",
            ServiceRow("2.0/{bu}/mediaList/video/editorial", "srf rts rsi rtr swi", isSized: true) {
                try $0.tvEditorialMedias($1).endpoint.request
            }
        ),
        Case("§4 8", ServiceRow("2.0/{bu}/mediaList/video/heroStage", "") { try $0.tvHeroStageMedias($1).request }),
        Case(
            "§4 9",
            ServiceRow("2.0/{bu}/mediaList/video/latestEpisodes", "srf rts rsi rtr swi", isSized: true) {
                try $0.tvLatestMedias($1).endpoint.request
            }
        ),
        Case(
            "§4 10",
            ServiceRow("2.0/{bu}/mediaList/video/mostClicked", "srf rts rsi rtr swi", isSized: true) {
                try $0.tvMostPopularMedias($1).endpoint.request
            }
        ),
        Case(
            "§4 11",
            ServiceRow("2.0/{bu}/mediaList/video/soonExpiring", "srf rts rsi", isSized: true) {
                try $0.tvSoonExpiringMedias($1).endpoint.request
            }
        ),
        Case(
            "§4 12",
            ServiceRow(
                "2.0/{bu}/mediaList/video/trending?pageSize=50&maxCountEditorPicks=3&onlyEpisodes=true",
                "srf rts rsi rtr swi"
            ) { try $0.tvTrendingMedias($1, limit: 50, editorialLimit: 3, episodesOnly: true).request }
        ),
        Case(
            "§4 12 without limit",
            ServiceRow("2.0/{bu}/mediaList/video/trending", "srf rts rsi rtr swi") {
                try $0.tvTrendingMedias($1).request
            }
        ),
        Case(
            "§4 13",
            ServiceRow("2.0/{bu}/mediaList/video/latestEpisodes", "srf rts rsi rtr swi", isSized: true) {
                try $0.tvLatestEpisodes($1).endpoint.request
            }
        ),
        Case(
            "§4 14",
            ServiceRow("2.0/{bu}/mediaList/video/latestEpisodes/webFirst", "rts", isSized: true) {
                try $0.tvLatestWebFirstEpisodes($1).endpoint.request
            }
        ),
        Case(
            "§4 15",
            ServiceRow("2.0/{bu}/mediaList/video/episodesByDate/2023-05-01", "srf rts rsi rtr", isSized: true) {
                try $0.tvEpisodes($1, day: day).endpoint.request
            }
        ),
        Case(
            "§4 15 today",
            ServiceRow("2.0/{bu}/mediaList/video/episodesByDate/2023-11-14", "srf rts rsi rtr", isSized: true) {
                try $0.tvEpisodes($1).endpoint.request
            }
        ),
        Case("§4 16", ServiceRow("2.0/{bu}/topicList/tv", "srf rts rsi rtr swi") { try $0.tvTopics($1).request }),
        Case(
            "§4 17",
            ServiceRow("2.0/{bu}/showList/tv/alphabetical", "srf rts rsi rtr swi", isSized: true) {
                try $0.tvShows($1).endpoint.request
            }
        ),
        Case(
            "§4 18",
            ServiceRow("2.0/{bu}/searchResultShowList/tv?q=a&b=c#d%e f+g", "srf rts rsi rtr swi", isSized: true) {
                try $0.tvShowSearch($1, matching: "a&b=c#d%e f+g").endpoint.request
            }
        ),
        Case(
            "§4 19",
            ServiceRow("2.0/{bu}/showList/tv/byTopic/t/mostClicked", "srf rts rsi rtr", isSized: true) {
                try $0.tvMostPopularShows($1, topicUid: "t").endpoint.request
            }
        ),
        Case("§4 20", ServiceRow("2.0/{bu}/channelList/radio", "srf rts rsi rtr") { try $0.radioChannels($1).request }),
        Case(
            "§4 21",
            ServiceRow("2.0/{bu}/channel/c1/radio/nowAndNext", "srf rts rsi rtr") {
                try $0.radioChannel($1, uid: "c1").request
            }
        ),
        Case(
            "§4 21 with livestream",
            ServiceRow("2.0/{bu}/channel/c1/radio/nowAndNext?livestreamId=l", "srf rts rsi rtr") {
                try $0.radioChannel($1, uid: "c1", livestreamUid: "l").request
            }
        ),
        Case(
            "§4 22",
            ServiceRow(
                "2.0/{bu}/programListComposition/radio/byChannel/c1?minEndTime=2023-05-01T20:00:00",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.radioLatestPrograms($1, uid: "c1", from: from).endpoint.request }
        ),
        Case(
            "§4 23",
            ServiceRow("2.0/{bu}/mediaList/audio/livestreamsByChannel/c1", "srf rts rsi rtr") {
                try $0.radioLivestreams($1, channelUid: "c1").request
            }
        ),
        Case(
            "§4 24",
            ServiceRow("2.0/{bu}/mediaList/audio/livestreams", "srf rts rsi rtr") {
                try $0.radioLivestreamsOfProviders($1).request
            }
        ),
        Case(
            "§4 24 all",
            ServiceRow("2.0/{bu}/mediaList/audio/livestreams?includeThirdPartyStreams=true", "srf rts rsi rtr") {
                try $0.radioLivestreamsOfProviders($1, of: .all).request
            }
        ),
        Case(
            "§4 24 satellite",
            ServiceRow("2.0/{bu}/mediaList/audio/livestreams?onlyThirdPartyContentProvider=ssatr", "srf rts rsi rtr") {
                try $0.radioLivestreamsOfProviders($1, of: .swissSatelliteRadio).request
            }
        ),
        Case(
            "§4 25",
            ServiceRow("2.0/{bu}/mediaList/audio/latestByChannel/c1", "srf rts rsi rtr", isSized: true) {
                try $0.radioLatestMedias($1, channelUid: "c1").endpoint.request
            }
        ),
        Case(
            "§4 26",
            ServiceRow("2.0/{bu}/mediaList/audio/mostClickedByChannel/c1", "srf rts rsi rtr", isSized: true) {
                try $0.radioMostPopularMedias($1, channelUid: "c1").endpoint.request
            }
        ),
        Case(
            "§4 27",
            ServiceRow("2.0/{bu}/mediaList/audio/latestEpisodesByChannel/c1", "srf rts rsi rtr", isSized: true) {
                try $0.radioLatestEpisodes($1, channelUid: "c1").endpoint.request
            }
        ),
        Case(
            "§4 28",
            ServiceRow(
                "2.0/{bu}/mediaList/audio/episodesByDateAndChannel/2023-05-01/c1",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.radioEpisodes($1, day: day, channelUid: "c1").endpoint.request }
        ),
        Case(
            "§4 29",
            ServiceRow("2.0/{bu}/mediaList/video/latestByChannel/c1", "rts", isSized: true) {
                try $0.radioLatestVideos($1, channelUid: "c1").endpoint.request
            }
        ),
        Case("§4 30", ServiceRow("2.0/{bu}/topicList/radio", "srf rts rsi rtr swi") { try $0.radioTopics($1).request }),
        Case(
            "§4 31",
            ServiceRow("2.0/{bu}/showList/radio/alphabeticalByChannel/c1", "srf rts rsi rtr", isSized: true) {
                try $0.radioShows($1, channelUid: "c1").endpoint.request
            }
        ),
        Case(
            "§4 32",
            ServiceRow("2.0/{bu}/showList/radio/alphabetical", "srf rts rsi rtr", isSized: true) {
                try $0.allRadioShows($1).endpoint.request
            }
        ),
        Case(
            "§4 33",
            ServiceRow("2.0/{bu}/searchResultShowList/radio?q=x", "srf rts rsi rtr", isSized: true) {
                try $0.radioShowSearch($1, matching: "x").endpoint.request
            }
        ),
        Case(
            "§4 34",
            ServiceRow("2.0/{bu}/songList/radio/byChannel/c1", "srf rts rsi rtr", isSized: true) {
                try $0.radioSongs($1, channelUid: "c1").endpoint.request
            }
        ),
        Case(
            "§4 35",
            ServiceRow("2.0/{bu}/songList/radio/byChannel/c1?onlyCurrentSong=true", "srf rts rsi rtr") {
                try $0.radioCurrentSong($1, channelUid: "c1").request
            }
        ),
        Case(
            "§4 36",
            ServiceRow(
                "2.0/{bu}/mediaList/video/scheduledLivestreams/livecenter?onlyEventsWithResult=true",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.liveCenterVideos($1).endpoint.request }
        ),
        Case(
            "§4 36 episodes",
            ServiceRow(
                "2.0/{bu}/mediaList/video/scheduledLivestreams/livecenter?onlyEventsWithResult=false&types=episode",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.liveCenterVideos($1, filter: .episode, onlyWithResult: false).endpoint.request }
        ),
        Case(
            "§4 36 livestreams",
            ServiceRow(
                "2.0/{bu}/mediaList/video/scheduledLivestreams/livecenter?onlyEventsWithResult=true&types=scheduled_livestream",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.liveCenterVideos($1, filter: .scheduledLivestream).endpoint.request }
        ),
        Case(
            "§4 37",
            ServiceRow("2.0/{bu}/searchResultMediaList?q=berg", "srf rts rsi rtr swi", isSized: true) {
                try $0.mediaSearch($1, matching: "berg").endpoint.request
            }
        ),
        Case(
            "§4 37 with settings",
            ServiceRow(
                "2.0/{bu}/searchResultMediaList?q=berg&includeAggregations=true&includeSuggestions=false&sortBy=default&sortDir=desc",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.mediaSearch($1, matching: "berg", settings: Catalogue.MediaSearchSettings()).endpoint.request }
        ),
        Case(
            "§4 37 by settings",
            ServiceRow(
                "2.0/{bu}/searchResultMediaList?includeAggregations=true&includeSuggestions=false&sortBy=default&sortDir=desc",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.mediaSearch($1, matching: nil, settings: Catalogue.MediaSearchSettings()).endpoint.request }
        ),
        Case(
            "§4 38",
            ServiceRow("2.0/{bu}/searchResultShowList?q=x&mediaType=audio", "srf rts rsi rtr swi", isSized: true) {
                try $0.showSearch($1, matching: "x", mediaType: .audio).endpoint.request
            }
        ),
        Case(
            "§4 38 any",
            ServiceRow("2.0/{bu}/searchResultShowList?q=x", "srf rts rsi rtr swi", isSized: true) {
                try $0.showSearch($1, matching: "x").endpoint.request
            }
        ),
        Case(
            "§4 39 none",
            ServiceRow("2.0/{bu}/searchResultShowList?q=x", "srf rts rsi rtr swi", isSized: true) {
                try $0.showSearch($1, matching: "x", transmission: .none).endpoint.request
            }
        ),
        Case(
            "§4 39 TV",
            ServiceRow("2.0/{bu}/searchResultShowList/tv?q=x", "srf rts rsi rtr swi", isSized: true) {
                try $0.showSearch($1, matching: "x", transmission: .tv).endpoint.request
            }
        ),
        Case(
            "§4 39 radio",
            ServiceRow("2.0/{bu}/searchResultShowList/radio?q=x", "srf rts rsi rtr", isSized: true) {
                try $0.showSearch($1, matching: "x", transmission: .radio).endpoint.request
            }
        ),
        Case(
            "§4 40",
            ServiceRow("2.0/{bu}/showList/mostClickedSearchResults", "") {
                try $0.mostSearchedShows($1, transmission: .none).request
            }
        ),
        Case(
            "§4 40 TV",
            ServiceRow("2.0/{bu}/showList/tv/mostClickedSearchResults", "") {
                try $0.mostSearchedShows($1, transmission: .tv).request
            }
        ),
        Case(
            "§4 40 radio",
            ServiceRow("2.0/{bu}/showList/radio/mostClickedSearchResults", "") {
                try $0.mostSearchedShows($1, transmission: .radio).request
            }
        ),
        Case(
            "§4 41",
            ServiceRow(
                "2.0/{bu}/mediaList/video/latestByTags?includes=a,b&excludes=c",
                "srf rts rsi rtr",
                isSized: true
            ) { try $0.videosWithTags($1, ["a", "b"], excluding: ["c"]).endpoint.request }
        ),
        Case(
            "§4 41 without tags",
            ServiceRow("2.0/{bu}/mediaList/video/latestByTags?includes=", "srf rts rsi rtr", isSized: true) {
                try $0.videosWithTags($1, []).endpoint.request
            }
        ),
        Case(
            "§4 41 no full length",
            ServiceRow(
                "2.0/{bu}/mediaList/video/latestByTags/excludeFullLength?includes=a",
                "srf rts rsi",
                isSized: true
            ) { try $0.videosWithTags($1, ["a"], excludesFullLength: true).endpoint.request }
        ),
        Case(
            "§4 42",
            ServiceRow("2.0/mediaList/recommended/byUrn/urn:rts:video:1", "srf rts rsi rtr swi ssatr", isSized: true) {
                catalogue,
                _ in try catalogue.recommendedMedias(urn: urn).endpoint.request
            }
        ),
        Case(
            "§4 42 user",
            ServiceRow(
                "2.0/mediaList/recommendedByUserId/byUrn/urn:rts:video:1/u",
                "srf rts rsi rtr swi ssatr",
                isSized: true
            ) { catalogue, _ in try catalogue.recommendedMediasForUser(urn: urn, userId: "u").endpoint.request }
        ),
        Case("§4 43", ServiceRow("2.0/{bu}/moduleConfigList/event", "swi") { try $0.modules($1).request }),
        Case(
            "§4 44",
            ServiceRow("2.0/mediaStatistic/byUrn/urn:rts:video:1/shared/whatsapp", "srf rts rsi rtr swi ssatr") {
                catalogue,
                _ in try catalogue.increaseSocialCount(.whatsApp, urn: urn, event: "e").request
            }
        ),
        Case(
            "§4 45",
            ServiceRow("2.0/showStatistic/byUrn/urn:rts:show:tv:1/searchResultClicked", "srf rts rsi rtr swi ssatr") {
                catalogue,
                _ in try catalogue.increaseSearchResultsViewCount(showURN: "urn:rts:show:tv:1").request
            }
        ),
        Case(
            "§4 46",
            ServiceRow("2.0/{bu}/page/p?isPublished=false&previewDate=2023-05-01T20:00:00", "srf rts rsi rtr swi ssatr")
            { try $0.page($1, uid: "p", isPublished: false, at: from).request }
        ),
        Case(
            "§4 46 published",
            ServiceRow("2.0/{bu}/page/p", "srf rts rsi rtr swi ssatr") { try $0.page($1, uid: "p").request }
        ),
        Case(
            "§4 47",
            ServiceRow("2.0/{bu}/page/landingPage/byProduct/PLAY_VIDEO", "srf rts rsi rtr swi ssatr") {
                try $0.landingPage($1, product: .playVideo).request
            }
        ),
        Case(
            "§4 47 by name",
            ServiceRow("2.0/{bu}/page/landingPage/byProduct/A_PRODUCT?isPublished=false", "srf rts rsi rtr swi ssatr") {
                try $0.landingPage($1, product: "A_PRODUCT", isPublished: false).request
            }
        ),
        Case(
            "§4 48",
            ServiceRow("2.0/{bu}/page/byTopicUrn/urn:rts:topic:tv:1", "srf rts rsi rtr swi ssatr") {
                try $0.topicPage($1, topicURN: "urn:rts:topic:tv:1").request
            }
        ),
        Case(
            "§4 49",
            ServiceRow("2.0/{bu}/page/NEWS_APP/showPage/urn:rts:show:tv:1", "srf rts rsi rtr swi ssatr") {
                try $0.showPage($1, showURN: "urn:rts:show:tv:1", product: .newsApp).request
            }
        ),
        Case(
            "§4 50",
            ServiceRow("2.0/{bu}/section/s?isPublished=false", "srf rts rsi rtr swi ssatr") {
                try $0.section($1, uid: "s", isPublished: false).request
            }
        ),
        Case(
            "§4 51",
            ServiceRow(
                "2.0/{bu}/section/mediaSection/s?userId=u&isPublished=false&previewDate=2023-05-01T20:00:00",
                "srf rts rsi rtr swi ssatr"
            ) { try $0.sectionMedias($1, uid: "s", userId: "u", isPublished: false, at: from).endpoint.request }
        ),
        Case(
            "§4 52",
            ServiceRow("2.0/{bu}/section/showSection/s", "srf rts rsi rtr swi ssatr") {
                try $0.sectionShows($1, uid: "s").endpoint.request
            }
        ),
        Case(
            "§4 53",
            ServiceRow("2.0/{bu}/section/mediaSectionWithShow/s", "srf rts rsi rtr swi ssatr") {
                try $0.sectionShowAndMedias($1, uid: "s").endpoint.request
            }
        ),
        Case(
            "§4 54",
            ServiceRow("2.0/media/byUrn/urn:rts:video:1", "srf rts rsi rtr swi ssatr") { catalogue, _ in
                try catalogue.media(urn: urn).request
            }
        ),
        Case(
            "§4 55",
            ServiceRow("2.0/mediaList/byUrns?urns=urn:rts:video:1,urn:srf:audio:2", "srf rts rsi rtr swi ssatr") {
                catalogue,
                _ in try catalogue.medias(urns: [urn, "urn:srf:audio:2"]).endpoint.request
            }
        ),
        Case(
            "§4 56",
            ServiceRow("2.0/mediaList/latest/byTopicUrn/urn:rts:topic:tv:1", "srf rts rsi rtr swi ssatr", isSized: true)
            { catalogue, _ in try catalogue.topicLatestMedias(topicURN: "urn:rts:topic:tv:1").endpoint.request }
        ),
        Case(
            "§4 57",
            ServiceRow(
                "2.0/mediaList/mostClicked/byTopicUrn/urn:rts:topic:tv:1",
                "srf rts rsi rtr swi ssatr",
                isSized: true
            ) { catalogue, _ in try catalogue.topicMostPopularMedias(topicURN: "urn:rts:topic:tv:1").endpoint.request }
        ),
        Case(
            "§4 58",
            ServiceRow("2.1/mediaComposition/byUrn/urn:rts:video:1", "srf rts rsi rtr swi ssatr") { catalogue, _ in
                try catalogue.mediaComposition(urn: urn).request
            }
        ),
        Case(
            "§4 58 standalone",
            ServiceRow("2.1/mediaComposition/byUrn/urn:rts:video:1?onlyChapters=true", "srf rts rsi rtr swi ssatr") {
                catalogue,
                _ in try catalogue.mediaComposition(urn: urn, standalone: true).request
            }
        ),
        Case(
            "§4 59",
            ServiceRow("2.0/show/byUrn/urn:rts:show:tv:1", "srf rts rsi rtr swi ssatr") { catalogue, _ in
                try catalogue.show(urn: "urn:rts:show:tv:1").request
            }
        ),
        Case(
            "§4 60",
            ServiceRow("2.0/showList/byUrns?urns=urn:rts:show:tv:1", "srf rts rsi rtr swi ssatr") { catalogue, _ in
                try catalogue.shows(urns: ["urn:rts:show:tv:1"]).endpoint.request
            }
        ),
        Case(
            "§4 61",
            ServiceRow(
                "2.0/episodeComposition/latestByShow/byUrn/urn:rts:show:tv:1?maxPublishedDate=2023-05-01",
                "srf rts rsi rtr swi ssatr",
                isSized: true
            ) { catalogue, _ in
                try catalogue.showLatestEpisodes(showURN: "urn:rts:show:tv:1", until: day).endpoint.request
            }
        ),
        Case(
            "§4 62",
            ServiceRow("2.0/mediaList/latest/byShowUrn/urn:rts:show:tv:1", "srf rts rsi rtr swi ssatr", isSized: true) {
                catalogue,
                _ in try catalogue.showLatestMedias(showURN: "urn:rts:show:tv:1").endpoint.request
            }
        ),
        Case(
            "§4 63",
            ServiceRow(
                "2.0/mediaList/latest/byShowUrns?urns=urn:rts:show:tv:1,urn:rts:show:tv:2&maxPublishedDate=2023-05-01&types=episode",
                "srf rts rsi rtr swi ssatr",
                isSized: true
            ) { catalogue, _ in
                try catalogue.showsLatestMedias(
                    showURNs: ["urn:rts:show:tv:1", "urn:rts:show:tv:2"],
                    filter: .episodesOnly,
                    until: day
                ).endpoint.request
            }
        ),
        Case(
            "§4 63 no episodes",
            ServiceRow(
                "2.0/mediaList/latest/byShowUrns?urns=urn:rts:show:tv:1&types=clip,segment",
                "srf rts rsi rtr swi ssatr",
                isSized: true
            ) { catalogue, _ in
                try catalogue.showsLatestMedias(showURNs: ["urn:rts:show:tv:1"], filter: .episodesExcluded).endpoint
                    .request
            }
        ),
        Case(
            "§4 64",
            ServiceRow(
                "2.0/mediaList/latestByModuleConfigUrn/urn:swi:module:event:1:2",
                "srf rts rsi rtr swi ssatr",
                isSized: true
            ) { catalogue, _ in try catalogue.moduleLatestMedias(moduleURN: "urn:swi:module:event:1:2").endpoint.request
            }
        ),
        Case(
            "§5 1",
            ServiceRow("2.0/{bu}/mediaList/video/trending.json", "srf rts rsi rtr swi") {
                try $0.tvTrendingMedias($1).endpoint.request
            }
        ),
        Case(
            "§5 2",
            ServiceRow("2.0/{bu}/mediaList/video/latestByTopic/a%20b@c.json", "srf rts rsi rtr swi") {
                try $0.tvTopicLatestMedias($1, topicUid: "a b@c").endpoint.request
            }
        ),
        Case(
            "§5 3",
            ServiceRow("2.0/{bu}/mediaList/video/mostClicked.json?topicId=t", "srf rts rsi rtr swi") {
                try $0.tvTopicMostPopularMedias($1, topicUid: "t").endpoint.request
            }
        ),
        Case(
            "§5 4",
            ServiceRow("2.0/{bu}/showList/tv/byIds.json?ids=1,2", "srf rts rsi rtr swi") {
                try $0.tvShowsByUids($1, uids: ["1", "2"]).request
            }
        ),
        Case(
            "§5 5",
            ServiceRow("2.0/{bu}/show/tv/1.json", "srf rts rsi rtr swi") { try $0.tvShow($1, uid: "1").request }
        ),
        Case(
            "§5 6",
            ServiceRow(
                "2.0/{bu}/episodeComposition/latestByShow/tv/1.json?maxPublishedDate=2023-05",
                "srf rts rsi rtr swi"
            ) { try $0.tvShowLatestEpisodes($1, showUid: "1", untilMonthOf: day).endpoint.request }
        ),
        Case(
            "§5 7",
            ServiceRow("2.0/{bu}/showList/radio/byIds.json?ids=1", "srf rts rsi rtr") {
                try $0.radioShowsByUids($1, uids: ["1"]).request
            }
        ),
        Case(
            "§5 8",
            ServiceRow("2.0/{bu}/show/radio/1.json", "srf rts rsi rtr") { try $0.radioShow($1, uid: "1").request }
        ),
        Case(
            "§5 9",
            ServiceRow("2.0/{bu}/episodeComposition/latestByShow/radio/1.json", "srf rts rsi rtr") {
                try $0.radioShowLatestEpisodes($1, showUid: "1").endpoint.request
            }
        ),
        Case(
            "§5 10",
            ServiceRow("2.0/{bu}/showList/online/alphabetical/all.json", "srf rtr") {
                try $0.onlineShows($1).endpoint.request
            }
        ),
        Case(
            "§5 11",
            ServiceRow("2.0/{bu}/showList/online/byIds.json?ids=1", "srf rsi rtr swi") {
                try $0.onlineShowsByUids($1, uids: ["1"]).request
            }
        ),
        Case(
            "§5 12",
            ServiceRow("2.0/{bu}/show/online/1.json", "srf rsi rtr swi") { try $0.onlineShow($1, uid: "1").request }
        ),
        Case(
            "§5 13",
            ServiceRow("2.0/{bu}/episodeComposition/latestByShow/online/1.json", "srf rsi rtr swi") {
                try $0.onlineShowLatestEpisodes($1, showUid: "1").endpoint.request
            }
        ),
        Case(
            "§5 14",
            ServiceRow("2.0/{bu}/mediaList/video/byIds.json?ids=1", "srf rts rsi rtr swi") {
                try $0.video($1, uid: "1").request
            }
        ),
        Case(
            "§5 15",
            ServiceRow("2.0/{bu}/mediaList/video/byIds.json?ids=1,2", "srf rts rsi rtr swi") {
                try $0.videos($1, uids: ["1", "2"]).request
            }
        ),
        Case(
            "§5 16",
            ServiceRow("2.0/{bu}/mediaComposition/video/1.json?onlyChapters=true", "srf rts rsi rtr swi") {
                try $0.videoComposition($1, uid: "1", chaptersOnly: true).request
            }
        ),
        Case(
            "§5 17",
            ServiceRow("2.0/{bu}/searchResultListMedia/video.json?q=x", "srf rts rsi rtr swi") {
                try $0.videoSearch($1, matching: "x").endpoint.request
            }
        ),
        Case(
            "§5 18",
            ServiceRow("2.0/{bu}/mediaList/audio/byIds.json?ids=1", "srf rts rsi rtr") {
                try $0.audio($1, uid: "1").request
            }
        ),
        Case(
            "§5 19",
            ServiceRow("2.0/{bu}/mediaList/audio/byIds.json?ids=1", "srf rts rsi rtr") {
                try $0.audios($1, uids: ["1"]).request
            }
        ),
        Case(
            "§5 20",
            ServiceRow("2.0/{bu}/mediaComposition/audio/1.json", "srf rts rsi rtr") {
                try $0.audioComposition($1, uid: "1").request
            }
        ),
        Case(
            "§5 21",
            ServiceRow("2.0/{bu}/searchResultListMedia/audio.json?q=x", "srf rts rsi rtr") {
                try $0.audioSearch($1, matching: "x").endpoint.request
            }
        ),
        Case(
            "§4 18 seed",
            ServiceRow("2.0/{bu}/searchResultListShow/tv.json?q=x", "srf rts rsi rtr swi") {
                try $0.tvShowResults($1, matching: "x").endpoint.request
            }
        ),
        Case(
            "§4 33 seed",
            ServiceRow("2.0/{bu}/searchResultListShow/radio.json?q=x", "srf rts rsi rtr") {
                try $0.radioShowResults($1, matching: "x").endpoint.request
            }
        ),
        Case(
            "§5 22",
            ServiceRow("2.0/{bu}/mediaList/latestByModule/event/1.json", "srf rts rsi rtr swi") {
                try $0.moduleLatestMediasByUid($1, uid: "1").endpoint.request
            }
        ),
        Case(
            "§5 23",
            ServiceRow("2.0/{bu}/mediaList/latestByModuleAndSection/event/1/2.json", "srf rts rsi rtr swi") {
                try $0.moduleSectionLatestMedias($1, uid: "1", sectionUid: "2").endpoint.request
            }
        ),
        Case(
            "§5 24",
            ServiceRow("2.0/{bu}/mediaStatistic/video/1/liked.json", "srf rts rsi rtr swi") {
                try $0.increaseSocialCountByUid(.like, $1, of: part).request
            }
        ),
        Case(
            "§5.1 service message",
            ServiceRow("2.0/{bu}/general/information.json", "srf rts rsi rtr swi") {
                try $0.serviceMessage($1).request
            }
        ),
        Case(
            "§5.1 events",
            ServiceRow("2.0/{bu}/eventConfigList.json", "srf rts rsi rtr swi") { try $0.events($1).request }
        ),
        Case(
            "§5.1 recommended videos",
            ServiceRow("2.0/{bu}/mediaList/video/recommended/1.json", "srf rts rsi rtr swi") {
                try $0.recommendedVideos($1, uid: "1").endpoint.request
            }
        ),
        Case(
            "§5.1 recommended videos for a user",
            ServiceRow("2.0/{bu}/mediaList/video/recommendedByUserId/1/a%2Fb.json", "srf rts rsi rtr swi") {
                try $0.recommendedVideosForUser($1, uid: "1", userId: "a/b").endpoint.request
            }
        ),
        Case(
            "§5.1 latest audios",
            ServiceRow("2.0/{bu}/mediaList/audio/latest.json", "srf rts rsi rtr") {
                try $0.latestAudios($1).endpoint.request
            }
        ),
        Case(
            "§5.1 most popular audios",
            ServiceRow("2.0/{bu}/mediaList/audio/mostClicked.json", "srf rts rsi rtr") {
                try $0.mostPopularAudios($1).endpoint.request
            }
        ),
    ]
}
