public import Lade

// The first generation of services, for installations that still offer them.
extension Catalogue {
    // MARK: - Television

    /// The trending medias in pages.
    public func seedTVTrendingMedias(_ unit: BusinessUnit) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages(.seedTVTrendingMedias, unit)
    }

    /// The latest medias of a television topic.
    public func seedTVLatestMedias(_ unit: BusinessUnit, topicUid: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<Media>
    > {
        try pages(.seedTVLatestMedias, unit, ["topicUid": topicUid])
    }

    /// The most popular medias of a television topic.
    public func seedTVMostPopularMedias(_ unit: BusinessUnit, topicUid: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<Media>
    > {
        try pages(.seedTVMostPopularMedias, unit, ["topicId": topicUid])
    }

    /// Some television shows.
    public func seedTVShows(_ unit: BusinessUnit, uids: [String]) throws(CatalogueError) -> Endpoint<[Show]> {
        try list(.seedTVShows, unit, ["ids": joinedIdentifiers(uids)])
    }

    /// A television show.
    public func seedTVShow(_ unit: BusinessUnit, uid: String) throws(CatalogueError) -> Endpoint<Show> {
        try object(.seedTVShow, unit, ["uid": uid])
    }

    /// The latest episodes of a television show, up to a month.
    public func seedTVLatestEpisodes(_ unit: BusinessUnit, showUid uid: String, untilMonthOf day: Day? = nil)
        throws(CatalogueError) -> PagedEndpoint<PagedObject<EpisodeComposition>>
    {
        try objectPages(.seedTVLatestEpisodes, unit, present(["uid": uid, "maxPublishedDate": month(day)]))
    }

    // MARK: - Radio and online

    /// Some radio shows.
    public func seedRadioShows(_ unit: BusinessUnit, uids: [String]) throws(CatalogueError) -> Endpoint<[Show]> {
        try list(.seedRadioShows, unit, ["ids": joinedIdentifiers(uids)])
    }

    /// A radio show.
    public func seedRadioShow(_ unit: BusinessUnit, uid: String) throws(CatalogueError) -> Endpoint<Show> {
        try object(.seedRadioShow, unit, ["uid": uid])
    }

    /// The latest episodes of a radio show, up to a month.
    public func seedRadioLatestEpisodes(_ unit: BusinessUnit, showUid uid: String, untilMonthOf day: Day? = nil)
        throws(CatalogueError) -> PagedEndpoint<PagedObject<EpisodeComposition>>
    {
        try objectPages(.seedRadioLatestEpisodes, unit, present(["uid": uid, "maxPublishedDate": month(day)]))
    }

    /// The online shows.
    public func seedAllOnlineShows(_ unit: BusinessUnit) throws(CatalogueError) -> PagedEndpoint<Listing<Show>> {
        try pages(.seedAllOnlineShows, unit)
    }

    /// Some online shows.
    public func seedOnlineShows(_ unit: BusinessUnit, uids: [String]) throws(CatalogueError) -> Endpoint<[Show]> {
        try list(.seedOnlineShows, unit, ["ids": joinedIdentifiers(uids)])
    }

    /// An online show.
    public func seedOnlineShow(_ unit: BusinessUnit, uid: String) throws(CatalogueError) -> Endpoint<Show> {
        try object(.seedOnlineShow, unit, ["uid": uid])
    }

    /// The latest episodes of an online show, up to a month.
    public func seedOnlineLatestEpisodes(_ unit: BusinessUnit, showUid uid: String, untilMonthOf day: Day? = nil)
        throws(CatalogueError) -> PagedEndpoint<PagedObject<EpisodeComposition>>
    {
        try objectPages(.seedOnlineLatestEpisodes, unit, present(["uid": uid, "maxPublishedDate": month(day)]))
    }

    // MARK: - Videos and audios

    /// Some videos.
    public func seedVideos(_ unit: BusinessUnit, uids: [String]) throws(CatalogueError) -> Endpoint<[Media]> {
        try list(.seedVideos, unit, ["ids": joinedIdentifiers(uids)])
    }

    /// A video; nil when there is none.
    public func seedVideo(_ unit: BusinessUnit, uid: String) throws(CatalogueError) -> Endpoint<Media?> {
        try first(.seedVideo, unit, ["ids": joinedIdentifiers([uid])])
    }

    /// The composition for playing a video.
    public func seedVideoComposition(_ unit: BusinessUnit, uid: String, chaptersOnly: Bool = false)
        throws(CatalogueError) -> Endpoint<MediaComposition>
    {
        try object(.seedVideoComposition, unit, present(["uid": uid, "onlyChapters": chaptersOnly ? "true" : nil]))
    }

    /// The videos that match a query.
    public func seedVideoSearch(_ unit: BusinessUnit, matching query: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<SearchResultMedia>
    > {
        try pages(.seedVideoSearch, unit, ["q": checkedQuery(query)])
    }

    /// Some audios.
    public func seedAudios(_ unit: BusinessUnit, uids: [String]) throws(CatalogueError) -> Endpoint<[Media]> {
        try list(.seedAudios, unit, ["ids": joinedIdentifiers(uids)])
    }

    /// An audio; nil when there is none.
    public func seedAudio(_ unit: BusinessUnit, uid: String) throws(CatalogueError) -> Endpoint<Media?> {
        try first(.seedAudio, unit, ["ids": joinedIdentifiers([uid])])
    }

    /// The composition for playing an audio.
    public func seedAudioComposition(_ unit: BusinessUnit, uid: String, chaptersOnly: Bool = false)
        throws(CatalogueError) -> Endpoint<MediaComposition>
    {
        try object(.seedAudioComposition, unit, present(["uid": uid, "onlyChapters": chaptersOnly ? "true" : nil]))
    }

    /// The audios that match a query.
    public func seedAudioSearch(_ unit: BusinessUnit, matching query: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<SearchResultMedia>
    > {
        try pages(.seedAudioSearch, unit, ["q": checkedQuery(query)])
    }

    /// The television shows that match a query, as results.
    public func seedTVShowSearch(_ unit: BusinessUnit, matching query: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<SearchResultShow>
    > {
        try pages(.seedTVShowSearch, unit, ["q": checkedQuery(query)])
    }

    /// The radio shows that match a query, as results.
    public func seedRadioShowSearch(_ unit: BusinessUnit, matching query: String) throws(CatalogueError)
        -> PagedEndpoint<Listing<SearchResultShow>>
    {
        try pages(.seedRadioShowSearch, unit, ["q": checkedQuery(query)])
    }

    // MARK: - Modules and popularity

    /// The latest medias of a module.
    public func seedModuleLatestMedias(_ unit: BusinessUnit, type: ModuleType = .event, uid: String)
        throws(CatalogueError) -> PagedEndpoint<Listing<Media>>
    {
        try pages(.seedModuleLatestMedias, unit, ["type": chosen(type), "uid": uid])
    }

    /// The latest medias of a section of a module.
    public func seedModuleSectionLatestMedias(
        _ unit: BusinessUnit,
        type: ModuleType = .event,
        uid: String,
        sectionUid: String
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages(.seedModuleSectionLatestMedias, unit, ["type": chosen(type), "uid": uid, "sectionUid": sectionUid])
    }

    // MARK: - Before and after the first generation

    /// A message of the broadcaster to its users.
    public func seedServiceMessage(_ unit: BusinessUnit) throws(CatalogueError) -> Endpoint<ServiceMessage> {
        try object(.seedServiceMessage, unit)
    }

    /// The events with their own medias, before they were modules.
    public func seedEvents(_ unit: BusinessUnit) throws(CatalogueError) -> Endpoint<[Module]> {
        try endpoint(.seedEvents, unit).decoding(EventListing.self).map { $0.events ?? [] }
    }

    /// The videos recommended after another.
    public func seedRecommendedVideos(_ unit: BusinessUnit, uid: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<Media>
    > {
        try pages(.seedRecommendedVideos, unit, ["uid": uid])
    }

    /// The videos recommended to a user after another.
    public func seedRecommendedVideosForUser(
        _ unit: BusinessUnit,
        uid: String,
        userId: String
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages(.seedRecommendedVideosForUser, unit, ["uid": uid, "userId": userId])
    }

    /// The latest audios of all channels.
    public func seedLatestAudios(_ unit: BusinessUnit) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages(.seedLatestAudios, unit)
    }

    /// The most popular audios of all channels.
    public func seedMostPopularAudios(_ unit: BusinessUnit) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages(.seedMostPopularAudios, unit)
    }
}

/// The response with the events, whose list has another key than that of modules.
private struct EventListing: CatalogueModel {
    var events: [Module]?

    mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("eventConfigList", &events)
    }
}
