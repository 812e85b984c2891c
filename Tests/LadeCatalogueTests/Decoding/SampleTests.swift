import Foundation
import LadeTesting
import Testing

@testable import LadeCatalogue

@Suite("Samples of every answer", .timeLimit(.minutes(5)))
struct SampleTests {
    @Test("a list of medias decodes to all of its values")
    func mediaList() throws {
        let listing = try decoded(Catalogue.Listing<Catalogue.Media>.self, Samples.mediaList)
        let first = try #require(listing.items.first)
        let second = try #require(listing.items.last)
        let now = try date("2026-01-01T00:00:00Z")

        #expect(listing.items.count == 2)
        #expect(listing.next?.hasSuffix("next=token-2") == true)
        #expect(
            (first.uid, first.urn, first.vendor, first.mediaType) == ("100001", "urn:rts:video:100001", .rts, .video)
        )
        #expect(
            (first.title, first.lead, first.summary) == (
                "Le lac au matin", "Promenade sur les quais", "Une heure au bord de l'eau."
            )
        )
        #expect(first.image?.url.absoluteString == "https://img.example.org/100001.image/16x9")
        #expect((first.imageTitle, first.imageCopyright) == ("Le lac", "Archives"))
        #expect(first.imageFocalPoint?.relativeWidth == 0.25)
        #expect(first.imageFocalPoint?.relativeHeight == 0.9)
        #expect((first.contentType, first.source) == (.episode, .none))
        #expect(first.date == (try date("2023-04-02T17:30:00Z")))
        #expect(first.duration == .seconds(3600))
        #expect(first.startDate == (try date("2023-04-02T18:30:00Z")))
        #expect(first.endDate == (try date("2033-04-02T18:30:00Z")))
        #expect((first.isPlayableAbroad, first.presentation, first.youthProtectionColor) == (false, .default, .yellow))
        #expect(first.accessibilityTitle == "Le lac au matin, une heure")
        #expect(first.podcastStandardDefinitionURL?.absoluteString == "https://media.example.org/100001-sd.mp4")
        #expect(first.podcastHighDefinitionURL?.absoluteString == "https://media.example.org/100001-hd.mp4")
        #expect(first.relatedContents?.map(\.title) == ["Le dossier"])
        #expect(first.relatedContents?.first?.url?.absoluteString == "https://example.org/lac")
        #expect(first.socialCounts?.map(\.type) == [.view, .like])
        #expect(first.socialCounts?.map(\.value) == [1200, 31])
        #expect(first.audioVariants?.map(\.type) == [.none, .audioDescription])
        #expect(first.subtitleVariants?.map(\.source) == [.hls, .external])
        #expect(first.recommendedSubtitleVariantSource == .hls)
        #expect(first.subtitleVariants(source: .external).map(\.type) == [.sdh])
        #expect(first.audioVariants?.first?.locale?.identifier == "fr")
        #expect(
            (first.channel?.title, first.episode?.title, first.show?.title) == (
                "Canal Un", "Le lac au matin", "Promenades"
            )
        )
        #expect(first.episode?.date == (try date("2023-04-02T17:30:00Z")))
        #expect(first.blockingReason(at: now) == .none && first.isPlayable(at: now))

        #expect(second.blockingReason(at: now) == .geoblocking)
        #expect(second.timeAvailability(at: now) == .available)
        #expect((second.contentType, second.source, second.duration) == (.scheduledLivestream, .editor, .zero))
        #expect(second.show == nil && second.audioVariants == nil)
    }

    @Test("the last page has no next one, and an exhausted list no items")
    func lastPages() throws {
        let last = try decoded(Catalogue.Listing<Catalogue.Media>.self, Samples.lastMediaList)
        let exhausted = try decoded(Catalogue.Listing<Catalogue.Media>.self, Samples.exhausted)

        #expect(last.items.map(\.title) == ["Fin"] && last.next == nil && last.total == nil)
        #expect(exhausted.items.isEmpty && exhausted.next == nil && exhausted.total == 20)
    }

    @Test("a media composition decodes to chapters, segments and streams")
    func mediaComposition() throws {
        let composition = try decoded(Catalogue.MediaComposition.self, Samples.mediaComposition)
        let full = try #require(composition.mainChapter)
        let clip = try #require(composition.chapters.last)
        let segments = try #require(full.segments)
        let now = try date("2026-01-01T00:00:00Z")

        #expect(full.urn == "urn:srf:video:full1")
        #expect(composition.mainSegment?.urn == "urn:srf:video:seg2")
        #expect(segments.map(\.uid) == ["seg1", "seg2"])
        #expect(segments.map(\.markIn) == [.seconds(6), .seconds(24)])
        #expect(segments.map(\.markOut) == [.seconds(24), .seconds(72)])
        #expect(segments.map(\.duration) == [.seconds(18), .seconds(48)])
        #expect(segments.map { $0.blockingReason(at: now) } == [.none, .legal])
        #expect(segments.last?.markInDate == (try date("2023-05-01T18:00:24Z")))
        #expect(segments.last?.markOutDate == (try date("2023-05-01T18:01:12Z")))
        #expect(composition.fullLengthMedia?.urn == "urn:srf:video:full1")

        #expect(full.playableResources?.count == 3)
        #expect(full.recommendedStreamingMethod == .hls)
        #expect(full.resources(streamingMethod: .hls).map(\.quality) == [.hd, .sd])
        let resource = try #require(full.resources?.first)
        #expect(resource.drm(.fairPlay)?.certificateURL?.absoluteString == "https://drm.example.org/fp.cer")
        #expect(resource.drm(.widevine)?.certificateURL == nil && resource.drm(.playReady) == nil)
        #expect(
            (resource.mediaContainer, resource.tokenType, resource.audioCodec, resource.videoCodec) == (
                .unknown, .none, .aac, .h264
            )
        )
        #expect(
            (resource.streamType, resource.streamOffset, resource.mimeType) == (
                .onDemand, .zero, "application/x-mpegURL"
            )
        )
        #expect(resource.analyticsLabels == ["media_url": "full1"] && resource.comScoreAnalyticsLabels == nil)
        #expect(full.resources?[1].tokenType == .akamai)
        #expect(full.recommendedSubtitleFormat == .vtt && full.subtitles(format: .vtt).count == 1)
        #expect(full.aspectRatio.value == 16.0 / 9 && clip.aspectRatio == .undefined && clip.aspectRatio.value == -1)
        #expect(full.spriteSheet?.columns == 20 && full.spriteSheet?.interval == .seconds(2))
        #expect(full.event == "opaque-1" && !full.isHidden)
        #expect(
            full.analyticsLabels == ["media_segment": "Rundgang"]
                && full.comScoreAnalyticsLabels == ["ns_st_ci": "full1"]
        )
        #expect(clip.fullLengthMarkIn == .seconds(6) && clip.fullLengthMarkOut == .seconds(36))
        #expect(clip.segments == nil)

        let other = try #require(composition.composition(for: clip))
        #expect(other.chapterURN == clip.urn && other.segmentURN == nil)
        #expect(other.fullLengthMedia?.urn == full.urn)
        #expect(composition.media(for: clip)?.presentation == .video360)
        #expect(composition.media(for: clip)?.show?.title == "Rundgang")
        #expect(composition.episode?.seasonNumber == 2 && composition.episode?.episodeNumber == 12)
        #expect(composition.show?.numberOfEpisodes == 12)
    }

    @Test("a list of shows decodes to all of its values")
    func showList() throws {
        let show = try #require(try decoded(Catalogue.Listing<Catalogue.Show>.self, Samples.showList).items.first)

        #expect((show.urn, show.transmission, show.primaryChannelUid) == ("urn:rsi:show:tv:s1", .tv, "c1"))
        #expect(show.homepageURL?.absoluteString == "https://example.org/passeggiate")
        #expect(show.podcastSubscriptionURL?.absoluteString == "https://example.org/passeggiate/podcast")
        #expect(show.podcastStandardDefinitionURL?.lastPathComponent == "sd.xml")
        #expect(show.podcastHighDefinitionURL?.lastPathComponent == "hd.xml")
        #expect(
            show.podcastDeezerURL?.host() == "deezer.example.org"
                && show.podcastSpotifyURL?.host() == "spotify.example.org"
        )
        #expect(show.image?.variant == .default && show.bannerImage?.variant == .default)
        #expect(show.posterImage?.variant == .poster && show.podcastImage?.variant == .podcast)
        #expect(show.shouldFallbackToPosterImage == false && show.shouldFallbackToPodcastImage == true)
        #expect(show.numberOfEpisodes == 40 && show.topics?.map(\.title) == ["Natura"])
        #expect(show.broadcastInformation?.message == "Il lunedì")
        #expect(show.broadcastInformation?.endDate == (try date("2023-12-31T22:59:59Z")))
        #expect(show.broadcastInformation?.url?.absoluteString == "https://example.org/orari")
    }

    @Test("a list of topics decodes with its subtopics")
    func topicList() throws {
        let topics = try decoded(Catalogue.Listing<Catalogue.Topic>.self, Samples.topicList).items

        #expect(topics.map(\.uid) == ["7", "8"])
        #expect(topics[0].subtopics?.map(\.title) == ["Montagne"] && topics[1].subtopics == nil)
        #expect(topics[0].imageTitle == "Bosco" && topics[0].lead == "Animali e piante")
    }

    @Test("a search for medias decodes to URNs, buckets and suggestions")
    func mediaSearch() throws {
        let result = try decoded(Catalogue.Listing<Catalogue.SearchHit>.self, Samples.mediaSearch)
        let aggregations = try #require(result.aggregations)

        #expect(result.urns == ["urn:srf:video:m1", "urn:srf:audio:m2"] && result.total == 148)
        #expect(aggregations.mediaTypeBuckets?.map(\.mediaType) == [.video, .audio])
        #expect(aggregations.mediaTypeBuckets?.map(\.count) == [100, 48])
        #expect(aggregations.subtitlesAvailableBuckets?.map(\.areSubtitlesAvailable) == [true, false])
        #expect(aggregations.downloadAvailableBuckets?.map(\.isDownloadAvailable) == [true])
        #expect(aggregations.playableAbroadBuckets?.map(\.isPlayableAbroad) == [true])
        #expect(aggregations.qualityBuckets?.map(\.quality) == [.hd, .sd])
        #expect(aggregations.showBuckets?.map(\.urn) == ["urn:srf:show:tv:s1"])
        #expect(aggregations.topicBuckets?.map(\.title) == ["Natur"])
        #expect(aggregations.durationInMinutesBuckets?.map(\.minutes) == [5, 30])
        #expect(aggregations.dateBuckets?.map(\.day) == [Catalogue.Day(day: 1, month: 5, year: 2023)])
        #expect(result.suggestions?.map(\.text) == ["bergwelt"])
        #expect(result.suggestions?.map(\.numberOfExactMatches) == [14])
    }

    @Test("searches for shows and of the seed era decode")
    func otherSearches() throws {
        let shows = try decoded(Catalogue.Listing<Catalogue.SearchHit>.self, Samples.showSearch)
        let seed = try decoded(Catalogue.Listing<Catalogue.SearchResultMedia>.self, Samples.seedMediaSearch)
        let media = try #require(seed.items.first)
        let show = try decoded(
            Catalogue.Listing<Catalogue.Show>.self,
            #"{"searchResultListShow": [{"urn": "urn:srf:show:tv:s1", "transmission": "TV"}], "total": 1}"#
        )

        #expect(shows.urns == ["urn:srf:show:tv:s1"] && shows.total == 1)
        #expect(
            (media.episodeUid, media.episodeTitle, media.showUid, media.showTitle) == (
                "e1", "Folge 1", "s1", "Rundgang"
            )
        )
        #expect((media.channelUid, media.duration, media.presentation, seed.total) == ("c1", .seconds(60), .default, 1))
        #expect(show.items.map(\.transmission) == [.tv])
    }

    @Test("programs of a channel decode, each with an identity")
    func programComposition() throws {
        let page = try decoded(Catalogue.PagedObject<Catalogue.ProgramComposition>.self, Samples.programComposition)
        let program = try #require(page.programs?.first)
        let part = try #require(program.subprograms?.first)

        #expect(page.next?.hasSuffix("token-2") == true && page.channel?.uid == "c1")
        #expect(program.uid.hasSuffix("2023-05-01T04:00:00Z-2023-05-01T06:00:00Z"))
        #expect(part.uid.hasPrefix("urn:srf:channel:tv:c1-Wetter-") && part.image == nil && part.identity == part.uid)
        #expect(program.crewMembers?.map(\.name) == ["Ada Muster"])
        #expect(program.crewMembers?.map(\.characterName) == ["Gastgeberin"])
        #expect((program.seasonNumber, program.episodeNumber, program.numberOfEpisodes) == (3, 4, 20))
        #expect((program.productionYear, program.productionCountry, program.genre) == (2023, "CH", "Magazin"))
        #expect((program.isRebroadcast, program.rebroadcastDescription) == (true, "Wiederholung vom Vortag"))
        #expect((program.hasSubtitles, program.hasAlternateAudio, program.hasSignLanguage) == (true, false, true))
        #expect((program.hasAudioDescription, program.isDolbyDigital) == (false, true))
        #expect(
            (program.mediaURN, program.originalTitle, program.youthProtectionColor) == (
                "urn:srf:video:p1", "Morning View", .yellow
            )
        )
        #expect(program.timeAvailability(at: try date("2023-05-01T05:00:00Z")) == .available)
        #expect(program.timeAvailability(at: try date("2023-05-01T03:59:59Z")) == .notYetAvailable)
        #expect(program.timeAvailability(at: try date("2023-05-01T06:00:01Z")) == .notAvailableAnymore)
    }

    @Test("a program guide has a composition for each channel, with no programs or without a list")
    func programGuide() throws {
        let guide = try decoded(Catalogue.Listing<Catalogue.ProgramComposition>.self, Samples.programGuide).items

        #expect(guide.map { $0.channel?.uid } == ["c1", "c2"])
        #expect(guide.map { $0.programs?.count } == [0, nil])
    }

    @Test("a channel has programs under now and next, and the latter is no link")
    func channel() throws {
        let channel = try decoded(Catalogue.Channel.self, Samples.channel)
        let page = try decoded(Catalogue.PagedObject<Catalogue.Channel>.self, Samples.channel)

        #expect(channel.currentProgram?.title == "Jetzt" && channel.nextProgram?.title == "Danach")
        #expect(channel.rawImage?.url.pathExtension == "svg" && channel.timetableURL != nil)
        #expect(page.next == nil)
    }

    @Test("an episode composition decodes to all of its values")
    func episodeComposition() throws {
        let page = try decoded(Catalogue.PagedObject<Catalogue.EpisodeComposition>.self, Samples.episodeComposition)
        let episode = try #require(page.episodes?.first)

        #expect(page.show?.urn == "urn:rts:show:tv:sh1" && page.channel?.uid == "c1" && page.next != nil)
        #expect((episode.uid, episode.seasonNumber, episode.episodeNumber) == ("ep1", 1, 9))
        #expect(episode.fullLengthURN == "urn:rts:video:100001" && episode.medias?.count == 1)
        #expect(episode.socialCount?.type == .view && episode.socialCount?.value == 10)
    }

    @Test("songs decode with artist and album")
    func songs() throws {
        let song = try #require(try decoded(Catalogue.Listing<Catalogue.Song>.self, Samples.songList).items.first)

        #expect((song.title, song.duration, song.isPlaying) == ("Nocturne", .seconds(215), true))
        #expect(song.artist?.name == "Trio Invention" && song.artist?.url != nil)
        #expect(song.album?.name == "Sérénades")
        #expect(song.album?.smallCoverImage?.url.lastPathComponent == "cd-s.jpg")
        #expect(song.album?.largeCoverImage?.url.lastPathComponent == "cd-l.jpg")
    }

    @Test("modules decode with colours and sections")
    func modules() throws {
        let module = try #require(try decoded(Catalogue.Listing<Catalogue.Module>.self, Samples.modules).items.first)

        #expect((module.moduleType, module.seoName, module.websiteTitle) == (.event, "festival", "Le site"))
        #expect(module.headerBackgroundColor == Catalogue.RGBColor(red: 0x1A, green: 0x2B, blue: 0x3C))
        #expect(module.headerTextColor.hex == "FFFFFF" && module.backgroundColor == .black)
        #expect(module.textColor?.hex == "FFFFFF" && module.linkColor?.hex == "FF0000")
        #expect(module.sections?.map(\.uid) == ["sec1"])
        #expect(module.sections?.first?.endDate == (try date("2023-07-01T22:00:00Z")))
        #expect(module.backgroundImage != nil && module.logoImage != nil && module.keyVisualImage != nil)
    }

    @Test("an editorial page decodes with sections, presentations and links")
    func page() throws {
        let page = try decoded(Catalogue.EditorialPage.self, Samples.page)
        let first = try #require(page.sections.first?.presentation)

        #expect(
            (page.uid, page.vendor, page.type, page.isPublished, page.summary) == (
                "page1", .rts, .landing, true, "Page d'accueil"
            )
        )
        #expect(page.sections.map(\.type) == [.medias, .predefined])
        #expect(page.sections.map(\.isPersonalized) == [false, true])
        #expect(page.sections.map(\.mediaType) == [.video, .none])
        #expect(
            (first.type, first.title, first.summary, first.label) == (.swimlane, "À voir", "Choix du jour", "Nouveau")
        )
        #expect((first.hasDetailPage, first.isRandomized) == (true, false))
        #expect(first.link?.type == .microPage && first.link?.target == "page2")
        #expect(first.image != nil && first.imageFocalPoint?.relativeHeight == 0.5)
        #expect(page.sections[1].presentation?.type == .favoriteShows && page.sections[1].presentation?.title == nil)
    }

    @Test("a show with medias, and counts, decode")
    func rest() throws {
        let page = try decoded(Catalogue.PagedObject<Catalogue.ShowAndMedias>.self, Samples.showAndMedias)
        let counts = try decoded(Catalogue.SocialCountOverview.self, Samples.socialCounts)
        let statistics = try decoded(Catalogue.ShowStatisticsOverview.self, Samples.showStatistics)

        #expect(page.show?.uid == "sh1" && page.medias.map(\.uid) == ["100001"] && page.next != nil)
        #expect(counts.urn == "urn:rts:video:100001" && counts.socialCounts?.map(\.value) == [1201])
        #expect(statistics.searchResultsViewCount == 5 && statistics.transmission == .tv)
    }
}
