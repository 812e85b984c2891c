// A row is a service: its name, path, query items, paging and business units. The function of ``Catalogue`` with the
// same name has its parameters and the type of its response.
extension CatalogueService {
    /// The current services.
    public static let today: [CatalogueService] = [
        // Television: channels, livestreams and programs.
        Self("tvChannels", "2.0/{bu}/channelList/tv", for: .national),
        Self("tvChannel", "2.0/{bu}/channel/{channelUid}/tv/nowAndNext", for: .national),
        Self(
            "tvLatestPrograms",
            "2.0/{bu}/programListComposition/tv/byChannel/{channelUid}",
            ["livestreamId", "minEndTime", "maxStartTime"],
            paging: .pages,
            for: .national
        ),
        Self("tvPrograms", "2.0/{bu}/programGuide/tv/byDate/{day}", ["channelId", "reduced"], for: .national),
        Self(
            "tvThirdPartyPrograms",
            "2.0/{bu}/programGuideNonSrg/tv/byDate/{day}",
            ["channelId", "reduced"],
            for: [.srf, .rtr]
        ),
        Self("tvLivestreams", "2.0/{bu}/mediaList/video/livestreams", for: .national),
        Self(
            "tvScheduledLivestreams",
            "2.0/{bu}/mediaList/video/scheduledLivestreams",
            ["signLanguageOnly", "eventType"],
            paging: .pages,
            for: .national
        ),
        // Television: medias, topics and shows.
        Self(
            "tvEditorialMedias",
            "2.0/{bu}/mediaList/video/editorial",
            paging: .pages,
            for: .international,
            successor: "landingPage"
        ),
        Self("tvHeroStageMedias", "2.0/{bu}/mediaList/video/heroStage", for: [], successor: "landingPage"),
        Self("tvLatestMedias", "2.0/{bu}/mediaList/video/latestEpisodes", paging: .pages, for: .international),
        Self("tvMostPopularMedias", "2.0/{bu}/mediaList/video/mostClicked", paging: .pages, for: .international),
        Self("tvSoonExpiringMedias", "2.0/{bu}/mediaList/video/soonExpiring", paging: .pages, for: [.srf, .rts, .rsi]),
        Self(
            "tvTrendingMedias",
            "2.0/{bu}/mediaList/video/trending",
            ["pageSize", "maxCountEditorPicks", "onlyEpisodes"],
            for: .international
        ),
        Self("tvLatestEpisodes", "2.0/{bu}/mediaList/video/latestEpisodes", paging: .pages, for: .international),
        Self(
            "tvLatestWebFirstEpisodes",
            "2.0/{bu}/mediaList/video/latestEpisodes/webFirst",
            paging: .pages,
            for: [.rts]
        ),
        Self("tvEpisodes", "2.0/{bu}/mediaList/video/episodesByDate/{day}", paging: .pages, for: .national),
        Self("tvTopics", "2.0/{bu}/topicList/tv", for: .international),
        Self("tvShows", "2.0/{bu}/showList/tv/alphabetical", paging: .unlimited, for: .international),
        Self("tvShowSearch", "2.0/{bu}/searchResultShowList/tv", ["q"], paging: .pages, for: .international),
        Self(
            "tvMostPopularShows",
            "2.0/{bu}/showList/tv/byTopic/{topicUid}/mostClicked",
            paging: .pages,
            for: .national
        ),
        // Radio.
        Self("radioChannels", "2.0/{bu}/channelList/radio", for: .national),
        Self("radioChannel", "2.0/{bu}/channel/{channelUid}/radio/nowAndNext", ["livestreamId"], for: .national),
        Self(
            "radioLatestPrograms",
            "2.0/{bu}/programListComposition/radio/byChannel/{channelUid}",
            ["livestreamId", "minEndTime", "maxStartTime"],
            paging: .pages,
            for: .national
        ),
        Self("radioLivestreams", "2.0/{bu}/mediaList/audio/livestreamsByChannel/{channelUid}", for: .national),
        Self(
            "radioLivestreamsOfProviders",
            "2.0/{bu}/mediaList/audio/livestreams",
            ["includeThirdPartyStreams", "onlyThirdPartyContentProvider"],
            for: .national
        ),
        Self(
            "radioLatestMedias",
            "2.0/{bu}/mediaList/audio/latestByChannel/{channelUid}",
            paging: .pages,
            for: .national
        ),
        Self(
            "radioMostPopularMedias",
            "2.0/{bu}/mediaList/audio/mostClickedByChannel/{channelUid}",
            paging: .pages,
            for: .national
        ),
        Self(
            "radioLatestEpisodes",
            "2.0/{bu}/mediaList/audio/latestEpisodesByChannel/{channelUid}",
            paging: .pages,
            for: .national
        ),
        Self(
            "radioEpisodes",
            "2.0/{bu}/mediaList/audio/episodesByDateAndChannel/{day}/{channelUid}",
            paging: .pages,
            for: .national
        ),
        Self("radioLatestVideos", "2.0/{bu}/mediaList/video/latestByChannel/{channelUid}", paging: .pages, for: [.rts]),
        Self("radioTopics", "2.0/{bu}/topicList/radio", for: .international),
        Self(
            "radioShows",
            "2.0/{bu}/showList/radio/alphabeticalByChannel/{channelUid}",
            paging: .unlimited,
            for: .national
        ),
        Self("allRadioShows", "2.0/{bu}/showList/radio/alphabetical", paging: .unlimited, for: .national),
        Self("radioShowSearch", "2.0/{bu}/searchResultShowList/radio", ["q"], paging: .pages, for: .national),
        Self("radioSongs", "2.0/{bu}/songList/radio/byChannel/{channelUid}", paging: .unlimited, for: .national),
        Self(
            "radioCurrentSong",
            "2.0/{bu}/songList/radio/byChannel/{channelUid}",
            ["onlyCurrentSong=true"],
            for: .national
        ),
        // Live centre.
        Self(
            "liveCenterVideos",
            "2.0/{bu}/mediaList/video/scheduledLivestreams/livecenter",
            ["onlyEventsWithResult", "types"],
            paging: .pages,
            for: .national
        ),
        // Search.
        Self("mediaSearch", "2.0/{bu}/searchResultMediaList", ["q"], paging: .pages, for: .international),
        Self(
            "mediaSearchWithSettings",
            "2.0/{bu}/searchResultMediaList",
            [
                "q", "includeAggregations", "includeSuggestions", "operator", "enableFuzzySearch", "showUrns",
                "topicUrns", "mediaType", "subtitlesAvailable", "downloadAvailable", "playableAbroad", "quality",
                "durationFromInMinutes", "durationToInMinutes", "publishedDateFrom", "publishedDateTo", "sortBy",
                "sortDir",
            ],
            paging: .pages,
            for: .national
        ),
        Self("showSearch", "2.0/{bu}/searchResultShowList", ["q", "mediaType"], paging: .pages, for: .international),
        Self("tvMostSearchedShows", "2.0/{bu}/showList/tv/mostClickedSearchResults", for: []),
        Self("radioMostSearchedShows", "2.0/{bu}/showList/radio/mostClickedSearchResults", for: []),
        Self("mostSearchedShows", "2.0/{bu}/showList/mostClickedSearchResults", for: []),
        Self(
            "videosWithTags",
            "2.0/{bu}/mediaList/video/latestByTags",
            ["includes", "excludes"],
            paging: .pages,
            for: .national
        ),
        Self(
            "videosWithTagsExcludingFullLength",
            "2.0/{bu}/mediaList/video/latestByTags/excludeFullLength",
            ["includes", "excludes"],
            paging: .pages,
            for: [.srf, .rts, .rsi]
        ),
        // Recommendations and modules.
        Self("recommendedMedias", "2.0/mediaList/recommended/byUrn/{urn}", paging: .pages),
        Self("recommendedMediasForUser", "2.0/mediaList/recommendedByUserId/byUrn/{urn}/{userId}", paging: .pages),
        Self("modules", "2.0/{bu}/moduleConfigList/{type}", for: [.swi]),
        // Popularity.
        Self("increaseSocialCount", "2.0/mediaStatistic/byUrn/{urn}/{endpoint}", method: .post),
        Self("increaseSearchResultsViewCount", "2.0/showStatistic/byUrn/{urn}/searchResultClicked", method: .post),
        // Editorial pages.
        Self("page", "2.0/{bu}/page/{uid}", ["isPublished", "previewDate"]),
        Self("landingPage", "2.0/{bu}/page/landingPage/byProduct/{product}", ["isPublished", "previewDate"]),
        Self("topicPage", "2.0/{bu}/page/byTopicUrn/{topicUrn}", ["isPublished", "previewDate"]),
        Self("showPage", "2.0/{bu}/page/{product}/showPage/{showUrn}", ["isPublished", "previewDate"]),
        Self("section", "2.0/{bu}/section/{uid}", ["isPublished"]),
        Self(
            "sectionMedias",
            "2.0/{bu}/section/mediaSection/{uid}",
            ["userId", "isPublished", "previewDate"],
            paging: .unsized
        ),
        Self(
            "sectionShows",
            "2.0/{bu}/section/showSection/{uid}",
            ["userId", "isPublished", "previewDate"],
            paging: .unsized
        ),
        Self(
            "sectionShowAndMedias",
            "2.0/{bu}/section/mediaSectionWithShow/{uid}",
            ["userId", "isPublished", "previewDate"],
            paging: .unsized
        ),
        // By URN.
        Self("media", "2.0/media/byUrn/{urn}"),
        Self("medias", "2.0/mediaList/byUrns", ["urns"], paging: .urns),
        Self("topicLatestMedias", "2.0/mediaList/latest/byTopicUrn/{urn}", paging: .pages),
        Self("topicMostPopularMedias", "2.0/mediaList/mostClicked/byTopicUrn/{urn}", paging: .pages),
        Self("mediaComposition", "2.1/mediaComposition/byUrn/{urn}", ["onlyChapters"]),
        Self("show", "2.0/show/byUrn/{urn}"),
        Self("shows", "2.0/showList/byUrns", ["urns"], paging: .urns),
        Self(
            "showLatestEpisodes",
            "2.0/episodeComposition/latestByShow/byUrn/{urn}",
            ["maxPublishedDate"],
            paging: .pages
        ),
        Self("showLatestMedias", "2.0/mediaList/latest/byShowUrn/{urn}", paging: .pages),
        Self(
            "showsLatestMedias",
            "2.0/mediaList/latest/byShowUrns",
            ["urns", "maxPublishedDate", "types"],
            paging: .pages
        ),
        Self("moduleLatestMedias", "2.0/mediaList/latestByModuleConfigUrn/{urn}", paging: .pages),
    ]
}
