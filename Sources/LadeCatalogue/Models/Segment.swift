#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// A part of a chapter.
    ///
    /// Segments are equal when their URNs are.
    public struct Segment: Subdivision {
        /// The properties that chapters and segments have in common.
        public var subdivisionProperties = SubdivisionProperties()
        /// The position in the chapter where the segment begins; from `markIn`.
        public var markIn: Duration = .zero
        /// The position in the chapter where the segment ends; from `markOut`.
        public var markOut: Duration = .zero

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try subdivisionProperties.read(members)
            try members.read("markIn", &markIn)
            try members.read("markOut", &markOut)
        }

        /// The date at position 0 of the chapter, copied from the chapter.
        var resourceReferenceDate: Date?
        /// The date of ``markIn``; nil when the chapter has no reference date.
        public var markInDate: Date? { resourceReferenceDate?.addingTimeInterval(markIn / .seconds(1)) }
        /// The date of ``markOut``; nil when the chapter has no reference date.
        public var markOutDate: Date? { resourceReferenceDate?.addingTimeInterval(markOut / .seconds(1)) }
    }
}
