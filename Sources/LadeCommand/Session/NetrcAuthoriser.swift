#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Adds the user name and the password that a `.netrc` file has for the host of each request, as curl does behind
/// redirects.
///
/// A request that has credentials keeps them.
struct NetrcAuthoriser: Authoriser {
    let identifier = "netrc"
    private let netrc: Netrc

    init(_ netrc: Netrc) {
        self.netrc = netrc
    }

    var observesScope: Bool { true }

    func claims(_ request: Request) -> Bool { credentials(for: request) != nil }

    func authorise(_ request: Request, in context: Authorisation.Context) async throws(LoadingError) -> Request {
        guard let pair = credentials(for: request) else { return request }
        var request = request
        let coded = Data(pair.reveal().utf8).base64EncodedString()
        request.headers.set("Authorization", secret: Secret("Basic " + coded))
        return request
    }

    private func credentials(for request: Request) -> Secret? {
        guard !request.headers.contains("Authorization"), let host = Origin(request.url)?.host else { return nil }
        return netrc.credentials(for: host, user: nil)
    }
}
