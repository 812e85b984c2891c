import LadeTesting

/// What the tests of `lade get` have in common.
protocol GetSuite: Sendable {}

extension GetSuite {
    static var shows: String { #"{"shows":[{"title":"Über\u001b[31m","n":1.10}]}"# }

    func server(
        _ answer: @escaping @Sendable (ServerRequest) -> ServerResponse = { _ in .json(Self.shows) }
    ) throws -> LoopbackServer {
        try LoopbackServer(handler: answer)
    }
}
