// Shows a client certificate to a server that requires one, and trusts its private authority.
import Lade

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 4 else { fatalError("ClientIdentity ADDRESS AUTHORITY.pem CERTIFICATE.pem KEY.pem") }
var settings = Service.Settings()
settings.transport.tls.trustsSystemAuthorities = false
settings.transport.tls.authorities = [.file(arguments[1])]
settings.transport.tls.clientIdentity = .init(certificateFile: arguments[2], keyFile: arguments[3])
print(try await Loader(settings).load(Request(arguments[0])).status)
