// Each entry has the name, path, query items, paging and business units of a service.
extension CatalogueService {
    // Television: channels, livestreams and programs.
    /// The television channels.
    public static let tvChannels = Self("tvChannels", "2.0/{bu}/channelList/tv", for: BusinessUnit.national)
    /// A television channel with its current and next program.
    public static let tvChannel = Self(
        "tvChannel",
        "2.0/{bu}/channel/{channelUid}/tv/nowAndNext",
        for: BusinessUnit.national
    )
    /// The programs of a television channel within a period, which ends now by default.
    public static let tvLatestPrograms = Self(
        "tvLatestPrograms",
        "2.0/{bu}/programListComposition/tv/byChannel/{channelUid}",
        ["livestreamId", "minEndTime", "maxStartTime"],
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The programs of a day on the channels of the broadcaster.
    public static let tvPrograms = Self(
        "tvPrograms",
        "2.0/{bu}/programGuide/tv/byDate/{day}",
        ["channelId", "reduced"],
        for: BusinessUnit.national
    )
    /// The programs of a day on third-party channels.
    public static let tvThirdPartyPrograms = Self(
        "tvThirdPartyPrograms",
        "2.0/{bu}/programGuideNonSrg/tv/byDate/{day}",
        ["channelId", "reduced"],
        for: [.srf, .rtr]
    )
    /// The television livestreams.
    public static let tvLivestreams = Self(
        "tvLivestreams",
        "2.0/{bu}/mediaList/video/livestreams",
        for: BusinessUnit.national
    )
    /// The scheduled television livestreams.
    public static let tvScheduledLivestreams = Self(
        "tvScheduledLivestreams",
        "2.0/{bu}/mediaList/video/scheduledLivestreams",
        ["signLanguageOnly", "eventType"],
        paging: .pages,
        for: BusinessUnit.national
    )

    // Television: medias, topics and shows.
    /// The medias selected by editors, as the first generation of services has them.
    ///
    /// Today's servers have ``landingPage`` instead.
    public static let tvEditorialMedias = Self(
        "tvEditorialMedias",
        "2.0/{bu}/mediaList/video/editorial",
        paging: .pages,
        for: BusinessUnit.international,
        successor: "landingPage"
    )
    /// The medias of the hero stage, which today's servers have in ``landingPage``.
    public static let tvHeroStageMedias = Self(
        "tvHeroStageMedias",
        "2.0/{bu}/mediaList/video/heroStage",
        for: [],
        successor: "landingPage"
    )
    /// The latest medias.
    public static let tvLatestMedias = Self(
        "tvLatestMedias",
        "2.0/{bu}/mediaList/video/latestEpisodes",
        paging: .pages,
        for: BusinessUnit.international
    )
    /// The most popular medias.
    public static let tvMostPopularMedias = Self(
        "tvMostPopularMedias",
        "2.0/{bu}/mediaList/video/mostClicked",
        paging: .pages,
        for: BusinessUnit.international
    )
    /// The medias whose availability ends soon.
    public static let tvSoonExpiringMedias = Self(
        "tvSoonExpiringMedias",
        "2.0/{bu}/mediaList/video/soonExpiring",
        paging: .pages,
        for: [.srf, .rts, .rsi]
    )
    /// The trending medias, by default 10.
    public static let tvTrendingMedias = Self(
        "tvTrendingMedias",
        "2.0/{bu}/mediaList/video/trending",
        ["pageSize", "maxCountEditorPicks", "onlyEpisodes"],
        for: BusinessUnit.international
    )
    /// The latest episodes.
    public static let tvLatestEpisodes = Self(
        "tvLatestEpisodes",
        "2.0/{bu}/mediaList/video/latestEpisodes",
        paging: .pages,
        for: BusinessUnit.international
    )
    /// The latest episodes published on the web first.
    public static let tvLatestWebFirstEpisodes = Self(
        "tvLatestWebFirstEpisodes",
        "2.0/{bu}/mediaList/video/latestEpisodes/webFirst",
        paging: .pages,
        for: [.rts]
    )
    /// The episodes of a day, which begins at 05:00.
    public static let tvEpisodes = Self(
        "tvEpisodes",
        "2.0/{bu}/mediaList/video/episodesByDate/{day}",
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The television topics.
    public static let tvTopics = Self("tvTopics", "2.0/{bu}/topicList/tv", for: BusinessUnit.international)
    /// The television shows by title.
    public static let tvShows = Self(
        "tvShows",
        "2.0/{bu}/showList/tv/alphabetical",
        paging: .unlimited,
        for: BusinessUnit.international
    )
    /// The television shows that match a query.
    public static let tvShowSearch = Self(
        "tvShowSearch",
        "2.0/{bu}/searchResultShowList/tv",
        ["q"],
        paging: .pages,
        for: BusinessUnit.international
    )
    /// The most popular shows of a television topic.
    public static let tvMostPopularShows = Self(
        "tvMostPopularShows",
        "2.0/{bu}/showList/tv/byTopic/{topicUid}/mostClicked",
        paging: .pages,
        for: BusinessUnit.national
    )

    // Radio.
    /// The radio channels.
    public static let radioChannels = Self("radioChannels", "2.0/{bu}/channelList/radio", for: BusinessUnit.national)
    /// A radio channel with its current and next program.
    public static let radioChannel = Self(
        "radioChannel",
        "2.0/{bu}/channel/{channelUid}/radio/nowAndNext",
        ["livestreamId"],
        for: BusinessUnit.national
    )
    /// The programs of a radio channel within a period, which ends now by default.
    public static let radioLatestPrograms = Self(
        "radioLatestPrograms",
        "2.0/{bu}/programListComposition/radio/byChannel/{channelUid}",
        ["livestreamId", "minEndTime", "maxStartTime"],
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The livestreams of a radio channel.
    public static let radioLivestreams = Self(
        "radioLivestreams",
        "2.0/{bu}/mediaList/audio/livestreamsByChannel/{channelUid}",
        for: BusinessUnit.national
    )
    /// The radio livestreams of some content providers.
    public static let radioLivestreamsOfProviders = Self(
        "radioLivestreamsOfProviders",
        "2.0/{bu}/mediaList/audio/livestreams",
        ["includeThirdPartyStreams", "onlyThirdPartyContentProvider"],
        for: BusinessUnit.national
    )
    /// The latest medias of a radio channel.
    public static let radioLatestMedias = Self(
        "radioLatestMedias",
        "2.0/{bu}/mediaList/audio/latestByChannel/{channelUid}",
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The most popular medias of a radio channel.
    public static let radioMostPopularMedias = Self(
        "radioMostPopularMedias",
        "2.0/{bu}/mediaList/audio/mostClickedByChannel/{channelUid}",
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The latest episodes of a radio channel.
    public static let radioLatestEpisodes = Self(
        "radioLatestEpisodes",
        "2.0/{bu}/mediaList/audio/latestEpisodesByChannel/{channelUid}",
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The episodes of a day on a radio channel.
    public static let radioEpisodes = Self(
        "radioEpisodes",
        "2.0/{bu}/mediaList/audio/episodesByDateAndChannel/{day}/{channelUid}",
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The latest videos of a radio channel.
    public static let radioLatestVideos = Self(
        "radioLatestVideos",
        "2.0/{bu}/mediaList/video/latestByChannel/{channelUid}",
        paging: .pages,
        for: [.rts]
    )
    /// The radio topics.
    public static let radioTopics = Self("radioTopics", "2.0/{bu}/topicList/radio", for: BusinessUnit.international)
    /// The shows of a radio channel by title.
    public static let radioShows = Self(
        "radioShows",
        "2.0/{bu}/showList/radio/alphabeticalByChannel/{channelUid}",
        paging: .unlimited,
        for: BusinessUnit.national
    )
    /// All radio shows by title.
    public static let allRadioShows = Self(
        "allRadioShows",
        "2.0/{bu}/showList/radio/alphabetical",
        paging: .unlimited,
        for: BusinessUnit.national
    )
    /// The radio shows that match a query.
    public static let radioShowSearch = Self(
        "radioShowSearch",
        "2.0/{bu}/searchResultShowList/radio",
        ["q"],
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The songs on a radio channel; with unlimited pages, those of today.
    public static let radioSongs = Self(
        "radioSongs",
        "2.0/{bu}/songList/radio/byChannel/{channelUid}",
        paging: .unlimited,
        for: BusinessUnit.national
    )
    /// The current song on a radio channel.
    public static let radioCurrentSong = Self(
        "radioCurrentSong",
        "2.0/{bu}/songList/radio/byChannel/{channelUid}",
        ["onlyCurrentSong=true"],
        for: BusinessUnit.national
    )

    // Live centre.
    /// The videos of the live centre.
    public static let liveCenterVideos = Self(
        "liveCenterVideos",
        "2.0/{bu}/mediaList/video/scheduledLivestreams/livecenter",
        ["onlyEventsWithResult", "types"],
        paging: .pages,
        for: BusinessUnit.national
    )

    // Search.
    /// The medias that match a query.
    public static let mediaSearch = Self(
        "mediaSearch",
        "2.0/{bu}/searchResultMediaList",
        ["q"],
        paging: .pages,
        for: BusinessUnit.international
    )
    /// The medias that match a query and settings.
    public static let mediaSearchWithSettings = Self(
        "mediaSearchWithSettings",
        "2.0/{bu}/searchResultMediaList",
        [
            "q", "includeAggregations", "includeSuggestions", "operator", "enableFuzzySearch", "showUrns", "topicUrns",
            "mediaType", "subtitlesAvailable", "downloadAvailable", "playableAbroad", "quality",
            "durationFromInMinutes", "durationToInMinutes", "publishedDateFrom", "publishedDateTo", "sortBy", "sortDir",
        ],
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The shows that match a query.
    public static let showSearch = Self(
        "showSearch",
        "2.0/{bu}/searchResultShowList",
        ["q", "mediaType"],
        paging: .pages,
        for: BusinessUnit.international
    )
    /// The most searched television shows, from a service that no longer responds.
    public static let tvMostSearchedShows = Self(
        "tvMostSearchedShows",
        "2.0/{bu}/showList/tv/mostClickedSearchResults",
        for: []
    )
    /// The most searched radio shows, from a service that no longer responds.
    public static let radioMostSearchedShows = Self(
        "radioMostSearchedShows",
        "2.0/{bu}/showList/radio/mostClickedSearchResults",
        for: []
    )
    /// The most searched shows, from a service that no longer responds.
    public static let mostSearchedShows = Self(
        "mostSearchedShows",
        "2.0/{bu}/showList/mostClickedSearchResults",
        for: []
    )
    /// The latest videos with tags.
    public static let videosWithTags = Self(
        "videosWithTags",
        "2.0/{bu}/mediaList/video/latestByTags",
        ["includes", "excludes"],
        paging: .pages,
        for: BusinessUnit.national
    )
    /// The latest videos with tags, without full episodes.
    public static let videosWithTagsExcludingFullLength = Self(
        "videosWithTagsExcludingFullLength",
        "2.0/{bu}/mediaList/video/latestByTags/excludeFullLength",
        ["includes", "excludes"],
        paging: .pages,
        for: [.srf, .rts, .rsi]
    )

    // Recommendations and modules.
    /// The medias recommended after another.
    public static let recommendedMedias = Self(
        "recommendedMedias",
        "2.0/mediaList/recommended/byUrn/{urn}",
        paging: .pages
    )
    /// The medias recommended to a user after another.
    public static let recommendedMediasForUser = Self(
        "recommendedMediasForUser",
        "2.0/mediaList/recommendedByUserId/byUrn/{urn}/{userId}",
        paging: .pages
    )
    /// The events with their own medias.
    public static let modules = Self("modules", "2.0/{bu}/moduleConfigList/{type}", for: [.swi])

    // Popularity.
    /// Counts a view, a like or a share.
    public static let increaseSocialCount = Self(
        "increaseSocialCount",
        "2.0/mediaStatistic/byUrn/{urn}/{endpoint}",
        method: .post
    )
    /// Counts that a show was opened from search results.
    public static let increaseSearchResultsViewCount = Self(
        "increaseSearchResultsViewCount",
        "2.0/showStatistic/byUrn/{urn}/searchResultClicked",
        method: .post
    )

    // Editorial pages.
    /// An editorial page.
    public static let page = Self("page", "2.0/{bu}/page/{uid}", ["isPublished", "previewDate"])
    /// The landing page of a product.
    public static let landingPage = Self(
        "landingPage",
        "2.0/{bu}/page/landingPage/byProduct/{product}",
        ["isPublished", "previewDate"]
    )
    /// The page of a topic.
    public static let topicPage = Self(
        "topicPage",
        "2.0/{bu}/page/byTopicUrn/{topicUrn}",
        ["isPublished", "previewDate"]
    )
    /// The page of a show in a product.
    public static let showPage = Self(
        "showPage",
        "2.0/{bu}/page/{product}/showPage/{showUrn}",
        ["isPublished", "previewDate"]
    )
    /// A section of a page.
    public static let section = Self("section", "2.0/{bu}/section/{uid}", ["isPublished"])
    /// The medias of a section.
    public static let sectionMedias = Self(
        "sectionMedias",
        "2.0/{bu}/section/mediaSection/{uid}",
        ["userId", "isPublished", "previewDate"],
        paging: .unsized
    )
    /// The shows of a section.
    public static let sectionShows = Self(
        "sectionShows",
        "2.0/{bu}/section/showSection/{uid}",
        ["userId", "isPublished", "previewDate"],
        paging: .unsized
    )
    /// The show of a section with its medias.
    public static let sectionShowAndMedias = Self(
        "sectionShowAndMedias",
        "2.0/{bu}/section/mediaSectionWithShow/{uid}",
        ["userId", "isPublished", "previewDate"],
        paging: .unsized
    )

    // By URN.
    /// A media.
    public static let media = Self("media", "2.0/media/byUrn/{urn}")
    /// Some medias.
    public static let medias = Self("medias", "2.0/mediaList/byUrns", ["urns"], paging: .urns)
    /// The latest medias of a topic.
    public static let topicLatestMedias = Self(
        "topicLatestMedias",
        "2.0/mediaList/latest/byTopicUrn/{urn}",
        paging: .pages
    )
    /// The most popular medias of a topic.
    public static let topicMostPopularMedias = Self(
        "topicMostPopularMedias",
        "2.0/mediaList/mostClicked/byTopicUrn/{urn}",
        paging: .pages
    )
    /// The composition for playing a media: chapters with segments, or only standalone ones.
    public static let mediaComposition = Self("mediaComposition", "2.1/mediaComposition/byUrn/{urn}", ["onlyChapters"])
    /// A show.
    public static let show = Self("show", "2.0/show/byUrn/{urn}")
    /// Some shows.
    public static let shows = Self("shows", "2.0/showList/byUrns", ["urns"], paging: .urns)
    /// The latest episodes of a show, up to a day.
    public static let showLatestEpisodes = Self(
        "showLatestEpisodes",
        "2.0/episodeComposition/latestByShow/byUrn/{urn}",
        ["maxPublishedDate"],
        paging: .pages
    )
    /// The latest medias of a show.
    public static let showLatestMedias = Self(
        "showLatestMedias",
        "2.0/mediaList/latest/byShowUrn/{urn}",
        paging: .pages
    )
    /// The latest medias of some shows, ten at most.
    public static let showsLatestMedias = Self(
        "showsLatestMedias",
        "2.0/mediaList/latest/byShowUrns",
        ["urns", "maxPublishedDate", "types"],
        paging: .pages
    )
    /// The latest medias of a module or of one of its sections.
    public static let moduleLatestMedias = Self(
        "moduleLatestMedias",
        "2.0/mediaList/latestByModuleConfigUrn/{urn}",
        paging: .pages
    )

    /// The current services.
    public static let today: [CatalogueService] = [
        .tvChannels,
        .tvChannel,
        .tvLatestPrograms,
        .tvPrograms,
        .tvThirdPartyPrograms,
        .tvLivestreams,
        .tvScheduledLivestreams,
        .tvEditorialMedias,
        .tvHeroStageMedias,
        .tvLatestMedias,
        .tvMostPopularMedias,
        .tvSoonExpiringMedias,
        .tvTrendingMedias,
        .tvLatestEpisodes,
        .tvLatestWebFirstEpisodes,
        .tvEpisodes,
        .tvTopics,
        .tvShows,
        .tvShowSearch,
        .tvMostPopularShows,
        .radioChannels,
        .radioChannel,
        .radioLatestPrograms,
        .radioLivestreams,
        .radioLivestreamsOfProviders,
        .radioLatestMedias,
        .radioMostPopularMedias,
        .radioLatestEpisodes,
        .radioEpisodes,
        .radioLatestVideos,
        .radioTopics,
        .radioShows,
        .allRadioShows,
        .radioShowSearch,
        .radioSongs,
        .radioCurrentSong,
        .liveCenterVideos,
        .mediaSearch,
        .mediaSearchWithSettings,
        .showSearch,
        .tvMostSearchedShows,
        .radioMostSearchedShows,
        .mostSearchedShows,
        .videosWithTags,
        .videosWithTagsExcludingFullLength,
        .recommendedMedias,
        .recommendedMediasForUser,
        .modules,
        .increaseSocialCount,
        .increaseSearchResultsViewCount,
        .page,
        .landingPage,
        .topicPage,
        .showPage,
        .section,
        .sectionMedias,
        .sectionShows,
        .sectionShowAndMedias,
        .media,
        .medias,
        .topicLatestMedias,
        .topicMostPopularMedias,
        .mediaComposition,
        .show,
        .shows,
        .showLatestEpisodes,
        .showLatestMedias,
        .showsLatestMedias,
        .moduleLatestMedias,
    ]
}
