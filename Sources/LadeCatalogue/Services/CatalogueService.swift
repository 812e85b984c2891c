public import Lade

/// A service of the catalogue: its path, its parameters, and the business units that offer it.
///
/// The functions of ``Catalogue`` are the typed way to call a service; this type is for tools that list services. A
/// service is a row of ``today`` or ``firstGeneration``, and a function of ``Catalogue`` with the name of the row.
public struct CatalogueService: Sendable, Hashable {
    /// How a service divides its responses into pages.
    package enum Paging: Sendable, Hashable {
        /// In a single response.
        case none
        /// In pages of 1 to 100 items.
        case pages
        /// In pages, or in a single response.
        case unlimited
        /// In pages whose size the service chooses.
        case unsized
        /// In pages made by dividing a list of URNs before it is sent.
        case urns

        var isSized: Bool { self == .pages || self == .unlimited }
    }

    /// The name, which a function of ``Catalogue`` has, too.
    public let name: String
    /// The path below `integrationlayer/`, with variables in braces; `bu` is the business unit.
    public let path: String
    /// The supported query items, in order; an item with a value always has that value.
    public let query: [String]
    /// How responses are divided into pages.
    package let paging: Paging
    /// The business units that offer the service; all of them for a service without one in its path.
    public let units: Set<Catalogue.BusinessUnit>
    /// The method: POST for services that count, otherwise GET.
    public let method: Request.Method
    /// Whether the service belongs to the first generation, which current services have replaced.
    public internal(set) var isFirstGeneration = false
    /// The name of the service that today's servers have instead; nil when this is one of today, or has none.
    public let successor: String?

    init(
        _ name: String,
        _ path: String,
        _ query: [String] = [],
        paging: Paging = .none,
        for units: Set<Catalogue.BusinessUnit> = Set(Catalogue.BusinessUnit.allCases),
        method: Request.Method = .get,
        successor: String? = nil
    ) {
        self.name = name
        self.path = path
        self.query = query
        self.paging = paging
        self.units = units
        self.method = method
        self.successor = successor
    }

    /// Whether a business unit offers the service.
    public func isAvailable(for unit: Catalogue.BusinessUnit) -> Bool { units.contains(unit) }

    /// Whether the path contains a business unit.
    public var needsBusinessUnit: Bool { path.contains("{bu}") }

    /// The names of the path's variables, except the business unit.
    public var variables: [String] {
        path.parts(at: "{", omitsEmpty: true).dropFirst().map { String($0.prefix { $0 != "}" }) }.filter { $0 != "bu" }
    }

    /// The path with each variable replaced by a single component.
    func path(_ values: [String: String]) throws(CatalogueError) -> String {
        var result = "integrationlayer/"
        for (index, part) in path.parts(at: "{").enumerated() {
            guard index > 0 else {
                result += part
                continue
            }
            let name = String(part.prefix { $0 != "}" })
            let value = values[name] ?? ""
            guard !value.isEmpty, value != ".", value != ".." else {
                throw .invalidIdentifier(name: name, value)
            }
            // This part of the path has one or two components and is already encoded.
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
    /// The text as one path component, with separators, query delimiters and non-ASCII characters encoded.
    var pathComponentEncoded: String { utf8.percentEncoded(keeping: ":@,;=+$!*'()&") }

    /// The text as the value of a query item.
    var queryItemEncoded: String { utf8.percentEncoded(keeping: ":@,/?") }
}
