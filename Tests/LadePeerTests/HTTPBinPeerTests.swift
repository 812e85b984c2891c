import Foundation
import Lade
import LadeCore
import LadePolicies
import LadeTesting
import LadeWire
import Testing

/// Redirects, cookies and HTTP authentication against httpbin.
@Suite(.timeLimit(.minutes(5)))
struct HTTPBinPeerTests {
    private struct Echo: Decodable {
        var headers: [String: String]
        var data: String?
        var method: String?
        var url: String
    }

    private func send(_ request: Request, _ interceptors: any Interceptor...) async throws -> Response {
        let transport = try Peers.transport()
        do {
            let response = try await Chain(interceptors, transport: transport).send(request, call: Call())
            await transport.shutDown()
            return response
        } catch {
            await transport.shutDown()
            throw error
        }
    }

    private func echo(_ response: Response) throws -> Echo {
        try JSONDecoder().decode(Echo.self, from: try #require(response.body.bytes))
    }

    @Test(
        "follows real redirects, relative and absolute: service SV-15 policies PL-50",
        arguments: ["relative-", "absolute-", ""]
    )
    func redirects(kind: String) async throws {
        let origin = try Peers.origin("httpbin")

        let response = try await send(
            Request("\(origin)/\(kind)redirect/4"),
            HopInterceptor(redirects: RedirectPolicy())
        )

        #expect(response.status == 200)
        #expect(response.request.url.path() == "/get")
    }

    @Test("fails after ten real redirects: service SV-14 policies PL-50")
    func givesUp() async throws {
        let origin = try Peers.origin("httpbin")

        let error = await #expect(throws: LoadingError.self) {
            _ = try await send(Request("\(origin)/relative-redirect/15"), HopInterceptor(redirects: RedirectPolicy()))
        }
        guard case .redirectRefused(.tooMany(10)) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        "service D-05 a real 307 and 308 keep method and body, a 303 does not",
        arguments: [(307, "PUT"), (308, "PUT"), (303, "GET")]
    )
    func keepsBody(status: Int, method: String) async throws {
        let origin = try Peers.origin("httpbin")
        let address = "\(origin)/redirect-to?url=/anything&status_code=\(status)"
        let request = try Request(.put, address, body: .text("payload"))

        let echo = try echo(try await send(request, HopInterceptor(redirects: RedirectPolicy())))

        #expect(echo.method == method)
        #expect(echo.data == (method == "PUT" ? "payload" : ""))
    }

    @Test(
        "a real redirect to another port keeps only what describes the request: service D-28 policies PL-46 finding HF-7"
    )
    func dropsCredentials() async throws {
        let origin = try Peers.origin("httpbin")
        let other = try LoopbackServer(
            answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        )
        let target = other.address("/there")
        let headers: Headers = ["Authorization": "Bearer t", "Cookie": "a=b", "X-Own": "1", "Accept-Language": "de"]

        _ = try await send(
            Request("\(origin)/redirect-to?url=\(target)", headers: headers),
            HopInterceptor(redirects: RedirectPolicy())
        )

        let received = try await other.request(at: 0)
        #expect(received["Authorization"] == nil)
        #expect(received["Cookie"] == nil)
        #expect(received["X-Own"] == nil)
        #expect(received["Accept-Language"] == "de")
    }

    @Test(
        "policies PL-51 cookies that a real server sets on a redirect come back with the next hop, and go when it says so"
    )
    func cookies() async throws {
        let origin = try Peers.origin("httpbin")
        let jar = CookieJar()
        let interceptors: [any Interceptor] = [
            HopInterceptor(redirects: RedirectPolicy()), ExchangeInterceptor(jar: jar),
        ]
        let transport = try Peers.transport()
        let chain = Chain(interceptors, transport: transport)

        let set = try await chain.send(Request("\(origin)/cookies/set?a=1&b=2"), call: Call())
        #expect(String(decoding: set.body.bytes ?? Data(), as: UTF8.self).contains(#""a": "1""#))
        #expect(jar.cookies.map(\.name) == ["a", "b"])
        _ = try await chain.send(Request("\(origin)/cookies/delete?a="), call: Call())
        #expect(jar.cookies.map(\.name) == ["b"])
        await transport.shutDown()
    }

    @Test("policies PL-45 Basic and Bearer are accepted by a real server")
    func basicAndBearer() async throws {
        let origin = try Peers.origin("httpbin")
        let scope = try Peers.scope(origin)
        let basic = AttemptInterceptor(authorisers: [
            try Authorisation.Basic(user: "ann", password: "p w:ü", scope: scope)
        ])
        let bearer = AttemptInterceptor(authorisers: [Authorisation.Bearer(token: "t", scope: scope)])

        let path = "/basic-auth/ann/p%20w:%C3%BC"
        #expect(try await send(Request(origin + path), basic).status == 200)
        #expect(try await send(Request(origin + "/bearer"), bearer).status == 200)
        #expect(try await send(Request(origin + "/bearer")).status == 401)
    }

    @Test(
        "policies PL-45 Digest is accepted by a real server, and a wrong password is refused once",
        arguments: ["auth/ann/secret", "auth/ann/secret/MD5", "auth/ann/secret/SHA-256"]
    )
    func digest(path: String) async throws {
        let origin = try Peers.origin("httpbin")
        let scope = try Peers.scope(origin)
        let jar = CookieJar()
        let transport = try Peers.transport()
        func chain(_ password: Secret) -> Chain {
            let authoriser = Authorisation.Digest(user: "ann", password: password, scope: scope)
            return Chain(
                [ExchangeInterceptor(jar: jar), AttemptInterceptor(authorisers: [authoriser])],
                transport: transport
            )
        }
        let request = try Request("\(origin)/digest-auth/\(path)")

        let right = chain("secret")
        for _ in 0..<2 { #expect(try await right.send(request, call: Call()).status == 200) }
        #expect(try await chain("wrong").send(request, call: Call()).status == 401)
        await transport.shutDown()
    }
}
