public import Lade

// The first generation of services, for installations that still offer them.
extension Catalogue {
    // MARK: - Television

    /// The trending medias in pages.
    ///
    /// Today's servers have them in one list, at most 50:
    /// ``tvTrendingMedias(_:limit:editorialLimit:episodesOnly:)``.
    public func tvTrendingMedias(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("tvTrendingMediaPages", unit)
    }

    /// The latest medias of a television topic.
    ///
    /// Today's servers have `topicLatestMedias(…)` instead.
    public func tvTopicLatestMedias(_ unit: BusinessUnit? = nil, topicUid: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<Media>
        >
    {
        try pages("tvTopicLatestMedias", unit, ["topicUid": topicUid])
    }

    /// The most popular medias of a television topic.
    ///
    /// Today's servers have `topicMostPopularMedias(…)` instead.
    public func tvTopicMostPopularMedias(_ unit: BusinessUnit? = nil, topicUid: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<Media>
        >
    {
        try pages("tvTopicMostPopularMedias", unit, ["topicId": topicUid])
    }

    /// Some television shows.
    ///
    /// Today's servers have `shows(…)` instead.
    public func tvShowsByUids(_ unit: BusinessUnit? = nil, uids: [String]) throws(CatalogueError) -> Endpoint<[Show]> {
        try list("tvShowsByUids", unit, ["ids": joinedIdentifiers(uids)])
    }

    /// A television show.
    ///
    /// Today's servers have `show(…)` instead.
    public func tvShow(_ unit: BusinessUnit? = nil, uid: String) throws(CatalogueError) -> Endpoint<Show> {
        try object("tvShow", unit, ["uid": uid])
    }

    /// The latest episodes of a television show, up to a month.
    ///
    /// Today's servers have `showLatestEpisodes(…)` instead.
    public func tvShowLatestEpisodes(_ unit: BusinessUnit? = nil, showUid uid: String, untilMonthOf day: Day? = nil)
        throws(CatalogueError) -> PagedEndpoint<PagedObject<EpisodeComposition>>
    {
        try objectPages("tvShowLatestEpisodes", unit, present(["uid": uid, "maxPublishedDate": month(day)]))
    }

    // MARK: - Radio and online

    /// Some radio shows.
    ///
    /// Today's servers have `shows(…)` instead.
    public func radioShowsByUids(_ unit: BusinessUnit? = nil, uids: [String]) throws(CatalogueError) -> Endpoint<[Show]>
    {
        try list("radioShowsByUids", unit, ["ids": joinedIdentifiers(uids)])
    }

    /// A radio show.
    ///
    /// Today's servers have `show(…)` instead.
    public func radioShow(_ unit: BusinessUnit? = nil, uid: String) throws(CatalogueError) -> Endpoint<Show> {
        try object("radioShow", unit, ["uid": uid])
    }

    /// The latest episodes of a radio show, up to a month.
    ///
    /// Today's servers have `showLatestEpisodes(…)` instead.
    public func radioShowLatestEpisodes(_ unit: BusinessUnit? = nil, showUid uid: String, untilMonthOf day: Day? = nil)
        throws(CatalogueError) -> PagedEndpoint<PagedObject<EpisodeComposition>>
    {
        try objectPages("radioShowLatestEpisodes", unit, present(["uid": uid, "maxPublishedDate": month(day)]))
    }

    /// The online shows.
    public func onlineShows(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Show>> {
        try pages("onlineShows", unit)
    }

    /// Some online shows.
    ///
    /// Today's servers have `shows(…)` instead.
    public func onlineShowsByUids(_ unit: BusinessUnit? = nil, uids: [String]) throws(CatalogueError) -> Endpoint<
        [Show]
    > {
        try list("onlineShowsByUids", unit, ["ids": joinedIdentifiers(uids)])
    }

    /// An online show.
    ///
    /// Today's servers have `show(…)` instead.
    public func onlineShow(_ unit: BusinessUnit? = nil, uid: String) throws(CatalogueError) -> Endpoint<Show> {
        try object("onlineShow", unit, ["uid": uid])
    }

    /// The latest episodes of an online show, up to a month.
    ///
    /// Today's servers have `showLatestEpisodes(…)` instead.
    public func onlineShowLatestEpisodes(_ unit: BusinessUnit? = nil, showUid uid: String, untilMonthOf day: Day? = nil)
        throws(CatalogueError) -> PagedEndpoint<PagedObject<EpisodeComposition>>
    {
        try objectPages("onlineShowLatestEpisodes", unit, present(["uid": uid, "maxPublishedDate": month(day)]))
    }

    // MARK: - Videos and audios

    /// Some videos.
    ///
    /// Today's servers have `medias(…)` instead.
    public func videos(_ unit: BusinessUnit? = nil, uids: [String]) throws(CatalogueError) -> Endpoint<[Media]> {
        try list("videos", unit, ["ids": joinedIdentifiers(uids)])
    }

    /// A video; nil when there is none.
    ///
    /// Today's servers have `media(…)` instead.
    public func video(_ unit: BusinessUnit? = nil, uid: String) throws(CatalogueError) -> Endpoint<Media?> {
        try first("video", unit, ["ids": joinedIdentifiers([uid])])
    }

    /// The composition for playing a video.
    ///
    /// Today's servers have `mediaComposition(…)` instead.
    public func videoComposition(_ unit: BusinessUnit? = nil, uid: String, chaptersOnly: Bool = false)
        throws(CatalogueError) -> Endpoint<MediaComposition>
    {
        try object("videoComposition", unit, present(["uid": uid, "onlyChapters": chaptersOnly ? "true" : nil]))
    }

    /// The videos that match a query.
    ///
    /// Today's servers have `mediaSearch(…)` instead.
    public func videoSearch(_ unit: BusinessUnit? = nil, matching query: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<SearchResultMedia>
        >
    {
        try pages("videoSearch", unit, ["q": checkedQuery(query)])
    }

    /// Some audios.
    ///
    /// Today's servers have `medias(…)` instead.
    public func audios(_ unit: BusinessUnit? = nil, uids: [String]) throws(CatalogueError) -> Endpoint<[Media]> {
        try list("audios", unit, ["ids": joinedIdentifiers(uids)])
    }

    /// An audio; nil when there is none.
    ///
    /// Today's servers have `media(…)` instead.
    public func audio(_ unit: BusinessUnit? = nil, uid: String) throws(CatalogueError) -> Endpoint<Media?> {
        try first("audio", unit, ["ids": joinedIdentifiers([uid])])
    }

    /// The composition for playing an audio.
    ///
    /// Today's servers have `mediaComposition(…)` instead.
    public func audioComposition(_ unit: BusinessUnit? = nil, uid: String, chaptersOnly: Bool = false)
        throws(CatalogueError) -> Endpoint<MediaComposition>
    {
        try object("audioComposition", unit, present(["uid": uid, "onlyChapters": chaptersOnly ? "true" : nil]))
    }

    /// The audios that match a query.
    ///
    /// Today's servers have `mediaSearch(…)` instead.
    public func audioSearch(_ unit: BusinessUnit? = nil, matching query: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<SearchResultMedia>
        >
    {
        try pages("audioSearch", unit, ["q": checkedQuery(query)])
    }

    /// The television shows that match a query, as results.
    ///
    /// Today's servers have `tvShowSearch(…)` instead.
    public func tvShowResults(_ unit: BusinessUnit? = nil, matching query: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<Show>
        >
    {
        try pages("tvShowResults", unit, ["q": checkedQuery(query)])
    }

    /// The radio shows that match a query, as results.
    ///
    /// Today's servers have `radioShowSearch(…)` instead.
    public func radioShowResults(_ unit: BusinessUnit? = nil, matching query: String) throws(CatalogueError)
        -> PagedEndpoint<Listing<Show>>
    {
        try pages("radioShowResults", unit, ["q": checkedQuery(query)])
    }

    // MARK: - Modules and popularity

    /// The latest medias of a module.
    ///
    /// Today's servers have `moduleLatestMedias(…)` instead.
    public func moduleLatestMediasByUid(_ unit: BusinessUnit? = nil, type: Module.Kind = .event, uid: String)
        throws(CatalogueError) -> PagedEndpoint<Listing<Media>>
    {
        try pages("moduleLatestMediasByUid", unit, ["type": chosen(type), "uid": uid])
    }

    /// The latest medias of a section of a module.
    ///
    /// Today's servers have `moduleLatestMedias(…)` instead.
    public func moduleSectionLatestMedias(
        _ unit: BusinessUnit? = nil,
        type: Module.Kind = .event,
        uid: String,
        sectionUid: String
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("moduleSectionLatestMedias", unit, ["type": chosen(type), "uid": uid, "sectionUid": sectionUid])
    }

    // MARK: - Before and after the first generation

    /// A message of the broadcaster to its users.
    public func serviceMessage(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<ServiceMessage> {
        try object("serviceMessage", unit)
    }

    /// The events with their own medias, before they were modules.
    ///
    /// Today's servers have `modules(…)` instead.
    public func events(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Module]> {
        try endpoint("events", unit).decoding(EventListing.self).map { $0.events ?? [] }
    }

    /// The videos recommended after another.
    ///
    /// Today's servers have `recommendedMedias(…)` instead.
    public func recommendedVideos(_ unit: BusinessUnit? = nil, uid: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<Media>
    > {
        try pages("recommendedVideos", unit, ["uid": uid])
    }

    /// The videos recommended to a user after another.
    ///
    /// Today's servers have `recommendedMediasForUser(…)` instead.
    public func recommendedVideosForUser(
        _ unit: BusinessUnit? = nil,
        uid: String,
        userId: String
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("recommendedVideosForUser", unit, ["uid": uid, "userId": userId])
    }

    /// The latest audios of all channels.
    ///
    /// Today's servers have `radioLatestMedias(…)` instead.
    public func latestAudios(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("latestAudios", unit)
    }

    /// The most popular audios of all channels.
    ///
    /// Today's servers have `radioMostPopularMedias(…)` instead.
    public func mostPopularAudios(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("mostPopularAudios", unit)
    }
}

/// The response with the events, whose list has another key than the list of modules.
private struct EventListing: CatalogueModel {
    var events: [Catalogue.Module]?

    mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("eventConfigList", &events)
    }
}
