#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// Availability at a date, based only on start and end dates.
    public enum TimeAvailability: Sendable, Hashable, CaseIterable {
        /// Available at the date.
        case available
        /// Available later.
        case notYetAvailable
        /// No longer available.
        case notAvailableAnymore
    }

    /// A value that is available between two dates, inclusive.
    public protocol TimeBound: Sendable {
        /// When the availability begins; nil for no limit.
        var startDate: Date? { get }
        /// When the availability ends; nil for no limit.
        var endDate: Date? { get }
    }
}

extension Catalogue.TimeBound {
    /// The availability at a date, based only on start and end dates.
    public func timeAvailability(at date: Date) -> Catalogue.TimeAvailability {
        if let endDate, endDate < date { return .notAvailableAnymore }
        if let startDate, date < startDate { return .notYetAvailable }
        return .available
    }
}

extension Catalogue.MediaMetadata {
    /// The reason why the media cannot be played at a date; `none` when it can.
    ///
    /// The service's own reason takes precedence over the dates.
    public func blockingReason(at date: Date) -> Catalogue.BlockingReason {
        if originalBlockingReason != .none { return originalBlockingReason }
        if let endDate, endDate < date { return .endDate }
        if let startDate, date < startDate { return .startDate }
        return .none
    }

    /// Whether the media can be played at a date.
    public func isPlayable(at date: Date) -> Bool { blockingReason(at: date) == .none }

    /// The availability at a date, based on the dates and the service's blocking reason.
    public func timeAvailability(at date: Date) -> Catalogue.TimeAvailability {
        switch originalBlockingReason {
        case .startDate: return .notYetAvailable
        case .endDate: return .notAvailableAnymore
        default: break
        }
        if let endDate, endDate < date { return .notAvailableAnymore }
        if let startDate, date < startDate { return .notYetAvailable }
        return .available
    }
}

extension Catalogue.Subdivision {
    /// The preferred format of subtitles: VTT, then TTML; `none` without subtitles.
    public var recommendedSubtitleFormat: Catalogue.Subtitle.Format {
        let formats = Set(subtitles?.map(\.format) ?? [])
        return [.vtt, .ttml].first { formats.contains($0) } ?? .none
    }

    /// The subtitles in a format.
    public func subtitles(format: Catalogue.Subtitle.Format) -> [Catalogue.Subtitle] {
        subtitles?.filter { $0.format == format } ?? []
    }
}
