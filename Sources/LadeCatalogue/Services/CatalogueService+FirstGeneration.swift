// The services of the first generation that today's servers have under another name, or no more.
extension CatalogueService {
    // Television.
    /// The trending medias in pages.
    ///
    /// Today's servers have ``tvTrendingMedias`` instead.
    public static let tvTrendingMediaPages = Self(
        "tvTrendingMediaPages",
        "2.0/{bu}/mediaList/video/trending.json",
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "tvTrendingMedias"
    )
    /// The latest medias of a television topic.
    ///
    /// Today's servers have ``topicLatestMedias`` instead.
    public static let tvTopicLatestMedias = Self(
        "tvTopicLatestMedias",
        "2.0/{bu}/mediaList/video/latestByTopic/{topicUid}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "topicLatestMedias"
    )
    /// The most popular medias of a television topic.
    ///
    /// Today's servers have ``topicMostPopularMedias`` instead.
    public static let tvTopicMostPopularMedias = Self(
        "tvTopicMostPopularMedias",
        "2.0/{bu}/mediaList/video/mostClicked.json",
        ["topicId"],
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "topicMostPopularMedias"
    )
    /// Some television shows.
    ///
    /// Today's servers have ``shows`` instead.
    public static let tvShowsByUids = Self(
        "tvShowsByUids",
        "2.0/{bu}/showList/tv/byIds.json",
        ["ids"],
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "shows"
    )
    /// A television show.
    ///
    /// Today's servers have ``show`` instead.
    public static let tvShow = Self(
        "tvShow",
        "2.0/{bu}/show/tv/{uid}.json",
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "show"
    )
    /// The latest episodes of a television show, up to a month.
    ///
    /// Today's servers have ``showLatestEpisodes`` instead.
    public static let tvShowLatestEpisodes = Self(
        "tvShowLatestEpisodes",
        "2.0/{bu}/episodeComposition/latestByShow/tv/{uid}.json",
        ["maxPublishedDate"],
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "showLatestEpisodes"
    )

    // Radio and online.
    /// Some radio shows.
    ///
    /// Today's servers have ``shows`` instead.
    public static let radioShowsByUids = Self(
        "radioShowsByUids",
        "2.0/{bu}/showList/radio/byIds.json",
        ["ids"],
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "shows"
    )
    /// A radio show.
    ///
    /// Today's servers have ``show`` instead.
    public static let radioShow = Self(
        "radioShow",
        "2.0/{bu}/show/radio/{uid}.json",
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "show"
    )
    /// The latest episodes of a radio show, up to a month.
    ///
    /// Today's servers have ``showLatestEpisodes`` instead.
    public static let radioShowLatestEpisodes = Self(
        "radioShowLatestEpisodes",
        "2.0/{bu}/episodeComposition/latestByShow/radio/{uid}.json",
        ["maxPublishedDate"],
        paging: .pages,
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "showLatestEpisodes"
    )
    /// The online shows.
    public static let onlineShows = Self(
        "onlineShows",
        "2.0/{bu}/showList/online/alphabetical/all.json",
        paging: .pages,
        for: [.srf, .rtr],
        isFirstGeneration: true
    )
    /// Some online shows.
    ///
    /// Today's servers have ``shows`` instead.
    public static let onlineShowsByUids = Self(
        "onlineShowsByUids",
        "2.0/{bu}/showList/online/byIds.json",
        ["ids"],
        for: [.srf, .rsi, .rtr, .swi],
        isFirstGeneration: true,
        successor: "shows"
    )
    /// An online show.
    ///
    /// Today's servers have ``show`` instead.
    public static let onlineShow = Self(
        "onlineShow",
        "2.0/{bu}/show/online/{uid}.json",
        for: [.srf, .rsi, .rtr, .swi],
        isFirstGeneration: true,
        successor: "show"
    )
    /// The latest episodes of an online show, up to a month.
    ///
    /// Today's servers have ``showLatestEpisodes`` instead.
    public static let onlineShowLatestEpisodes = Self(
        "onlineShowLatestEpisodes",
        "2.0/{bu}/episodeComposition/latestByShow/online/{uid}.json",
        ["maxPublishedDate"],
        paging: .pages,
        for: [.srf, .rsi, .rtr, .swi],
        isFirstGeneration: true,
        successor: "showLatestEpisodes"
    )

    // Videos and audios.
    /// Some videos.
    ///
    /// Today's servers have ``medias`` instead.
    public static let videos = Self(
        "videos",
        "2.0/{bu}/mediaList/video/byIds.json",
        ["ids"],
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "medias"
    )
    /// A video; nil when there is none.
    ///
    /// Today's servers have ``media`` instead.
    public static let video = Self(
        "video",
        "2.0/{bu}/mediaList/video/byIds.json",
        ["ids"],
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "media"
    )
    /// The composition for playing a video.
    ///
    /// Today's servers have ``mediaComposition`` instead.
    public static let videoComposition = Self(
        "videoComposition",
        "2.0/{bu}/mediaComposition/video/{uid}.json",
        ["onlyChapters"],
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "mediaComposition"
    )
    /// The videos that match a query.
    ///
    /// Today's servers have ``mediaSearch`` instead.
    public static let videoSearch = Self(
        "videoSearch",
        "2.0/{bu}/searchResultListMedia/video.json",
        ["q"],
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "mediaSearch"
    )
    /// Some audios.
    ///
    /// Today's servers have ``medias`` instead.
    public static let audios = Self(
        "audios",
        "2.0/{bu}/mediaList/audio/byIds.json",
        ["ids"],
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "medias"
    )
    /// An audio; nil when there is none.
    ///
    /// Today's servers have ``media`` instead.
    public static let audio = Self(
        "audio",
        "2.0/{bu}/mediaList/audio/byIds.json",
        ["ids"],
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "media"
    )
    /// The composition for playing an audio.
    ///
    /// Today's servers have ``mediaComposition`` instead.
    public static let audioComposition = Self(
        "audioComposition",
        "2.0/{bu}/mediaComposition/audio/{uid}.json",
        ["onlyChapters"],
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "mediaComposition"
    )
    /// The audios that match a query.
    ///
    /// Today's servers have ``mediaSearch`` instead.
    public static let audioSearch = Self(
        "audioSearch",
        "2.0/{bu}/searchResultListMedia/audio.json",
        ["q"],
        paging: .pages,
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "mediaSearch"
    )
    /// The television shows that match a query, as results.
    ///
    /// Today's servers have ``tvShowSearch`` instead.
    public static let tvShowResults = Self(
        "tvShowResults",
        "2.0/{bu}/searchResultListShow/tv.json",
        ["q"],
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "tvShowSearch"
    )
    /// The radio shows that match a query, as results.
    ///
    /// Today's servers have ``radioShowSearch`` instead.
    public static let radioShowResults = Self(
        "radioShowResults",
        "2.0/{bu}/searchResultListShow/radio.json",
        ["q"],
        paging: .pages,
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "radioShowSearch"
    )

    // Modules and popularity.
    /// The latest medias of a module.
    ///
    /// Today's servers have ``moduleLatestMedias`` instead.
    public static let moduleLatestMediasByUid = Self(
        "moduleLatestMediasByUid",
        "2.0/{bu}/mediaList/latestByModule/{type}/{uid}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "moduleLatestMedias"
    )
    /// The latest medias of a section of a module.
    ///
    /// Today's servers have ``moduleLatestMedias`` instead.
    public static let moduleSectionLatestMedias = Self(
        "moduleSectionLatestMedias",
        "2.0/{bu}/mediaList/latestByModuleAndSection/{type}/{uid}/{sectionUid}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "moduleLatestMedias"
    )
    /// Counts a view, a like or a share of a video or audio.
    ///
    /// Today's servers have ``increaseSocialCount`` instead.
    public static let increaseSocialCountByUid = Self(
        "increaseSocialCountByUid",
        "2.0/{bu}/mediaStatistic/{type}/{uid}/{endpoint}.json",
        for: BusinessUnit.international,
        method: .post,
        isFirstGeneration: true,
        successor: "increaseSocialCount"
    )

    // Services from before and after the first generation, which current services have replaced.
    /// A message of the broadcaster to its users.
    public static let serviceMessage = Self(
        "serviceMessage",
        "2.0/{bu}/general/information.json",
        for: BusinessUnit.international,
        isFirstGeneration: true
    )
    /// The events with their own medias, before they were modules.
    ///
    /// Today's servers have ``modules`` instead.
    public static let events = Self(
        "events",
        "2.0/{bu}/eventConfigList.json",
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "modules"
    )
    /// The videos recommended after another.
    ///
    /// Today's servers have ``recommendedMedias`` instead.
    public static let recommendedVideos = Self(
        "recommendedVideos",
        "2.0/{bu}/mediaList/video/recommended/{uid}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "recommendedMedias"
    )
    /// The videos recommended to a user after another.
    ///
    /// Today's servers have ``recommendedMediasForUser`` instead.
    public static let recommendedVideosForUser = Self(
        "recommendedVideosForUser",
        "2.0/{bu}/mediaList/video/recommendedByUserId/{uid}/{userId}.json",
        paging: .pages,
        for: BusinessUnit.international,
        isFirstGeneration: true,
        successor: "recommendedMediasForUser"
    )
    /// The latest audios of all channels.
    ///
    /// Today's servers have ``radioLatestMedias`` instead.
    public static let latestAudios = Self(
        "latestAudios",
        "2.0/{bu}/mediaList/audio/latest.json",
        paging: .pages,
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "radioLatestMedias"
    )
    /// The most popular audios of all channels.
    ///
    /// Today's servers have ``radioMostPopularMedias`` instead.
    public static let mostPopularAudios = Self(
        "mostPopularAudios",
        "2.0/{bu}/mediaList/audio/mostClicked.json",
        paging: .pages,
        for: BusinessUnit.national,
        isFirstGeneration: true,
        successor: "radioMostPopularMedias"
    )

    /// The earlier services without an exact replacement today.
    public static let firstGeneration: [CatalogueService] = [
        .tvTrendingMediaPages,
        .tvTopicLatestMedias,
        .tvTopicMostPopularMedias,
        .tvShowsByUids,
        .tvShow,
        .tvShowLatestEpisodes,
        .radioShowsByUids,
        .radioShow,
        .radioShowLatestEpisodes,
        .onlineShows,
        .onlineShowsByUids,
        .onlineShow,
        .onlineShowLatestEpisodes,
        .videos,
        .video,
        .videoComposition,
        .videoSearch,
        .audios,
        .audio,
        .audioComposition,
        .audioSearch,
        .tvShowResults,
        .radioShowResults,
        .moduleLatestMediasByUid,
        .moduleSectionLatestMedias,
        .increaseSocialCountByUid,
        .serviceMessage,
        .events,
        .recommendedVideos,
        .recommendedVideosForUser,
        .latestAudios,
        .mostPopularAudios,
    ]
}
