extension Catalogue.Chapter {
    /// The streaming methods that players support, in order of preference.
    public static let supportedStreamingMethods: [Catalogue.Resource.StreamingMethod] = [
        .hls, .https, .http, .m3uPlaylist, .progressive,
    ]

    /// The presentation: a 360° video when any of the resources is one.
    public var presentation: Catalogue.Presentation {
        resources?.contains { $0.presentation == .video360 } == true ? .video360 : .default
    }

    /// The resources that players support, in the order of the service; nil without a list.
    public var playableResources: [Catalogue.Resource]? {
        resources?.filter { Self.supportedStreamingMethods.contains($0.streamingMethod) }
    }

    /// The first supported method of the resources; `none` without one.
    public var recommendedStreamingMethod: Catalogue.Resource.StreamingMethod {
        let methods = Set(resources?.map(\.streamingMethod) ?? [])
        return Self.supportedStreamingMethods.first { methods.contains($0) } ?? .none
    }

    /// The resources with a method, in descending order of quality.
    public func resources(streamingMethod method: Catalogue.Resource.StreamingMethod) -> [Catalogue.Resource] {
        let all = (resources ?? []).filter { $0.streamingMethod == method }
        // The position keeps the order of equal elements, because the sort is not guaranteed to be stable.
        return all.enumerated().sorted {
            $0.element.quality == $1.element.quality
                ? $0.offset < $1.offset : $0.element.quality > $1.element.quality
        }
        .map(\.element)
    }

    /// The segments, in order and without overlaps; from `segmentList`.
    ///
    /// Where segments overlap, blocked segments precede others, then visible ones precede hidden ones, then later ones
    /// precede earlier ones, then shorter ones precede longer ones. A segment that is interrupted by another occurs
    /// several times. Parts shorter than a second are omitted unless they are blocked. The value is nil when the
    /// response has no list.
    public var segments: [Catalogue.Segment]? {
        get {
            track?.segments.map { segment in
                var segment = segment
                segment.resourceReferenceDate = resourceReferenceDate
                return segment
            }
        }
        set { track = newValue.map { SegmentTrack(segments: $0) } }
    }
}

extension Catalogue.Media {
    /// The preferred source of audio tracks: HLS if there is any, otherwise `none`.
    public var recommendedAudioVariantSource: Catalogue.Variant.Source { audioVariants.recommendedSource }

    /// The preferred source of subtitles: HLS if there are any, otherwise `none`.
    public var recommendedSubtitleVariantSource: Catalogue.Variant.Source { subtitleVariants.recommendedSource }

    /// The audio tracks from a source.
    public func audioVariants(source: Catalogue.Variant.Source) -> [Catalogue.Variant] { audioVariants.from(source) }

    /// The subtitles from a source.
    public func subtitleVariants(source: Catalogue.Variant.Source) -> [Catalogue.Variant] {
        subtitleVariants.from(source)
    }
}

extension Catalogue.Resource {
    /// The preferred source of audio tracks: HLS if there is any, otherwise `none`.
    public var recommendedAudioVariantSource: Catalogue.Variant.Source { audioVariants.recommendedSource }

    /// The preferred source of subtitles: HLS if there are any, otherwise `none`.
    public var recommendedSubtitleVariantSource: Catalogue.Variant.Source { subtitleVariants.recommendedSource }

    /// The audio tracks from a source.
    public func audioVariants(source: Catalogue.Variant.Source) -> [Catalogue.Variant] { audioVariants.from(source) }

    /// The subtitles from a source.
    public func subtitleVariants(source: Catalogue.Variant.Source) -> [Catalogue.Variant] {
        subtitleVariants.from(source)
    }
}

extension [Catalogue.Variant]? {
    fileprivate var recommendedSource: Catalogue.Variant.Source {
        self?.contains { $0.source == .hls } == true ? .hls : .none
    }

    fileprivate func from(_ source: Catalogue.Variant.Source) -> [Catalogue.Variant] {
        self?.filter { $0.source == source } ?? []
    }
}

extension Catalogue.Resource {
    /// The DRM of a given type; nil when there is none.
    public func drm(_ type: DRM.Kind) -> DRM? {
        drms?.first { $0.type == type }
    }
}
