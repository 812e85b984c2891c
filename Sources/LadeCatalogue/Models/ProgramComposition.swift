#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Catalogue {
    /// The programs of a channel.
    ///
    /// Values are equal when the identifiers of their channels are.
    public struct ProgramComposition: KeyedModel {
        /// The channel; from `channel`.
        @Boxed public var channel: Channel?
        /// The programs in the order of the service; from `programList`.
        public var programs: [Program]?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the programs, and gives each an identity within the channel.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("channel", &_channel)
            try members.read("programList", &programs)
            let urn = channel?.urn ?? "-"
            programs = programs?.map { $0.identified(in: urn) }
        }

        /// The key for comparing values.
        public var identity: String { channel?.uid ?? "" }
    }
}

extension Catalogue.Program {
    /// The program and its parts, with identities made from channel, titles and times.
    fileprivate func identified(in channel: String) -> Catalogue.Program {
        var program = self
        let dates = [startDate, endDate].map { $0.map { "\($0.ISO8601Format())" } ?? "-" }
        program.uid = [channel, title, subtitle ?? "-", dates[0], dates[1]].joined(separator: "-")
        program.subprograms = subprograms?.map { $0.identified(in: channel) }
        return program
    }
}
