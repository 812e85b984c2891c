#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// An error of the catalogue: an invalid request, for which nothing was sent, or a response that cannot be used.
@nonexhaustive
public enum CatalogueError: Error, Sendable {
    /// A business unit does not offer a service; `availableFor` lists those that do.
    case unavailable(service: String, Catalogue.BusinessUnit, availableFor: [Catalogue.BusinessUnit])
    /// A text is not a URN that services accept.
    case malformedURN(String)
    /// A day is not of the form `yyyy-MM-dd`, does not exist, or has a year with more than four digits.
    case dayOutOfRange(String)
    /// The size of a page is out of range.
    case pageSize(Int, allowed: ClosedRange<Int>)
    /// The limit of a service is out of range.
    case limit(name: String, Int, allowed: ClosedRange<Int>)
    /// A list has more elements than the service accepts.
    case tooMany(name: String, Int, limit: Int)
    /// A query is blank.
    case emptyQuery
    /// An identifier is empty or would change the path: `.` or `..`.
    case invalidIdentifier(name: String, String)
    /// An enumeration's case stands for no choice, but a choice is required.
    case nothingChosen(name: String)
    /// No service has this name.
    case unknownService(String)
    /// A service needs a business unit; `availableFor` lists those that offer it.
    case missingBusinessUnit(service: String, availableFor: [Catalogue.BusinessUnit])
    /// A service cannot be called without an argument, whose values have a form.
    case missingArgument(service: String, name: String, form: String)
    /// A service has no argument with this name; `known` lists those that it has.
    case unknownArgument(service: String, name: String, known: [String])
    /// The value of an argument does not have its form.
    case invalidArgument(name: String, String, form: String)
    /// The address of the service is invalid.
    case serviceURL(String, reason: String)
    /// The request could not be made.
    case request(LoadingError)
    /// A value of a response does not match its model, or is missing.
    ///
    /// The path leads to the value (RFC 6901), such as `/mediaList/0/title`; it is empty for the whole response.
    case malformed(path: Lade.JSONPointer, reason: String, isMissing: Bool)
    /// The response of the token service contains no token for the stream of a host.
    case noStreamToken(host: String)
}

extension CatalogueError: CustomStringConvertible {
    /// The error as one sentence.
    public var description: String {
        switch self {
        case .unavailable(let service, let unit, let units):
            "The service \(service) is not available for \(unit)"
                + (units.isEmpty
                    ? "; no business unit has it." : ", only for \(units.map(\.rawValue).joined(separator: ", ")).")
                + (CatalogueService.named(service)?.successor.map { " Today's servers have \($0) instead." } ?? "")
        case .malformedURN(let text): "“\(text)” is no URN, such as urn:rts:video:1."
        case .dayOutOfRange(let text): "“\(text)” is no day between 0001-01-01 and 9999-12-31."
        case .pageSize(let size, let allowed):
            "A page cannot have \(size) items; it has \(allowed.lowerBound) to \(allowed.upperBound)."
        case .limit(let name, let value, let allowed):
            "The \(name) \(value) is not within \(allowed.lowerBound) to \(allowed.upperBound)."
        case .tooMany(let name, let count, let limit): "\(count) \(name) are more than the \(limit) that are allowed."
        case .emptyQuery: "There is nothing to search for."
        case .invalidIdentifier(let name, let text): "“\(text)” cannot be used as \(name)."
        case .nothingChosen(let name): "The \(name) “none” cannot be requested."
        case .unknownService(let name): "No service is named “\(name)”."
        case .missingBusinessUnit(let service, let units):
            units.isEmpty
                ? "No business unit has the service \(service)."
                : "The service \(service) needs a business unit: \(units.map(\.rawValue).joined(separator: ", "))."
        case .missingArgument(let service, let name, let form): "The service \(service) needs \(name), \(form)."
        case .unknownArgument(let service, let name, let known):
            "The service \(service) has no \(name)"
                + (known.isEmpty ? "; it takes no arguments." : ", only \(known.joined(separator: ", ")).")
        case .invalidArgument(let name, let value, let form): "“\(value)” cannot be used as \(name), which is \(form)."
        case .serviceURL(let url, let reason): "“\(url)” cannot be used as the address of the catalogue: \(reason)."
        case .request(let error): error.description
        case .malformed(let path, let reason, _):
            "\(path.description.isEmpty ? "the response" : path.description): \(reason)"
        case .noStreamToken(let host):
            "the stream cannot be secured, because the response has no token: \(host)"
        }
    }
}

extension CatalogueError: Equatable {
    /// Whether both errors have the same description.
    public static func == (lhs: CatalogueError, rhs: CatalogueError) -> Bool { lhs.description == rhs.description }
}

extension CatalogueError: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var localizedDescription: String {
        if case .request(let error) = self { error.text() } else { description.asSentence }
    }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}
