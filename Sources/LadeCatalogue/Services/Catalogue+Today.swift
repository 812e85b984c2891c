#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

// ``CatalogueService`` lists the business units for each service.
extension Catalogue {
    // MARK: - Television: channels, livestreams and programs

    /// The television channels.
    public func tvChannels(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Channel]> {
        try list("tvChannels", unit)
    }

    /// A television channel with its current and next program.
    public func tvChannel(_ unit: BusinessUnit? = nil, uid: String) throws(CatalogueError) -> Endpoint<Channel> {
        try object("tvChannel", unit, ["channelUid": uid])
    }

    /// The programs of a television channel within a period, which ends now by default.
    public func tvLatestPrograms(
        _ unit: BusinessUnit? = nil,
        uid: String,
        livestreamUid: String? = nil,
        from: Date? = nil,
        to: Date? = nil
    ) throws(CatalogueError) -> PagedEndpoint<PagedObject<ProgramComposition>> {
        try objectPages("tvLatestPrograms", unit, programs(uid, livestreamUid, from, to))
    }

    /// The programs of a day on the channels of the broadcaster.
    public func tvPrograms(
        _ unit: BusinessUnit? = nil,
        day: Day? = nil,
        channelUid: String? = nil,
        isReduced: Bool = false
    )
        throws(CatalogueError) -> Endpoint<[ProgramComposition]>
    {
        try list("tvPrograms", unit, guide(day, channelUid, isReduced))
    }

    /// The programs of a day on third-party channels.
    public func tvThirdPartyPrograms(
        _ unit: BusinessUnit? = nil,
        day: Day? = nil,
        channelUid: String? = nil,
        isReduced: Bool = false
    ) throws(CatalogueError) -> Endpoint<[ProgramComposition]> {
        try list("tvThirdPartyPrograms", unit, guide(day, channelUid, isReduced))
    }

    /// The television livestreams.
    public func tvLivestreams(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Media]> {
        try list("tvLivestreams", unit)
    }

    /// The scheduled television livestreams.
    public func tvScheduledLivestreams(
        _ unit: BusinessUnit? = nil,
        signLanguageOnly: Bool = false,
        eventType: ScheduledLivestreamEventType = .all
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages(
            "tvScheduledLivestreams",
            unit,
            present(["signLanguageOnly": signLanguageOnly ? "true" : nil, "eventType": eventType.item])
        )
    }

    // MARK: - Television: medias, topics and shows

    /// The medias selected by editors, as the first generation of services has them.
    ///
    /// Today's servers have the landing page of a product instead: `landingPage(…)`.
    public func tvEditorialMedias(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("tvEditorialMedias", unit)
    }

    /// The medias of the hero stage.
    public func tvHeroStageMedias(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Media]> {
        try list("tvHeroStageMedias", unit)
    }

    /// The latest medias.
    public func tvLatestMedias(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("tvLatestMedias", unit)
    }

    /// The most popular medias.
    public func tvMostPopularMedias(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Media>>
    {
        try pages("tvMostPopularMedias", unit)
    }

    /// The medias whose availability ends soon.
    public func tvSoonExpiringMedias(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<
        Listing<Media>
    > {
        try pages("tvSoonExpiringMedias", unit)
    }

    /// The trending medias, by default 10.
    public func tvTrendingMedias(
        _ unit: BusinessUnit? = nil,
        limit: Int? = nil,
        editorialLimit: Int? = nil,
        episodesOnly: Bool = false
    ) throws(CatalogueError) -> Endpoint<[Media]> {
        try list("tvTrendingMedias", unit, trending(limit, editorialLimit, episodesOnly))
    }

    /// The latest episodes.
    public func tvLatestEpisodes(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("tvLatestEpisodes", unit)
    }

    /// The latest episodes published on the web first.
    public func tvLatestWebFirstEpisodes(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<
        Listing<Media>
    > {
        try pages("tvLatestWebFirstEpisodes", unit)
    }

    /// The episodes of a day, which begins at 05:00.
    public func tvEpisodes(_ unit: BusinessUnit? = nil, day: Day? = nil) throws(CatalogueError) -> PagedEndpoint<
        Listing<Media>
    > {
        try pages("tvEpisodes", unit, ["day": text(day)])
    }

    /// The television topics.
    public func tvTopics(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Topic]> {
        try list("tvTopics", unit)
    }

    /// The television shows by title.
    public func tvShows(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Show>> {
        try pages("tvShows", unit)
    }

    /// The television shows that match a query.
    public func tvShowSearch(_ unit: BusinessUnit? = nil, matching query: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<SearchHit>
        >
    {
        try pages("tvShowSearch", unit, ["q": checkedQuery(query)])
    }

    /// The most popular shows of a television topic.
    public func tvMostPopularShows(_ unit: BusinessUnit? = nil, topicUid: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<Show>
        >
    {
        try pages("tvMostPopularShows", unit, ["topicUid": topicUid])
    }

    // MARK: - Radio

    /// The radio channels.
    public func radioChannels(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Channel]> {
        try list("radioChannels", unit)
    }

    /// A radio channel with its current and next program.
    public func radioChannel(_ unit: BusinessUnit? = nil, uid: String, livestreamUid: String? = nil)
        throws(CatalogueError)
        -> Endpoint<Channel>
    {
        try object("radioChannel", unit, present(["channelUid": uid, "livestreamId": livestreamUid]))
    }

    /// The programs of a radio channel within a period, which ends now by default.
    public func radioLatestPrograms(
        _ unit: BusinessUnit? = nil,
        uid: String,
        livestreamUid: String? = nil,
        from: Date? = nil,
        to: Date? = nil
    ) throws(CatalogueError) -> PagedEndpoint<PagedObject<ProgramComposition>> {
        try objectPages("radioLatestPrograms", unit, programs(uid, livestreamUid, from, to))
    }

    /// The livestreams of a radio channel.
    public func radioLivestreams(_ unit: BusinessUnit? = nil, channelUid: String) throws(CatalogueError) -> Endpoint<
        [Media]
    > {
        try list("radioLivestreams", unit, ["channelUid": channelUid])
    }

    /// The radio livestreams of some content providers.
    public func radioLivestreamsOfProviders(_ unit: BusinessUnit? = nil, of providers: ContentProviders = .default)
        throws(CatalogueError) -> Endpoint<[Media]>
    {
        try list("radioLivestreamsOfProviders", unit, providers.items)
    }

    /// The latest medias of a radio channel.
    public func radioLatestMedias(_ unit: BusinessUnit? = nil, channelUid: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<Media>
        >
    {
        try pages("radioLatestMedias", unit, ["channelUid": channelUid])
    }

    /// The most popular medias of a radio channel.
    public func radioMostPopularMedias(_ unit: BusinessUnit? = nil, channelUid: String) throws(CatalogueError)
        -> PagedEndpoint<Listing<Media>>
    {
        try pages("radioMostPopularMedias", unit, ["channelUid": channelUid])
    }

    /// The latest episodes of a radio channel.
    public func radioLatestEpisodes(_ unit: BusinessUnit? = nil, channelUid: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<Media>
        >
    {
        try pages("radioLatestEpisodes", unit, ["channelUid": channelUid])
    }

    /// The episodes of a day on a radio channel.
    public func radioEpisodes(_ unit: BusinessUnit? = nil, day: Day? = nil, channelUid: String) throws(CatalogueError)
        -> PagedEndpoint<Listing<Media>>
    {
        try pages("radioEpisodes", unit, ["day": text(day), "channelUid": channelUid])
    }

    /// The latest videos of a radio channel.
    public func radioLatestVideos(_ unit: BusinessUnit? = nil, channelUid: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<Media>
        >
    {
        try pages("radioLatestVideos", unit, ["channelUid": channelUid])
    }

    /// The radio topics.
    public func radioTopics(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Topic]> {
        try list("radioTopics", unit)
    }

    /// The shows of a radio channel by title.
    public func radioShows(_ unit: BusinessUnit? = nil, channelUid: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<Show>
    > {
        try pages("radioShows", unit, ["channelUid": channelUid])
    }

    /// All radio shows by title.
    public func allRadioShows(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> PagedEndpoint<Listing<Show>> {
        try pages("allRadioShows", unit)
    }

    /// The radio shows that match a query.
    public func radioShowSearch(_ unit: BusinessUnit? = nil, matching query: String) throws(CatalogueError)
        -> PagedEndpoint<
            Listing<SearchHit>
        >
    {
        try pages("radioShowSearch", unit, ["q": checkedQuery(query)])
    }

    /// The songs on a radio channel; with unlimited pages, those of today.
    public func radioSongs(_ unit: BusinessUnit? = nil, channelUid: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<Song>
    > {
        try pages("radioSongs", unit, ["channelUid": channelUid])
    }

    /// The current song on a radio channel.
    public func radioCurrentSong(_ unit: BusinessUnit? = nil, channelUid: String) throws(CatalogueError) -> Endpoint<
        Song?
    > {
        try first("radioCurrentSong", unit, ["channelUid": channelUid])
    }

    // MARK: - Live centre

    /// The videos of the live centre.
    public func liveCenterVideos(
        _ unit: BusinessUnit? = nil,
        filter: ContentTypeFilter = .none,
        onlyWithResult: Bool = true
    )
        throws(CatalogueError) -> PagedEndpoint<Listing<Media>>
    {
        try pages(
            "liveCenterVideos",
            unit,
            present(["onlyEventsWithResult": String(onlyWithResult), "types": filter.item])
        )
    }

    // MARK: - Search

    /// The shows that match a query.
    public func showSearch(_ unit: BusinessUnit? = nil, matching query: String, mediaType: MediaType = .none)
        throws(CatalogueError) -> PagedEndpoint<Listing<SearchHit>>
    {
        try pages("showSearch", unit, present(["q": checkedQuery(query), "mediaType": mediaType.item]))
    }

    /// The most searched television shows, from a service that no longer responds.
    public func tvMostSearchedShows(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Show]> {
        try list("tvMostSearchedShows", unit)
    }

    /// The most searched radio shows, from a service that no longer responds.
    public func radioMostSearchedShows(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Show]> {
        try list("radioMostSearchedShows", unit)
    }

    /// The most searched shows, from a service that no longer responds.
    public func mostSearchedShows(_ unit: BusinessUnit? = nil) throws(CatalogueError) -> Endpoint<[Show]> {
        try list("mostSearchedShows", unit)
    }

    // MARK: - Recommendations and modules

    /// The medias recommended after another.
    public func recommendedMedias(urn: String) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("recommendedMedias", nil, ["urn": checked(urn)])
    }

    /// The medias recommended to a user after another.
    public func recommendedMediasForUser(urn: String, userId: String) throws(CatalogueError) -> PagedEndpoint<
        Listing<Media>
    > {
        try pages("recommendedMediasForUser", nil, ["urn": checked(urn), "userId": userId])
    }

    /// The events with their own medias.
    public func modules(_ unit: BusinessUnit? = nil, type: Module.Kind = .event) throws(CatalogueError) -> Endpoint<
        [Module]
    > {
        try list("modules", unit, ["type": chosen(type)])
    }

    // MARK: - Popularity

    /// Counts that a show was opened from search results.
    public func increaseSearchResultsViewCount(showURN: String) throws(CatalogueError) -> Endpoint<
        ShowStatisticsOverview
    > {
        try object("increaseSearchResultsViewCount", nil, ["urn": checked(showURN)])
    }

    // MARK: - Editorial pages

    /// An editorial page.
    public func page(_ unit: BusinessUnit? = nil, uid: String, isPublished: Bool = true, at date: Date? = nil)
        throws(CatalogueError) -> Endpoint<EditorialPage>
    {
        try object("page", unit, preview(["uid": uid], isPublished, date))
    }

    /// The landing page of a product.
    public func landingPage(
        _ unit: BusinessUnit? = nil,
        product: Product,
        isPublished: Bool = true,
        at date: Date? = nil
    )
        throws(CatalogueError) -> Endpoint<EditorialPage>
    {
        try object("landingPage", unit, preview(["product": product.name], isPublished, date))
    }

    /// The page of a topic.
    public func topicPage(_ unit: BusinessUnit? = nil, topicURN: String, isPublished: Bool = true, at date: Date? = nil)
        throws(CatalogueError) -> Endpoint<EditorialPage>
    {
        try object("topicPage", unit, preview(["topicUrn": checked(topicURN)], isPublished, date))
    }

    /// The page of a show in a product.
    public func showPage(
        _ unit: BusinessUnit? = nil,
        showURN: String,
        product: Product,
        isPublished: Bool = true,
        at date: Date? = nil
    ) throws(CatalogueError) -> Endpoint<EditorialPage> {
        try object(
            "showPage",
            unit,
            preview(["showUrn": checked(showURN), "product": product.name], isPublished, date)
        )
    }

    /// A section of a page.
    public func section(_ unit: BusinessUnit? = nil, uid: String, isPublished: Bool = true) throws(CatalogueError)
        -> Endpoint<
            EditorialPage.Section
        >
    {
        try object("section", unit, preview(["uid": uid], isPublished, nil))
    }

    /// The medias of a section.
    public func sectionMedias(
        _ unit: BusinessUnit? = nil,
        uid: String,
        userId: String? = nil,
        isPublished: Bool = true,
        at date: Date? = nil
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("sectionMedias", unit, preview(present(["uid": uid, "userId": userId]), isPublished, date))
    }

    /// The shows of a section.
    public func sectionShows(
        _ unit: BusinessUnit? = nil,
        uid: String,
        userId: String? = nil,
        isPublished: Bool = true,
        at date: Date? = nil
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Show>> {
        try pages("sectionShows", unit, preview(present(["uid": uid, "userId": userId]), isPublished, date))
    }

    /// The show of a section with its medias.
    public func sectionShowAndMedias(
        _ unit: BusinessUnit? = nil,
        uid: String,
        userId: String? = nil,
        isPublished: Bool = true,
        at date: Date? = nil
    ) throws(CatalogueError) -> PagedEndpoint<PagedObject<ShowAndMedias>> {
        try objectPages(
            "sectionShowAndMedias",
            unit,
            preview(present(["uid": uid, "userId": userId]), isPublished, date)
        )
    }

    // MARK: - By URN

    /// A media.
    public func media(urn: String) throws(CatalogueError) -> Endpoint<Media> {
        try object("media", nil, ["urn": checked(urn)])
    }

    /// The latest medias of a topic.
    public func topicLatestMedias(topicURN urn: String) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("topicLatestMedias", nil, ["urn": checked(urn)])
    }

    /// The most popular medias of a topic.
    public func topicMostPopularMedias(topicURN urn: String) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("topicMostPopularMedias", nil, ["urn": checked(urn)])
    }

    /// The composition for playing a media: chapters with segments, or only standalone ones.
    public func mediaComposition(urn: String, standalone: Bool = false) throws(CatalogueError) -> Endpoint<
        MediaComposition
    > {
        try object("mediaComposition", nil, present(["urn": checked(urn), "onlyChapters": standalone ? "true" : nil]))
    }

    /// A show.
    public func show(urn: String) throws(CatalogueError) -> Endpoint<Show> {
        try object("show", nil, ["urn": checked(urn)])
    }

    /// The latest episodes of a show, up to a day.
    public func showLatestEpisodes(showURN urn: String, until day: Day? = nil) throws(CatalogueError) -> PagedEndpoint<
        PagedObject<EpisodeComposition>
    > {
        try objectPages("showLatestEpisodes", nil, present(["urn": checked(urn), "maxPublishedDate": inRange(day)]))
    }

    /// The latest medias of a show.
    public func showLatestMedias(showURN urn: String) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("showLatestMedias", nil, ["urn": checked(urn)])
    }

    /// The latest medias of some shows, ten at most.
    public func showsLatestMedias(showURNs urns: [String], filter: MediaFilter = .none, until day: Day? = nil)
        throws(CatalogueError) -> PagedEndpoint<Listing<Media>>
    {
        try pages(
            "showsLatestMedias",
            nil,
            present(["urns": joined(urns, limit: 10), "maxPublishedDate": inRange(day), "types": filter.item])
        )
    }

    /// The latest medias of a module or of one of its sections.
    public func moduleLatestMedias(moduleURN urn: String) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try pages("moduleLatestMedias", nil, ["urn": checked(urn)])
    }
}
