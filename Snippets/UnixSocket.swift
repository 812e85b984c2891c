// Asks a server on a Unix-domain socket, such as that of Docker.
import Lade

let path = CommandLine.arguments.dropFirst().first ?? "/var/run/docker.sock"
var request = try Request("http://localhost/shows/1")
request.destination = .unixSocket(path: path)
print(try await Loader().load(request).text)
