#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// A media that is played as a whole, with the segments that mark its parts.
    ///
    /// Chapters are equal when their URNs are.
    public struct Chapter: Subdivision {
        /// The properties that chapters and segments have in common.
        public var subdivisionProperties = SubdivisionProperties()
        /// The aspect ratio of the picture; from `aspectRatio`.
        public var aspectRatio: AspectRatio = .undefined
        /// The position where it begins within the media at `fullLengthURN`; from `fullLengthMarkIn`.
        public var fullLengthMarkIn: Duration = .zero
        /// The position where it ends within the media at `fullLengthURN`; from `fullLengthMarkOut`.
        public var fullLengthMarkOut: Duration = .zero
        /// The streams, including those that cannot be played; from `resourceList`.
        public var resources: [Resource]?
        /// The flattened segments, without the reference date; from `segmentList`.
        var track: SegmentTrack?
        /// When the trailer before a scheduled livestream begins; from `preTrailerStart`.
        public var preTrailerStartDate: Date?
        /// When the trailer after a scheduled livestream ends; from `postTrailerStop`.
        public var postTrailerEndDate: Date?
        /// The date at position 0; from `dvrReferenceDate`.
        public var resourceReferenceDate: Date?
        /// The thumbnails of the whole media in one image; from `spriteSheet`.
        public var spriteSheet: SpriteSheet?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try subdivisionProperties.read(members)
            try members.read("aspectRatio", &aspectRatio)
            try members.read("fullLengthMarkIn", &fullLengthMarkIn)
            try members.read("fullLengthMarkOut", &fullLengthMarkOut)
            try members.read("resourceList", &resources)
            var segments: [Segment]?
            try members.read("segmentList", &segments)
            track = segments.map { SegmentTrack($0, at: members.mappingDate) }
            try members.read("preTrailerStart", &preTrailerStartDate)
            try members.read("postTrailerStop", &postTrailerEndDate)
            try members.read("dvrReferenceDate", &resourceReferenceDate)
            try members.read("spriteSheet", &spriteSheet)
        }
    }
}
