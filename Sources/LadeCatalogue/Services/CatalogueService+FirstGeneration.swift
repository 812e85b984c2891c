// The services of the first generation that today's servers have under another name, or no more.
extension CatalogueService {
    /// The earlier services without an exact replacement today.
    public static let firstGeneration: [CatalogueService] = earlier.map { service in
        var service = service
        service.isFirstGeneration = true
        return service
    }

    private static let earlier: [CatalogueService] = [
        // Television.
        Self(
            "tvTrendingMediaPages",
            "2.0/{bu}/mediaList/video/trending.json",
            paging: .pages,
            for: .international,
            successor: "tvTrendingMedias"
        ),
        Self(
            "tvTopicLatestMedias",
            "2.0/{bu}/mediaList/video/latestByTopic/{topicUid}.json",
            paging: .pages,
            for: .international,
            successor: "topicLatestMedias"
        ),
        Self(
            "tvTopicMostPopularMedias",
            "2.0/{bu}/mediaList/video/mostClicked.json",
            ["topicId"],
            paging: .pages,
            for: .international,
            successor: "topicMostPopularMedias"
        ),
        Self("tvShowsByUids", "2.0/{bu}/showList/tv/byIds.json", ["ids"], for: .international, successor: "shows"),
        Self("tvShow", "2.0/{bu}/show/tv/{uid}.json", for: .international, successor: "show"),
        Self(
            "tvShowLatestEpisodes",
            "2.0/{bu}/episodeComposition/latestByShow/tv/{uid}.json",
            ["maxPublishedDate"],
            paging: .pages,
            for: .international,
            successor: "showLatestEpisodes"
        ),
        // Radio and online.
        Self("radioShowsByUids", "2.0/{bu}/showList/radio/byIds.json", ["ids"], for: .national, successor: "shows"),
        Self("radioShow", "2.0/{bu}/show/radio/{uid}.json", for: .national, successor: "show"),
        Self(
            "radioShowLatestEpisodes",
            "2.0/{bu}/episodeComposition/latestByShow/radio/{uid}.json",
            ["maxPublishedDate"],
            paging: .pages,
            for: .national,
            successor: "showLatestEpisodes"
        ),
        Self("onlineShows", "2.0/{bu}/showList/online/alphabetical/all.json", paging: .pages, for: [.srf, .rtr]),
        Self(
            "onlineShowsByUids",
            "2.0/{bu}/showList/online/byIds.json",
            ["ids"],
            for: [.srf, .rsi, .rtr, .swi],
            successor: "shows"
        ),
        Self("onlineShow", "2.0/{bu}/show/online/{uid}.json", for: [.srf, .rsi, .rtr, .swi], successor: "show"),
        Self(
            "onlineShowLatestEpisodes",
            "2.0/{bu}/episodeComposition/latestByShow/online/{uid}.json",
            ["maxPublishedDate"],
            paging: .pages,
            for: [.srf, .rsi, .rtr, .swi],
            successor: "showLatestEpisodes"
        ),
        // Videos and audios.
        Self("videos", "2.0/{bu}/mediaList/video/byIds.json", ["ids"], for: .international, successor: "medias"),
        Self("video", "2.0/{bu}/mediaList/video/byIds.json", ["ids"], for: .international, successor: "media"),
        Self(
            "videoComposition",
            "2.0/{bu}/mediaComposition/video/{uid}.json",
            ["onlyChapters"],
            for: .international,
            successor: "mediaComposition"
        ),
        Self(
            "videoSearch",
            "2.0/{bu}/searchResultListMedia/video.json",
            ["q"],
            paging: .pages,
            for: .international,
            successor: "mediaSearch"
        ),
        Self("audios", "2.0/{bu}/mediaList/audio/byIds.json", ["ids"], for: .national, successor: "medias"),
        Self("audio", "2.0/{bu}/mediaList/audio/byIds.json", ["ids"], for: .national, successor: "media"),
        Self(
            "audioComposition",
            "2.0/{bu}/mediaComposition/audio/{uid}.json",
            ["onlyChapters"],
            for: .national,
            successor: "mediaComposition"
        ),
        Self(
            "audioSearch",
            "2.0/{bu}/searchResultListMedia/audio.json",
            ["q"],
            paging: .pages,
            for: .national,
            successor: "mediaSearch"
        ),
        Self(
            "tvShowResults",
            "2.0/{bu}/searchResultListShow/tv.json",
            ["q"],
            paging: .pages,
            for: .international,
            successor: "tvShowSearch"
        ),
        Self(
            "radioShowResults",
            "2.0/{bu}/searchResultListShow/radio.json",
            ["q"],
            paging: .pages,
            for: .national,
            successor: "radioShowSearch"
        ),
        // Modules and popularity.
        Self(
            "moduleLatestMediasByUid",
            "2.0/{bu}/mediaList/latestByModule/{type}/{uid}.json",
            paging: .pages,
            for: .international,
            successor: "moduleLatestMedias"
        ),
        Self(
            "moduleSectionLatestMedias",
            "2.0/{bu}/mediaList/latestByModuleAndSection/{type}/{uid}/{sectionUid}.json",
            paging: .pages,
            for: .international,
            successor: "moduleLatestMedias"
        ),
        Self(
            "increaseSocialCountByUid",
            "2.0/{bu}/mediaStatistic/{type}/{uid}/{endpoint}.json",
            for: .international,
            method: .post,
            successor: "increaseSocialCount"
        ),
        // Services from before and after the first generation, which current services have replaced.
        Self("serviceMessage", "2.0/{bu}/general/information.json", for: .international),
        Self("events", "2.0/{bu}/eventConfigList.json", for: .international, successor: "modules"),
        Self(
            "recommendedVideos",
            "2.0/{bu}/mediaList/video/recommended/{uid}.json",
            paging: .pages,
            for: .international,
            successor: "recommendedMedias"
        ),
        Self(
            "recommendedVideosForUser",
            "2.0/{bu}/mediaList/video/recommendedByUserId/{uid}/{userId}.json",
            paging: .pages,
            for: .international,
            successor: "recommendedMediasForUser"
        ),
        Self(
            "latestAudios",
            "2.0/{bu}/mediaList/audio/latest.json",
            paging: .pages,
            for: .national,
            successor: "radioLatestMedias"
        ),
        Self(
            "mostPopularAudios",
            "2.0/{bu}/mediaList/audio/mostClicked.json",
            paging: .pages,
            for: .national,
            successor: "radioMostPopularMedias"
        ),
    ]
}
