/// A broadcaster that the catalogue can be asked about.
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

    /// The identifier, as addresses have it.
    public var description: String { rawValue }

    /// The broadcaster that models name.
    public var vendor: Vendor { Vendor(rawValue: rawValue.uppercased()) ?? .none }

    /// The broadcasters that have services of nearly every kind.
    static let national: Set<BusinessUnit> = [.srf, .rts, .rsi, .rtr]
    /// Those and swissinfo.
    static let international: Set<BusinessUnit> = [.srf, .rts, .rsi, .rtr, .swi]
    static let all = Set(allCases)
}

extension Vendor {
    /// The unit to ask about what a model names; nil for a broadcaster that cannot be asked about.
    public var businessUnit: BusinessUnit? { BusinessUnit(rawValue: rawValue.lowercased()) }
}
