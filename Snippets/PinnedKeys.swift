// Accepts a server only with a key that is pinned for its host.
import Lade

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 3 else { fatalError("PinnedKeys ADDRESS AUTHORITY.pem PIN") }
var settings = Service.Settings()
settings.transport.tls.authorities = [.file(arguments[1])]
try settings.transport.tls.pins.pin([arguments[2]], for: "localhost")
do throws(LoadingError) {
    print(try await Loader(settings).load(Request(arguments[0])).status)
} catch {
    guard case .pinMismatch(let host) = error.kind else { throw error }
    print("another key:", host)
}
