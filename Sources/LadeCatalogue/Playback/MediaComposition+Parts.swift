extension Catalogue.MediaComposition: KeyedModel {
    /// The key for comparing values, made of both URNs.
    public var identity: String { chapterURN.isEmpty ? "" : "\(chapterURN) \(segmentURN ?? "")" }

    /// The chapter to play.
    public var mainChapter: Catalogue.Chapter? { chapterURN.isEmpty ? nil : chapters.first { $0.urn == chapterURN } }

    /// The segment of the main chapter to play; nil when the chapter is played from its beginning.
    public var mainSegment: Catalogue.Segment? {
        guard let segmentURN, !segmentURN.isEmpty else { return nil }
        return mainChapter?.segments?.first { $0.urn == segmentURN }
    }

    /// The media that contains the main chapter, or the chapter's own media when there is none.
    public var fullLengthMedia: Catalogue.Media? {
        guard let mainChapter else { return nil }
        let full = mainChapter.fullLengthURN.flatMap { urn in chapters.first { !urn.isEmpty && $0.urn == urn } }
        return media(for: full ?? mainChapter)
    }

    /// The media of a chapter; nil when the chapter is not part of the composition.
    public func media(for chapter: Catalogue.Chapter) -> Catalogue.Media? {
        own(chapter).map { media(of: $0, in: $0) }
    }

    /// The media of a segment; nil when the segment is not part of the composition.
    public func media(for segment: Catalogue.Segment) -> Catalogue.Media? {
        own(segment).map { chapter, own in media(of: own, in: chapter) }
    }

    /// The composition for playing another chapter; nil when the chapter is not part of the composition.
    public func composition(for chapter: Catalogue.Chapter) -> Catalogue.MediaComposition? {
        guard let own = own(chapter) else { return nil }
        var copy = self
        copy.chapterURN = own.urn
        copy.segmentURN = nil
        return copy
    }

    /// The composition for playing a segment; nil when the segment is not part of the composition.
    public func composition(for segment: Catalogue.Segment) -> Catalogue.MediaComposition? {
        guard let (chapter, own) = own(segment) else { return nil }
        var copy = self
        copy.chapterURN = chapter.urn
        copy.segmentURN = own.urn
        return copy
    }

    private func own(_ chapter: Catalogue.Chapter) -> Catalogue.Chapter? {
        chapter.urn.isEmpty ? nil : chapters.first { $0.urn == chapter.urn }
    }

    private func own(_ segment: Catalogue.Segment) -> (Catalogue.Chapter, Catalogue.Segment)? {
        guard !segment.urn.isEmpty else { return nil }
        for chapter in chapters {
            if let own = chapter.segments?.first(where: { $0.urn == segment.urn }) { return (chapter, own) }
        }
        return nil
    }

    /// The media with the properties that it has in common with a part of a chapter.
    private func media(of part: some Catalogue.Subdivision, in chapter: Catalogue.Chapter) -> Catalogue.Media {
        var media = Catalogue.Media()
        media.mediaProperties = part.mediaProperties
        media.presentation = chapter.presentation
        media.channel = channel
        media.episode = episode
        media.show = show
        return media
    }
}
