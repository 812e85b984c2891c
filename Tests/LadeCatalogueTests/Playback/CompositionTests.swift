import Foundation
import Testing

@testable import LadeCatalogue

@Suite("Chapters and compositions", .timeLimit(.minutes(5)))
struct CompositionTests {
    private func chapter(_ resources: [String], _ extra: String = "") throws -> Catalogue.Chapter {
        let list = resources.enumerated().map {
            "{\"url\": \"https://media.example.org/\($0)\", \"streaming\": \"\($1)\"}"
        }
        return try decoded(Catalogue.Chapter.self, "{\(extra)\"resourceList\": [\(list.joined(separator: ", "))]}")
    }

    private let external =
        #"{"locale": "de", "source": "EXTERNAL", "type": "SDH", "format": "VTT", "url": "https://media.example.org/a.vtt"}"#

    @Test("catalogue IL-CHP1 a video on demand without subtitles")
    func videoOnDemand() throws {
        let chapter = try chapter(["HLS", "PROGRESSIVE"])

        #expect(chapter.playableResources?.count == 2)
        #expect([.hls, .hds, .dash].map { chapter.resources(streamingMethod: $0).count } == [1, 0, 0])
        #expect(chapter.recommendedStreamingMethod == .hls)
        #expect(chapter.recommendedSubtitleFormat == .none && chapter.subtitles(format: .none).isEmpty)
    }

    @Test("catalogue IL-CHP2 a video with subtitles, in a file and in its stream")
    func subtitles() throws {
        let json = """
            {"subtitleList": [\(external)], "resourceList": [{"streaming": "HLS", "subtitleInformationList": \
            [{"locale": "de", "language": "Deutsch", "source": "HLS", "type": "SDH"}]}]}
            """
        let chapter = try decoded(Catalogue.Chapter.self, json)
        let variant = try #require(chapter.resources?.first?.subtitleVariants?.first)

        #expect(chapter.recommendedSubtitleFormat == .vtt && chapter.subtitles(format: .vtt).count == 1)
        #expect((variant.source, variant.type, variant.locale?.identifier) == (.hls, .sdh, "de"))
        #expect(chapter.resources?.first?.subtitleVariants?.count == 1)
    }

    @Test("catalogue IL-CHP3 a stream without audio tracks still recommends subtitles")
    func noAudioTracks() throws {
        let json = #"{"subtitleInformationList": [{"source": "HLS"}]}"#
        let resource = try decoded(Catalogue.Resource.self, json)

        #expect(resource.audioVariants == nil && resource.audioVariants(source: .hls).isEmpty)
        #expect(resource.subtitleVariants(source: .hls).count == 1)
        #expect((resource.recommendedSubtitleVariantSource, resource.recommendedAudioVariantSource) == (.hls, .none))
    }

    @Test("catalogue IL-CHP4 a stream with an audio track, and subtitles in a file")
    func audioTrack() throws {
        let json = """
            {"subtitleList": [\(external)], "resourceList": [{"streaming": "HLS", \
            "audioTrackList": [{"locale": "de", "source": "HLS"}], "subtitleInformationList": [{"source": "HLS"}]}]}
            """
        let chapter = try decoded(Catalogue.Chapter.self, json)
        let subtitle = try #require(chapter.subtitles?.first)
        let resource = try #require(chapter.resources?.first)
        let audio = try #require(resource.audioVariants?.first)

        #expect(
            (subtitle.format, subtitle.source, subtitle.type, subtitle.locale?.identifier) == (
                .vtt, .external, .sdh, "de"
            )
        )
        #expect(subtitle.url?.absoluteString == "https://media.example.org/a.vtt")
        #expect((audio.source, audio.type, audio.locale?.identifier) == (.hls, .none, "de"))
        #expect(resource.audioVariants?.count == 1)
        #expect((resource.recommendedAudioVariantSource, resource.recommendedSubtitleVariantSource) == (.hls, .hls))
    }

    @Test("catalogue IL-CHP5 an audio on demand")
    func audioOnDemand() throws {
        let chapter = try chapter(["PROGRESSIVE"])

        #expect(chapter.playableResources?.count == 1 && chapter.resources(streamingMethod: .rtmp).isEmpty)
        #expect((chapter.recommendedStreamingMethod, chapter.recommendedSubtitleFormat) == (.progressive, .none))
    }

    @Test("catalogue IL-CHP6 an audio livestream")
    func audioLivestream() throws {
        let chapter = try chapter(["PROGRESSIVE", "HLS"])

        #expect(chapter.playableResources?.map(\.streamingMethod) == [.progressive, .hls])
        #expect(
            [.hls, .progressive, .hds, .rtmp].map { chapter.resources(streamingMethod: $0).count } == [1, 1, 0, 0]
        )
        #expect(chapter.recommendedStreamingMethod == .hls)
    }

    @Test("catalogue IL-CHP7 in context a chapter has segments, and standalone they are clips with marks")
    func contexts() throws {
        let context = try decoded(Catalogue.MediaComposition.self, Samples.mediaComposition)
        let standalone = try decoded(
            Catalogue.MediaComposition.self,
            """
            {"chapterUrn": "urn:srf:video:full1", "chapterList": [{"urn": "urn:srf:video:full1"}, \
            {"urn": "urn:srf:video:seg1", "fullLengthUrn": "urn:srf:video:full1", "fullLengthMarkIn": 6000, \
            "fullLengthMarkOut": 24000}]}
            """
        )
        let first = try #require(context.mainChapter?.segments?.first)
        let clip = try #require(standalone.chapters.last)

        #expect(standalone.mainChapter?.segments == nil)
        #expect(clip.fullLengthURN == context.mainChapter?.urn)
        #expect((clip.fullLengthMarkIn, clip.fullLengthMarkOut) == (first.markIn, first.markOut))
    }

    @Test("catalogue IL-CHP8 a video has an aspect ratio, an audio none")
    func aspectRatios() throws {
        #expect(try decoded(Catalogue.Chapter.self, #"{"aspectRatio": "16:9"}"#).aspectRatio.value == 16.0 / 9)
        #expect(try decoded(Catalogue.Chapter.self, "{}").aspectRatio == .undefined)
        for text in ["16", "16:9:1", "0:9", "16:0", "a:b", "", "-4:3", "4:-3", "-4:-3", "nan:1", "1e308:1e-308"] {
            #expect(Catalogue.AspectRatio(text) == .undefined, "\(text)")
        }
        #expect(try decoded(Catalogue.Chapter.self, #"{"aspectRatio": null}"#).aspectRatio.value == -1)
    }

    /// Resources of some kinds, and what is recommended for them.
    typealias Seed = (methods: [String], playable: Int, recommended: Catalogue.Resource.StreamingMethod, counts: [Int])
    static let seed: [Case<Seed>] = [
        Case("SEED25 video on demand", (["HLS", "HLS", "HDS", "HDS"], 2, .hls, [2, 2, 0, 0])),
        Case("SEED25 video live", (["HDS", "HLS", "HLS", "HDS"], 2, .hls, [2, 2, 0, 0])),
        Case("SEED25 audio on demand", (["PROGRESSIVE", "RTMP"], 1, .progressive, [0, 0, 1, 1])),
        Case("SEED25 audio live", (["RTMP", "HLS", "HDS", "PROGRESSIVE"], 2, .hls, [1, 1, 1, 1])),
    ]

    @Test("catalogue IL-SEED25 a resource of a supported form is playable", arguments: seed)
    func seedResources(_ entry: Case<Seed>) throws {
        let chapter = try chapter(entry.row.methods)

        #expect(chapter.playableResources?.count == entry.row.playable)
        #expect(chapter.recommendedStreamingMethod == entry.row.recommended)
        #expect(
            [.hls, .hds, .rtmp, .progressive].map { chapter.resources(streamingMethod: $0).count } == entry.row.counts
        )
    }

    @Test("resources of a method come in descending order of quality, and equal ones in that of the service")
    func resourceOrder() {
        let qualities: [Catalogue.Resource.Quality] = [.sd, .hd, .sd, .none, .hq, .hd, .sd]
        var chapter = Catalogue.Chapter()
        chapter.resources = qualities.enumerated().map { index, quality in
            var resource = Catalogue.Resource()
            resource.quality = quality
            resource.streamingMethod = .hls
            resource.url = URL(string: "https://example.org/\(index)")
            return resource
        }
        let order = chapter.resources(streamingMethod: .hls).map { $0.url?.lastPathComponent }

        #expect(order == ["4", "1", "5", "0", "2", "6", "3"])
    }

    // MARK: - Subdivisions

    @Test("subtitles in VTT are preferred to those in TTML")
    func subtitleFormats() {
        func recommended(_ formats: [Catalogue.Subtitle.Format]) -> Catalogue.Subtitle.Format {
            var chapter = Catalogue.Chapter()
            chapter.subtitles = formats.map { format in
                var subtitle = Catalogue.Subtitle()
                subtitle.format = format
                return subtitle
            }
            return chapter.recommendedSubtitleFormat
        }

        #expect(recommended([.ttml, .vtt]) == .vtt && recommended([.vtt, .ttml]) == .vtt)
        #expect(recommended([.ttml]) == .ttml && recommended([]) == .none)
    }

    @Test("parts without URN belong to no composition, and a chapter with an empty full-length URN is its own")
    func partsWithoutURN() throws {
        let composition = try composition(
            """
            {"chapterUrn": "urn:srf:video:1", "chapterList": [\
            {"title": "none", "segmentList": [{"markIn": 0, "markOut": 9000, "duration": 9000}]}, \
            {"urn": "urn:srf:video:1", "fullLengthUrn": ""}]}
            """
        )

        #expect(composition.fullLengthMedia?.urn == "urn:srf:video:1")
        #expect(
            composition.media(for: Catalogue.Chapter()) == nil
                && composition.composition(for: Catalogue.Chapter()) == nil
        )
        #expect(
            composition.media(for: Catalogue.Segment()) == nil
                && composition.composition(for: Catalogue.Segment()) == nil
        )
    }

    private func composition(_ json: String) throws -> Catalogue.MediaComposition {
        try decoded(Catalogue.MediaComposition.self, json)
    }

    @Test("catalogue IL-SUB1 a composition of a whole media names its chapter and no segment")
    func wholeMedia() throws {
        let composition = try composition(
            #"{"chapterUrn": "urn:srf:video:1", "chapterList": [{"urn": "urn:srf:video:1"}]}"#
        )

        #expect(composition.chapterURN == "urn:srf:video:1" && composition.segmentURN == nil)
        #expect(composition.mainChapter != nil && composition.mainSegment == nil)
    }

    @Test("catalogue IL-SUB2 a chapter, and a copy of it, has a media")
    func mediaOfChapter() throws {
        let composition = try composition(Samples.mediaComposition)
        let chapter = try #require(composition.mainChapter)
        var copy = Catalogue.Chapter()
        copy.urn = chapter.urn

        #expect(composition.media(for: chapter)?.urn == chapter.urn)
        // The composition's own version counts.
        #expect(composition.media(for: copy)?.title == chapter.title)
        copy.urn = "urn:srf:video:foreign"
        #expect(composition.media(for: copy) == nil && composition.media(for: Catalogue.Chapter()) == nil)
    }

    @Test("catalogue IL-SUB3 a segment, and a copy of it, has a media")
    func mediaOfSegment() throws {
        let composition = try composition(Samples.mediaComposition)
        let segment = try #require(composition.mainSegment)
        var copy = Catalogue.Segment()
        copy.urn = segment.urn
        let media = try #require(composition.media(for: copy))

        #expect((media.urn, media.title, media.originalBlockingReason) == (segment.urn, "Teil 2", .legal))
        #expect((media.channel?.uid, media.show?.uid, media.episode?.uid) == ("c1", "s1", "e1"))
        #expect(media.audioVariants == nil && media.imageFocalPoint == nil)
        copy.urn = "urn:srf:video:foreign"
        #expect(composition.media(for: copy) == nil && composition.media(for: Catalogue.Segment()) == nil)
    }

    private func expectPresentation(
        _ text: String,
        _ expected: Catalogue.Presentation,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let composition = try composition(
            """
            {"chapterUrn": "urn:srf:video:1", "chapterList": [{"urn": "urn:srf:video:1", \
            "resourceList": [{"presentation": "\(text)"}]}]}
            """
        )
        let chapter = try #require(composition.mainChapter)
        let found = [
            chapter.presentation, chapter.resources?.first?.presentation, composition.media(for: chapter)?.presentation,
        ]

        #expect(found == [expected, expected, expected], sourceLocation: location)
    }

    @Test("catalogue IL-SUB4 chapter, resource and media of an ordinary video have the default presentation")
    func defaultPresentation() throws {
        try expectPresentation("DEFAULT", .default)
        #expect(Catalogue.Chapter().presentation == .default)
    }

    @Test("catalogue IL-SUB5 chapter, resource and media of a 360° video have its presentation")
    func sphericalPresentation() throws {
        try expectPresentation("VIDEO_360", .video360)
    }

    @Test("catalogue IL-SUB6 a composition for a segment has the segment and its chapter")
    func compositionOfSegment() throws {
        let composition = try composition(Samples.mediaComposition)
        let segment = try #require(composition.mainChapter?.segments?.first)
        var copy = Catalogue.Segment()
        copy.urn = segment.urn
        for part in [segment, copy] {
            let other = try #require(composition.composition(for: part))
            #expect(other.chapterURN == composition.chapterURN && other.segmentURN == segment.urn)
            #expect(other.mainSegment == segment && other != composition)
        }
        #expect(
            composition.segmentURN == "urn:srf:video:seg2" && composition.composition(for: Catalogue.Segment()) == nil
        )
    }

    @Test("catalogue IL-SUB7 a composition for a chapter has no segment")
    func compositionOfChapter() throws {
        let composition = try composition(Samples.mediaComposition)
        let segment = try #require(composition.mainChapter?.segments?.first)
        let other = try #require(composition.composition(for: segment))
        let chapter = try #require(other.mainChapter)
        var copy = Catalogue.Chapter()
        copy.urn = chapter.urn
        for whole in [chapter, copy] {
            let again = try #require(other.composition(for: whole))
            #expect(again.chapterURN == composition.chapterURN && again.segmentURN == nil)
        }
        #expect(composition.composition(for: Catalogue.Chapter()) == nil)
    }

    @Test("catalogue IL-SUB8 segments of a livestream have dates")
    func livestreamDates() throws {
        let composition = try composition(Samples.mediaComposition)
        let chapter = try #require(composition.mainChapter)

        #expect(chapter.resourceReferenceDate == (try date("2023-05-01T18:00:00Z")))
        for segment in try #require(chapter.segments) {
            let start = try #require(segment.markInDate)
            let end = try #require(segment.markOutDate)
            #expect(start < end)
        }
        #expect(Catalogue.Segment().markInDate == nil && Catalogue.Segment().markOutDate == nil)
    }

    private func fullLength(of played: String, in chapters: [(urn: String, full: String?)]) throws -> String? {
        let list = chapters.map { urn, full in
            "{\"urn\": \"\(urn)\"\(full.map { ", \"fullLengthUrn\": \"\($0)\"" } ?? "")}"
        }
        return try composition("{\"chapterUrn\": \"\(played)\", \"chapterList\": [\(list.joined(separator: ", "))]}")
            .fullLengthMedia?.urn
    }

    @Test("catalogue IL-SUB9 the full-length media of an episode is the episode")
    func fullLengthOfEpisode() throws {
        #expect(try fullLength(of: "e", in: [("e", nil), ("s", "e")]) == "e")
    }

    @Test("catalogue IL-SUB10 the full-length media of a part is the episode that has it")
    func fullLengthOfPart() throws {
        #expect(try fullLength(of: "s", in: [("e", nil), ("s", "e")]) == "e")
    }

    @Test("catalogue IL-SUB11 the full-length media of a clip without an episode is the clip")
    func fullLengthOfClip() throws {
        #expect(try fullLength(of: "c", in: [("c", nil)]) == "c")
    }

    @Test("catalogue IL-SUB12 the full-length media of a clip whose episode is absent is the clip")
    func fullLengthOfCollectedClip() throws {
        #expect(try fullLength(of: "c", in: [("c", "missing"), ("d", "missing")]) == "c")
    }

    @Test("catalogue IL-SUB13 the full-length media of a livestream is the livestream")
    func fullLengthOfLivestream() throws {
        #expect(try fullLength(of: "l", in: [("l", nil)]) == "l")
    }

    @Test("compositions are equal when both URNs are")
    func equality() throws {
        var first = Catalogue.MediaComposition()
        first.chapterURN = "a"
        var second = first
        #expect(first == second)
        second.segmentURN = "b"
        #expect(first != second && second != first)
        second.segmentURN = nil
        second.chapters = [Catalogue.Chapter()]
        #expect(first == second)
    }
}
