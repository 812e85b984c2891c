extension Catalogue {
    /// A broadcaster whose services the catalogue offers.
    public enum BusinessUnit: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// Schweizer Radio und Fernsehen.
        case srf
        /// Radio Télévision Suisse.
        case rts
        /// Radiotelevisione svizzera.
        case rsi
        /// Radiotelevisiun Svizra Rumantscha.
        case rtr
        /// SWI swissinfo.ch.
        case swi
        /// Swiss Satellite Radio.
        case ssatr

        /// The identifier in addresses.
        public var description: String { rawValue }

        /// The corresponding broadcaster in models.
        public var vendor: Vendor { Vendor(rawValue: rawValue.uppercased()) ?? .none }

    }
}

extension Set<Catalogue.BusinessUnit> {
    /// The broadcasters that offer nearly all services.
    static let national: Self = [.srf, .rts, .rsi, .rtr]
    /// The national broadcasters and swissinfo.
    static let international: Self = [.srf, .rts, .rsi, .rtr, .swi]
}

extension Catalogue.Vendor {
    /// The business unit of the broadcaster; nil for a broadcaster without services.
    public var businessUnit: Catalogue.BusinessUnit? { Catalogue.BusinessUnit(rawValue: rawValue.lowercased()) }
}
