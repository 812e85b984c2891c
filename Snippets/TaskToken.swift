// The third of five common tasks: a token that is renewed before it ends and after a 401.
import Lade

struct Show: Decodable, Sendable {
    var title: String
}

struct Session: Decodable, Sendable {
    var token: String
    var lifetime: Int
}

@Sendable
func signIn() async throws -> Session {
    try await Loader().load(Endpoint(.post, "https://id.example.com/session"))
}

// snippet.task
let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://api.example.com")) { _, _ in
    let session = try await signIn()
    return .init(Secret(session.token), end: .after(.seconds(session.lifetime)))
}
let loader = try Service().account(authorisers: [authoriser]).makeLoader()
let show: Show = try await loader.load(Endpoint("https://api.example.com/shows/1"))
// snippet.end
print(show.title)
