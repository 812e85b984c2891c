// The services of the first generation without an exact replacement today.
extension CatalogueService {
    // Television.
    /// The trending medias in pages.
    public static let seedTVTrendingMedias = Self(
        "seedTVTrendingMedias",
        "2.0/{bu}/mediaList/video/trending.json",
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The latest medias of a television topic.
    public static let seedTVLatestMedias = Self(
        "seedTVLatestMedias",
        "2.0/{bu}/mediaList/video/latestByTopic/{topicUid}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The most popular medias of a television topic.
    public static let seedTVMostPopularMedias = Self(
        "seedTVMostPopularMedias",
        "2.0/{bu}/mediaList/video/mostClicked.json",
        ["topicId"],
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// Some television shows.
    public static let seedTVShows = Self(
        "seedTVShows",
        "2.0/{bu}/showList/tv/byIds.json",
        ["ids"],
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// A television show.
    public static let seedTVShow = Self(
        "seedTVShow",
        "2.0/{bu}/show/tv/{uid}.json",
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The latest episodes of a television show, up to a month.
    public static let seedTVLatestEpisodes = Self(
        "seedTVLatestEpisodes",
        "2.0/{bu}/episodeComposition/latestByShow/tv/{uid}.json",
        ["maxPublishedDate"],
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )

    // Radio and online.
    /// Some radio shows.
    public static let seedRadioShows = Self(
        "seedRadioShows",
        "2.0/{bu}/showList/radio/byIds.json",
        ["ids"],
        for: BusinessUnit.national,
        isSeedEra: true
    )
    /// A radio show.
    public static let seedRadioShow = Self(
        "seedRadioShow",
        "2.0/{bu}/show/radio/{uid}.json",
        for: BusinessUnit.national,
        isSeedEra: true
    )
    /// The latest episodes of a radio show, up to a month.
    public static let seedRadioLatestEpisodes = Self(
        "seedRadioLatestEpisodes",
        "2.0/{bu}/episodeComposition/latestByShow/radio/{uid}.json",
        ["maxPublishedDate"],
        paging: .pages,
        for: BusinessUnit.national,
        isSeedEra: true
    )
    /// The online shows.
    public static let seedAllOnlineShows = Self(
        "seedAllOnlineShows",
        "2.0/{bu}/showList/online/alphabetical/all.json",
        paging: .pages,
        for: [.srf, .rtr],
        isSeedEra: true
    )
    /// Some online shows.
    public static let seedOnlineShows = Self(
        "seedOnlineShows",
        "2.0/{bu}/showList/online/byIds.json",
        ["ids"],
        for: [.srf, .rsi, .rtr, .swi],
        isSeedEra: true
    )
    /// An online show.
    public static let seedOnlineShow = Self(
        "seedOnlineShow",
        "2.0/{bu}/show/online/{uid}.json",
        for: [.srf, .rsi, .rtr, .swi],
        isSeedEra: true
    )
    /// The latest episodes of an online show, up to a month.
    public static let seedOnlineLatestEpisodes = Self(
        "seedOnlineLatestEpisodes",
        "2.0/{bu}/episodeComposition/latestByShow/online/{uid}.json",
        ["maxPublishedDate"],
        paging: .pages,
        for: [.srf, .rsi, .rtr, .swi],
        isSeedEra: true
    )

    // Videos and audios.
    /// Some videos.
    public static let seedVideos = Self(
        "seedVideos",
        "2.0/{bu}/mediaList/video/byIds.json",
        ["ids"],
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// A video; nil when there is none.
    public static let seedVideo = Self(
        "seedVideo",
        "2.0/{bu}/mediaList/video/byIds.json",
        ["ids"],
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The composition for playing a video.
    public static let seedVideoComposition = Self(
        "seedVideoComposition",
        "2.0/{bu}/mediaComposition/video/{uid}.json",
        ["onlyChapters"],
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The videos that match a query.
    public static let seedVideoSearch = Self(
        "seedVideoSearch",
        "2.0/{bu}/searchResultListMedia/video.json",
        ["q"],
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// Some audios.
    public static let seedAudios = Self(
        "seedAudios",
        "2.0/{bu}/mediaList/audio/byIds.json",
        ["ids"],
        for: BusinessUnit.national,
        isSeedEra: true
    )
    /// An audio; nil when there is none.
    public static let seedAudio = Self(
        "seedAudio",
        "2.0/{bu}/mediaList/audio/byIds.json",
        ["ids"],
        for: BusinessUnit.national,
        isSeedEra: true
    )
    /// The composition for playing an audio.
    public static let seedAudioComposition = Self(
        "seedAudioComposition",
        "2.0/{bu}/mediaComposition/audio/{uid}.json",
        ["onlyChapters"],
        for: BusinessUnit.national,
        isSeedEra: true
    )
    /// The audios that match a query.
    public static let seedAudioSearch = Self(
        "seedAudioSearch",
        "2.0/{bu}/searchResultListMedia/audio.json",
        ["q"],
        paging: .pages,
        for: BusinessUnit.national,
        isSeedEra: true
    )
    /// The television shows that match a query, as results.
    public static let seedTVShowSearch = Self(
        "seedTVShowSearch",
        "2.0/{bu}/searchResultListShow/tv.json",
        ["q"],
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The radio shows that match a query, as results.
    public static let seedRadioShowSearch = Self(
        "seedRadioShowSearch",
        "2.0/{bu}/searchResultListShow/radio.json",
        ["q"],
        paging: .pages,
        for: BusinessUnit.national,
        isSeedEra: true
    )

    // Modules and popularity.
    /// The latest medias of a module.
    public static let seedModuleLatestMedias = Self(
        "seedModuleLatestMedias",
        "2.0/{bu}/mediaList/latestByModule/{type}/{uid}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The latest medias of a section of a module.
    public static let seedModuleSectionLatestMedias = Self(
        "seedModuleSectionLatestMedias",
        "2.0/{bu}/mediaList/latestByModuleAndSection/{type}/{uid}/{sectionUid}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// Counts a view, a like or a share of a video or audio.
    public static let seedIncreaseSocialCount = Self(
        "seedIncreaseSocialCount",
        "2.0/{bu}/mediaStatistic/{type}/{uid}/{endpoint}.json",
        for: BusinessUnit.international,
        method: .post,
        isSeedEra: true
    )

    // Services from before and after the first generation, which current services have replaced.
    /// A message of the broadcaster to its users.
    public static let seedServiceMessage = Self(
        "seedServiceMessage",
        "2.0/{bu}/general/information.json",
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The events with their own medias, before they were modules.
    public static let seedEvents = Self(
        "seedEvents",
        "2.0/{bu}/eventConfigList.json",
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The videos recommended after another.
    public static let seedRecommendedVideos = Self(
        "seedRecommendedVideos",
        "2.0/{bu}/mediaList/video/recommended/{uid}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The videos recommended to a user after another.
    public static let seedRecommendedVideosForUser = Self(
        "seedRecommendedVideosForUser",
        "2.0/{bu}/mediaList/video/recommendedByUserId/{uid}/{userId}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isSeedEra: true
    )
    /// The latest audios of all channels.
    public static let seedLatestAudios = Self(
        "seedLatestAudios",
        "2.0/{bu}/mediaList/audio/latest.json",
        paging: .pages,
        for: BusinessUnit.national,
        isSeedEra: true
    )
    /// The most popular audios of all channels.
    public static let seedMostPopularAudios = Self(
        "seedMostPopularAudios",
        "2.0/{bu}/mediaList/audio/mostClicked.json",
        paging: .pages,
        for: BusinessUnit.national,
        isSeedEra: true
    )

    /// The earlier services without an exact replacement today.
    public static let seedEra: [CatalogueService] = [
        .seedTVTrendingMedias,
        .seedTVLatestMedias,
        .seedTVMostPopularMedias,
        .seedTVShows,
        .seedTVShow,
        .seedTVLatestEpisodes,
        .seedRadioShows,
        .seedRadioShow,
        .seedRadioLatestEpisodes,
        .seedAllOnlineShows,
        .seedOnlineShows,
        .seedOnlineShow,
        .seedOnlineLatestEpisodes,
        .seedVideos,
        .seedVideo,
        .seedVideoComposition,
        .seedVideoSearch,
        .seedAudios,
        .seedAudio,
        .seedAudioComposition,
        .seedAudioSearch,
        .seedTVShowSearch,
        .seedRadioShowSearch,
        .seedModuleLatestMedias,
        .seedModuleSectionLatestMedias,
        .seedIncreaseSocialCount,
        .seedServiceMessage,
        .seedEvents,
        .seedRecommendedVideos,
        .seedRecommendedVideosForUser,
        .seedLatestAudios,
        .seedMostPopularAudios,
    ]
}
