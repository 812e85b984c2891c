// A token that is obtained before the first call, and again after the server has refused it with a 401.
import Lade

struct Session: Decodable, Sendable {
    var token: String
    var lifetime: Int
}

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let signIn = try Loader()
// A token is sent over HTTPS only, unless the server is on this machine.
let scope = try Authorisation.Scope(address)
let authoriser = Authorisation.Bearer(scope: scope) { _, _ in
    let session: Session = try await signIn.load(Endpoint(.post, address + "/session"))
    return .init(Secret(session.token), end: .after(.seconds(session.lifetime)))
}
let account = try Service().account(authorisers: [authoriser])
let loader = account.makeLoader()
for _ in 1...2 {
    print(try await loader.load(Request(address + "/private")).text)
}
await account.signOut()
