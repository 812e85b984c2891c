/// How live a stream is.
public enum StreamType: Sendable, Hashable, CaseIterable {
    /// Nothing is known.
    case none
    /// From beginning to end, at any time.
    case onDemand
    /// What happens now.
    case live
    /// What happens now, and what has happened for a while.
    case dvr
}

extension Chapter {
    /// The streaming methods that players know, the preferred ones first.
    public static let supportedStreamingMethods: [StreamingMethod] = [
        .hls, .https, .http, .m3uPlaylist, .progressive,
    ]

    /// How it is shown: as a 360° video when any of its resources is one.
    public var presentation: Presentation {
        resources?.contains { $0.presentation == .video360 } == true ? .video360 : .default
    }

    /// The resources that players know, in the order of the service; nil without a list.
    public var playableResources: [Resource]? {
        resources?.filter { Self.supportedStreamingMethods.contains($0.streamingMethod) }
    }

    /// The first supported method that a resource has; `none` without one.
    public var recommendedStreamingMethod: StreamingMethod {
        let methods = Set(resources?.map(\.streamingMethod) ?? [])
        return Self.supportedStreamingMethods.first { methods.contains($0) } ?? .none
    }

    /// The resources of a method, those of the highest quality first.
    public func resources(streamingMethod method: StreamingMethod) -> [Resource] {
        let all = (resources ?? []).filter { $0.streamingMethod == method }
        // Sorting keeps the order of equal elements only by their position.
        return all.enumerated().sorted {
            $0.element.quality == $1.element.quality
                ? $0.offset < $1.offset : $0.element.quality > $1.element.quality
        }
        .map(\.element)
    }

    /// The segments, in order and without overlaps; from `segmentList`.
    ///
    /// Where segments overlap, blocked ones go before others, visible ones before hidden ones, and then the one that begins
    /// later, or is shorter. A segment that another one cuts occurs several times. Parts shorter than a second that are not
    /// blocked are left out. Nil when the answer has no list.
    public var segments: [Segment]? {
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

/// What has audio tracks and subtitles within its streams.
public protocol VariantHolder: Sendable {
    /// The audio tracks; from `audioTrackList`.
    var audioVariants: [Variant]? { get }
    /// The subtitles; from `subtitleInformationList`.
    var subtitleVariants: [Variant]? { get }
}

extension VariantHolder {
    /// Where to take audio tracks from: HLS when any is found there, `none` otherwise.
    public var recommendedAudioVariantSource: VariantSource { Self.recommended(audioVariants) }

    /// Where to take subtitles from: HLS when any are found there, `none` otherwise.
    public var recommendedSubtitleVariantSource: VariantSource { Self.recommended(subtitleVariants) }

    /// The audio tracks of a source.
    public func audioVariants(source: VariantSource) -> [Variant] {
        audioVariants?.filter { $0.source == source } ?? []
    }

    /// The subtitles of a source.
    public func subtitleVariants(source: VariantSource) -> [Variant] {
        subtitleVariants?.filter { $0.source == source } ?? []
    }

    private static func recommended(_ variants: [Variant]?) -> VariantSource {
        variants?.contains { $0.source == .hls } == true ? .hls : .none
    }
}

extension Media: VariantHolder {}
extension Resource: VariantHolder {}

extension Resource {
    /// The way to decrypt it in a system; nil when there is none.
    public func drm(_ type: DRMType) -> DRM? {
        drms?.first { $0.type == type }
    }
}
