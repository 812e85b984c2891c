public import Lade

/// A request that the catalogue cannot answer; nothing was sent.
@nonexhaustive
public enum CatalogueError: Error, Sendable {
    /// A business unit does not have a service; `availableFor` lists those that do.
    case unavailable(service: String, BusinessUnit, availableFor: [BusinessUnit])
    /// A text is no URN that a service can be asked for.
    case malformedURN(String)
    /// A day that is no `yyyy-MM-dd`, does not exist, or has a year with more than four digits.
    case dayOutOfRange(String)
    /// A page has as many items as no page can have; `allowed` says how many it can have.
    case pageSize(Int, allowed: ClosedRange<Int>)
    /// A limit of a service is beyond what the service takes.
    case limit(name: String, Int, allowed: ClosedRange<Int>)
    /// A list has more elements than a service takes.
    case tooMany(name: String, Int, limit: Int)
    /// There is nothing to search for.
    case emptyQuery
    /// An identifier is empty, or one that changes the path: `.` or `..`.
    case invalidIdentifier(name: String, String)
    /// A case of an enumeration that stands for nothing cannot be asked for.
    case nothingChosen(name: String)
    /// The address of the service cannot be used.
    case serviceURL(String, reason: String)
    /// The request could not be made.
    case request(LoadingError)
}

extension CatalogueError: CustomStringConvertible {
    /// One plain sentence.
    public var description: String {
        switch self {
        case .unavailable(let service, let unit, let units):
            "The service \(service) is not available for \(unit)"
                + (units.isEmpty
                    ? "; no business unit has it." : ", only for \(units.map(\.rawValue).joined(separator: ", ")).")
        case .malformedURN(let text): "“\(text)” is no URN, such as urn:rts:video:1."
        case .dayOutOfRange(let text): "“\(text)” is no day between 0001-01-01 and 9999-12-31."
        case .pageSize(let size, let allowed):
            "A page cannot have \(size) items; it has \(allowed.lowerBound) to \(allowed.upperBound)."
        case .limit(let name, let value, let allowed):
            "The \(name) \(value) is not within \(allowed.lowerBound) to \(allowed.upperBound)."
        case .tooMany(let name, let count, let limit): "\(count) \(name) are more than the \(limit) that are allowed."
        case .emptyQuery: "There is nothing to search for."
        case .invalidIdentifier(let name, let text): "“\(text)” cannot be used as \(name)."
        case .nothingChosen(let name): "The \(name) “none” cannot be asked for."
        case .serviceURL(let url, let reason): "“\(url)” cannot be used as the address of the catalogue: \(reason)."
        case .request(let error): error.description
        }
    }
}

extension CatalogueError: Equatable {
    /// Whether both say the same.
    public static func == (lhs: CatalogueError, rhs: CatalogueError) -> Bool { lhs.description == rhs.description }
}
