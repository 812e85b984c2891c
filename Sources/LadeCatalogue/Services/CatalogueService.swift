public import Lade

/// A service of the catalogue: where it is, what it takes, which business units have it.
///
/// The functions of ``Catalogue`` are the typed way to call one; this is for lists of them, and for tools.
public struct CatalogueService: Sendable, Hashable {
    /// How the answers of a service come in pages.
    public enum Paging: Sendable, Hashable {
        /// Whole.
        case none
        /// In pages of 1 to 100 items.
        case pages
        /// In pages, or all at once.
        case unlimited
        /// In pages whose size the service chooses.
        case unsized
        /// In pages that are cut from a list of URNs before it is sent.
        case urns

        var isSized: Bool { self == .pages || self == .unlimited }
    }

    /// The name, which is that of a function of ``Catalogue``.
    public let name: String
    /// The path below `integrationlayer/`, with its variables in braces; `bu` is the business unit.
    public let path: String
    /// The query items that it knows, in order; those with a value always have it.
    public let query: [String]
    /// How its answers come in pages.
    public let paging: Paging
    /// The business units that have it; all of them for a service whose path has no business unit.
    public let units: Set<BusinessUnit>
    /// GET, or POST for what is counted.
    public let method: Method
    /// Whether the service is one of the first generation, which today's services have replaced.
    public let isSeedEra: Bool

    init(
        _ name: String,
        _ path: String,
        _ query: [String] = [],
        paging: Paging = .none,
        for units: Set<BusinessUnit> = BusinessUnit.all,
        method: Method = .get,
        isSeedEra: Bool = false
    ) {
        self.name = name
        self.path = path
        self.query = query
        self.paging = paging
        self.units = units
        self.method = method
        self.isSeedEra = isSeedEra
    }

    /// Whether a business unit has it.
    public func isAvailable(for unit: BusinessUnit) -> Bool { units.contains(unit) }

    /// Whether its path has a business unit.
    public var needsBusinessUnit: Bool { path.contains("{bu}") }

    /// The names of the variables in its path, except the business unit.
    public var variables: [String] {
        path.split(separator: "{").dropFirst().map { String($0.prefix { $0 != "}" }) }.filter { $0 != "bu" }
    }

    /// The path with its values in place, each one component.
    func path(_ values: [String: String]) throws(CatalogueError) -> String {
        var result = "integrationlayer/"
        for (index, part) in path.split(separator: "{", omittingEmptySubsequences: false).enumerated() {
            guard index > 0 else {
                result += part
                continue
            }
            let name = String(part.prefix { $0 != "}" })
            let value = values[name] ?? ""
            guard !value.isEmpty, value != ".", value != ".." else {
                throw .invalidIdentifier(name: name, value)
            }
            // What is counted has a path of its own making, of one or two components.
            result += name == "endpoint" ? value : value.pathComponentEncoded
            result += part.dropFirst(name.count + 1)
        }
        return result
    }
}

extension CatalogueService: CustomStringConvertible {
    /// The name and the path.
    public var description: String { "\(name) \(path)" }
}

extension StringProtocol {
    /// The text as one component of a path: what separates components, begins a query, or is not ASCII is encoded.
    var pathComponentEncoded: String { encoded(keeping: ":@,;=+$!*'()&") }

    /// The text as the value of a query item.
    var queryItemEncoded: String { encoded(keeping: ":@,/?") }

    private func encoded(keeping others: String) -> String {
        let kept = Set(others.utf8)
        return utf8.reduce(into: "") { result, byte in
            let isUnreserved =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-._~".utf8.contains(byte)
            if isUnreserved || kept.contains(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 16 ? "%0" + digits : "%" + digits
            }
        }
    }
}
