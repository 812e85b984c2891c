public import Lade

extension Catalogue {
    /// Counts a view, a like or a share of a media.
    ///
    /// Count a view only after the user has watched or listened.
    ///
    /// - Parameters:
    ///   - type: The kind of count.
    ///   - urn: The URN of the media.
    ///   - event: The ``Catalogue/Subdivision/event`` of the chapter or segment, from a composition that was loaded recently.
    /// - Returns: The endpoint, whose value contains the counts.
    /// - Throws: ``CatalogueError/nothingChosen(name:)`` without a type; ``CatalogueError/malformedURN(_:)``;
    ///   ``CatalogueError/invalidIdentifier(name:_:)`` without an event.
    public func increaseSocialCount(
        _ type: SocialCount.Kind,
        urn: String,
        event: String
    ) throws(CatalogueError) -> Endpoint<SocialCountOverview> {
        guard !event.isEmpty else { throw .invalidIdentifier(name: "event", "") }
        let values = ["urn": try checked(urn), "endpoint": try type.endpoint()]
        return try endpoint("increaseSocialCount", nil, values).posting(event).decoding(SocialCountOverview.self)
    }

    /// Counts a view, a like or a share of a chapter or segment, with its event if it has one.
    public func increaseSocialCount(
        _ type: SocialCount.Kind,
        of part: some Subdivision
    ) throws(CatalogueError) -> Endpoint<SocialCountOverview> {
        let values = ["urn": try checked(part.urn), "endpoint": try type.endpoint()]
        return try endpoint("increaseSocialCount", nil, values).posting(part.event).decoding(SocialCountOverview.self)
    }

    /// Counts a view, a like or a share of a composition's main segment, or of its main chapter without one.
    ///
    /// - Throws: ``CatalogueError/malformedURN(_:)`` for a composition without a main chapter.
    public func increaseSocialCount(
        _ type: SocialCount.Kind,
        of composition: MediaComposition
    ) throws(CatalogueError) -> Endpoint<SocialCountOverview> {
        if let segment = composition.mainSegment { return try increaseSocialCount(type, of: segment) }
        guard let chapter = composition.mainChapter else { throw .malformedURN(composition.chapterURN) }
        return try increaseSocialCount(type, of: chapter)
    }

    /// Counts a view, a like or a share of a video or audio, by a service of the first generation.
    public func increaseSocialCountByUid(
        _ type: SocialCount.Kind,
        _ unit: BusinessUnit? = nil,
        of part: some Subdivision
    ) throws(CatalogueError) -> Endpoint<SocialCountOverview> {
        guard let mediaType = part.mediaType.item else { throw .nothingChosen(name: "media type") }
        let values = ["type": mediaType, "uid": part.uid, "endpoint": try type.endpoint()]
        return try endpoint("increaseSocialCountByUid", unit, values).posting(part.event)
            .decoding(SocialCountOverview.self)
    }
}

private struct EventData: Encodable {
    let eventData: String?
}

extension Endpoint {
    func posting(_ event: String?) throws(CatalogueError) -> Endpoint {
        do {
            let endpoint = try jsonBody(EventData(eventData: event))
            // The content type of the body counts, even if the global headers set another.
            return endpoint.header("Content-Type", "application/json")
        } catch {
            throw .request(error)
        }
    }
}

extension Catalogue.SocialCount.Kind {
    /// The end of the path for the count, of one or two components.
    func endpoint() throws(CatalogueError) -> String {
        switch self {
        case .none: throw .nothingChosen(name: "social count type")
        case .view: "clicked"
        case .like: "liked"
        case .facebook: "shared/facebook"
        case .twitter: "shared/twitter"
        case .googlePlus: "shared/google"
        case .whatsApp: "shared/whatsapp"
        }
    }
}
