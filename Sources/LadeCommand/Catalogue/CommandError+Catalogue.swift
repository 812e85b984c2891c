import Lade
import LadeCatalogue

extension CommandError {
    /// Runs a call into the catalogue and translates its error into one of the command.
    static func translatingCatalogue<Value>(_ body: () throws(CatalogueError) -> Value) throws(CommandError) -> Value {
        do throws(CatalogueError) {
            return try body()
        } catch {
            throw CommandError(error)
        }
    }

    /// Makes the command's error for a request that is invalid for the catalogue; nothing was sent.
    init(_ error: CatalogueError) {
        if case .request(let cause) = error {
            self.init(cause)
            return
        }
        self = .usage(error.description, advice: Self.advice(on: error))
    }

    private static func advice(on error: CatalogueError) -> String {
        switch error {
        case .unavailable(_, let unit, let units):
            (units.isEmpty ? "" : "Name one of them with --unit. ")
                + "“lade catalogue services --unit \(unit)” lists what \(unit) has."
        case .missingBusinessUnit(_, let units): units.isEmpty ? "Call another service." : "Name one with --unit."
        case .malformedURN: "Write it as the tables show it; nothing was sent."
        case .dayOutOfRange: "Write it as 2023-12-30; nothing was sent."
        case .pageSize: "Give another --size; nothing was sent."
        case .emptyQuery: "Write the words to search for behind the name of the service."
        case .missingArgument(let service, _, _), .unknownArgument(let service, _, _):
            "“lade catalogue services \(service)” lists its arguments."
        case .serviceURL: "Give an address with --base, such as http://127.0.0.1:8080."
        default: "Correct the argument; nothing was sent."
        }
    }
}
