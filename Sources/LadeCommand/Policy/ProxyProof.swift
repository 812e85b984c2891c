#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeFields

/// Proves the password to a proxy when the proxy asks for it, by a digest.
///
/// The password itself is sent where the scheme is the safest that is offered, and the proxy accepts nothing better.
///
/// Each distinct challenge gets one proof, at most three per exchange, and each nonce at most one (RFC 7616 §3.3).
final class ProxyProof: Interceptor {
    private enum Proof {
        case digest(DigestChallenge, isForTunnel: Bool, count: Int)
        case basic
    }

    private static let mostProofs = 3

    private let credentials: UserCredentials
    /// The proof for the latest challenge, with which later requests begin.
    private let known = Locked(Proof?.none)

    init(_ credentials: UserCredentials) {
        self.credentials = credentials
    }

    /// Sends the request, and sends it again with a proof when the proxy refuses it.
    ///
    /// - Throws: `LoadingError.Kind.proxy` when no proof is left that the proxy has not refused.
    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        var request = request
        if request.headRecord == nil { request.headRecord = HeadRecord() }
        var nonces: Set<String> = []
        var sentBasic = false
        for _ in 0..<Self.mostProofs {
            authorise(&request, next.call.random, &nonces, &sentBasic)
            do throws(LoadingError) {
                return try await next(request)
            } catch {
                guard case .proxy(.authenticationRequired) = error.kind, request.canRepeatBody,
                    let proof = proof(to: error, request.headRecord, nonces, sentBasic)
                else { throw error }
                known.withLock { $0 = proof }
            }
        }
        authorise(&request, next.call.random, &nonces, &sentBasic)
        return try await next(request)
    }

    private func authorise(
        _ request: inout Request,
        _ random: any RandomSource,
        _ nonces: inout Set<String>,
        _ sentBasic: inout Bool
    ) {
        let proof = known.withLock { known in
            // The proxy detects replays by the count: no two requests may have the same.
            if case .digest(let challenge, let isForTunnel, let count) = known {
                known = .digest(challenge, isForTunnel: isForTunnel, count: count + 1)
            }
            return known
        }
        switch proof {
        case nil: break
        case .basic:
            let pair = "\(credentials.user):\(credentials.password.reveal())"
            request.headForm.proxyAuthorization = Secret("Basic " + Data(pair.utf8).base64EncodedString())
            sentBasic = true
        case .digest(let challenge, let isForTunnel, let count):
            nonces.insert(challenge.nonce)
            request.headForm.proxyAuthorization = challenge.answer(
                user: credentials.user,
                password: credentials.password,
                method: isForTunnel ? .connect : request.method,
                target: isForTunnel ? Self.authority(of: request.url) : Self.target(of: request.url),
                count: count,
                clientNonce: [random.next(), random.next()].map { String($0, radix: 16) }.joined()
            )
        }
    }

    /// The proof for the challenge of a refusal; nil where there is none, or only one that was refused.
    private func proof(
        to error: LoadingError,
        _ record: HeadRecord?,
        _ nonces: Set<String>,
        _ sentBasic: Bool
    ) -> Proof? {
        let forwarded = error.context.headers.contains(Self.field) ? error.context.headers : nil
        guard let headers = forwarded ?? record?.tunnelHead.map(Self.fields) else { return nil }
        if let challenge = DigestChallenge.best(in: headers, name: Self.field) {
            let isNew = !nonces.contains(challenge.nonce) && (nonces.isEmpty || challenge.isStale)
            return isNew ? .digest(challenge, isForTunnel: forwarded == nil, count: 0) : nil
        }
        let offersBasic = AuthenticationChallenge.all(in: headers, name: Self.field).contains { $0.scheme == "basic" }
        return credentials.scheme == .best && offersBasic && !sentBasic ? .basic : nil
    }

    private static let field = "Proxy-Authenticate"

    /// The challenges in a head as it was received.
    private static func fields(_ head: Data) -> Headers {
        var headers = Headers()
        for line in TextLines(head) {
            guard let (name, value) = String(validating: line, as: UTF8.self)?.cut(at: ":"),
                String(name).equalsIgnoringASCIICase(field)
            else { continue }
            headers.add(field, String(value.trimmedOfSpace))
        }
        return headers
    }

    private static func target(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? "")
    }

    private static func authority(of url: URL) -> String {
        guard let origin = Origin(url) else { return "" }
        return origin.host.contains(":") ? "[\(origin.host)]:\(origin.port)" : "\(origin.host):\(origin.port)"
    }
}
