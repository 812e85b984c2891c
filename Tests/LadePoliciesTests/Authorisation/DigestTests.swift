import Foundation
import LadeFields
import LadeTesting
import Testing

@testable import LadeCore
@testable import LadePolicies

@Suite(.timeLimit(.minutes(5)))
struct DigestTests {
    private let transport = ScriptedTransport()

    private func challenge(_ text: String) throws -> DigestChallenge {
        try #require(AuthenticationChallenge.parse(text).compactMap(DigestChallenge.init).first)
    }

    private func send(
        _ authoriser: Authorisation.Digest,
        _ method: Request.Method = .get,
        seed: UInt64 = 1
    ) async throws -> Response {
        try await Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)
            .send(Request(method, "https://a.test/dir/index.html?q=1"), call: Call(random: SeededRandom(seed: seed)))
    }

    private func make() throws -> Authorisation.Digest {
        Authorisation.Digest(
            user: "Mufasa",
            password: "Circle of Life",
            scope: try Authorisation.Scope("https://a.test")
        )
    }

    @Test(
        "policies PL-45 answers the challenges of RFC 7616 §3.9.1 with its own values",
        arguments: [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ]
    )
    func answersRFC(algorithm: String, response: String) throws {
        let challenge = try challenge(
            #"Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\#(algorithm), "#
                + #"nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#
        )

        let answer = challenge.answer(
            user: "Mufasa",
            password: "Circle of Life",
            method: .get,
            target: "/dir/index.html",
            count: 1,
            clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        ).reveal()

        #expect(answer.contains(#"response="\#(response)""#))
        #expect(answer.contains(#"username="Mufasa", realm="http-auth@example.org""#))
        #expect(answer.contains("qop=auth, nc=00000001"))
        #expect(answer.contains(#"opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#))
    }

    @Test("policies PL-45 answers without qop as servers of before 1999 require it (RFC 2617 §3.5)")
    func answersOld() throws {
        let challenge = try challenge(
            #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#
        )

        let answer = challenge.answer(
            user: "Mufasa",
            password: "Circle Of Life",
            method: .get,
            target: "/dir/index.html",
            count: 1,
            clientNonce: "x"
        ).reveal()

        #expect(answer.contains(#"response="670fd8c2df070c60b045671b8b24ff02""#))
        #expect(!answer.contains("nc="))
        #expect(!answer.contains("algorithm"))
    }

    @Test("policies PL-45 covers the session's nonces, hashes the user and writes names beyond ASCII")
    func answersVariants() throws {
        let session = try challenge(#"Digest realm="r", nonce="n", qop="auth", algorithm=MD5-sess, userhash=true"#)
        let key = MD5.hash(Array((MD5.hash("J:r:p".utf8).hexadecimalText + ":n:c").utf8)).hexadecimalText
        let subject = MD5.hash("GET:/".utf8).hexadecimalText
        let proof = MD5.hash("\(key):n:0000000a:c:auth:\(subject)".utf8).hexadecimalText

        let answer = session.answer(user: "J", password: "p", method: .get, target: "/", count: 10, clientNonce: "c")
            .reveal()

        #expect(answer.contains(#"response="\#(proof)""#))
        #expect(answer.contains(#"username="\#(MD5.hash("J:r".utf8).hexadecimalText)""#))
        #expect(answer.contains("userhash=true"))
        let plain = try challenge(#"Digest realm="r", nonce="n""#)
        let named = plain.answer(user: "Jäsøn", password: "p", method: .get, target: "/", count: 1, clientNonce: "c")
        #expect(named.reveal().contains("username*=UTF-8''J%C3%A4s%C3%B8n"))
    }

    @Test(
        "ignores challenges with unsupported requirements",
        arguments: [
            "Basic realm=x", "Digest realm=x", #"Digest realm="x", nonce="n", algorithm=SHA-512-256"#,
            #"Digest realm="x", nonce="n", qop="auth-int""#,
        ]
    )
    func refuses(text: String) {
        #expect(AuthenticationChallenge.parse(text).compactMap(DigestChallenge.init).isEmpty)
    }

    @Test("policies PL-45 answers the first challenge by a replay, and later requests in advance with a growing count")
    func countsUses() async throws {
        transport.on("bare", where: { !$0.headers.contains("Authorization") }).respond(
            .status(
                401,
                headers: [
                    "WWW-Authenticate": #"Digest realm="r", nonce="n1", qop="auth""#,
                    "WWW-Authenticate": #"Digest realm="r", nonce="n2", qop="auth", algorithm=SHA-256"#,
                ]
            )
        )
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make()

        for _ in 0..<3 { #expect(try await send(authoriser).status == 200) }

        let fields = transport.requests.map { $0.headers["Authorization"] }
        #expect(fields.count == 4)
        #expect(fields[0] == nil)
        #expect(
            fields.dropFirst().compactMap(\.self).map { $0.contains("nc=0000000") && $0.contains("SHA-256") } == [
                true, true, true,
            ]
        )
        #expect(fields[3]?.contains("nc=00000003") == true)
        #expect(fields[1]?.contains(#"uri="/dir/index.html?q=1""#) == true)
    }

    @Test("a refusal of an old nonce is answered with the present one, which it does not affect")
    func refusalOfOldNonce() async throws {
        func refusal(_ nonce: String, _ more: String = "") throws -> Response {
            let field = #"Digest realm="r", nonce="\#(nonce)", qop="auth""# + more
            return Response(status: 401, headers: ["WWW-Authenticate": field], request: try Request("https://a.test/"))
        }
        let authoriser = try make()
        let context = Authorisation.Context(call: Call(random: SeededRandom(seed: 1)), transport: transport)
        let bare = try Request("https://a.test/")
        #expect(authoriser.wasRefused(bare, by: try refusal("one"), in: context))
        let first = try await authoriser.authorise(bare, in: context)
        let second = try await authoriser.authorise(bare, in: context)

        #expect(authoriser.wasRefused(first, by: try refusal("two", ", stale=true"), in: context))
        #expect(authoriser.wasRefused(second, by: try refusal("one"), in: context))

        let third = try await authoriser.authorise(bare, in: context)
        #expect(third.headers["Authorization"]?.contains(#"nonce="two""#) == true)
    }

    @Test("a nonce that has served and is replaced without a mark is answered again, and the same nonce is not")
    func replacedNonce() async throws {
        func refusal(_ nonce: String) throws -> Response {
            let field = #"Digest realm="r", nonce="\#(nonce)", qop="auth""#
            return Response(status: 401, headers: ["WWW-Authenticate": field], request: try Request("https://a.test/"))
        }
        let authoriser = try make()
        let context = Authorisation.Context(call: Call(random: SeededRandom(seed: 1)), transport: transport)
        let bare = try Request("https://a.test/")
        #expect(authoriser.wasRefused(bare, by: try refusal("one"), in: context))
        _ = try await authoriser.authorise(bare, in: context)
        let second = try await authoriser.authorise(bare, in: context)

        #expect(authoriser.wasRefused(second, by: try refusal("two"), in: context))
        let third = try await authoriser.authorise(bare, in: context)
        let fourth = try await authoriser.authorise(bare, in: context)
        #expect(third.headers["Authorization"]?.contains(#"nonce="two""#) == true)
        #expect(!authoriser.wasRefused(fourth, by: try refusal("two"), in: context))
        #expect(try await authoriser.authorise(bare, in: context).headers["Authorization"] == nil)
    }

    @Test("of first requests that are challenged together, the first challenge counts; another realm replaces it")
    func concurrentChallenges() async throws {
        func refusal(_ realm: String, _ nonce: String) throws -> Response {
            let field = #"Digest realm="\#(realm)", nonce="\#(nonce)", qop="auth""#
            return Response(status: 401, headers: ["WWW-Authenticate": field], request: try Request("https://a.test/"))
        }
        let authoriser = try make()
        let context = Authorisation.Context(call: Call(random: SeededRandom(seed: 1)), transport: transport)
        let bare = try Request("https://a.test/")
        func field() async throws -> String {
            try #require(try await authoriser.authorise(bare, in: context).headers["Authorization"])
        }

        #expect(authoriser.wasRefused(bare, by: try refusal("r", "one"), in: context))
        #expect(try await field().contains(#"nonce="one", uri"#))
        #expect(authoriser.wasRefused(bare, by: try refusal("r", "two"), in: context))
        let second = try await field()
        #expect(second.contains(#"nonce="one", uri"#) && second.contains("nc=00000002"))

        #expect(authoriser.wasRefused(bare, by: try refusal("other", "three"), in: context))
        #expect(try await field().contains(#"realm="other", nonce="three", uri"#))
    }

    @Test("a stale nonce is answered again, a wrong password is not")
    func tellsStaleFromWrong() async throws {
        let challenge = #"Digest realm="r", nonce="n\#("")", qop="auth""#
        transport.onAnyRequest()
            .respond(.status(401, headers: ["WWW-Authenticate": challenge]))
            .then(.status(200))
            .then(.status(401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="m", qop="auth", stale=true"#]))
            .then(.status(200))
        let authoriser = try make()
        #expect(try await send(authoriser).status == 200)
        #expect(try await send(authoriser).status == 200)
        #expect(transport.received.count == 4)

        let wrong = try make()
        let other = ScriptedTransport()
        other.onAnyRequest().respond(.status(401, headers: ["WWW-Authenticate": challenge]))
        let response = try await Chain([AttemptInterceptor(authorisers: [wrong])], transport: other)
            .send(Request("https://a.test/"), call: Call())
        #expect(response.status == 401)
        #expect(other.received.count == 2)
    }

    /// Sends one request to a server that refuses with these challenges, one after the other, and then lets it in.
    private func nonces(answeredAfter challenges: [String]) async throws -> (nonces: [String], status: Response.Status)
    {
        let server = ScriptedTransport()
        let refusals = challenges.map { ScriptedResponse.status(401, headers: ["WWW-Authenticate": $0]) }
        var script = server.onAnyRequest().respond(refusals[0])
        for refusal in refusals.dropFirst() { script = script.then(refusal) }
        _ = script.then(.status(200))
        let response = try await Chain([AttemptInterceptor(authorisers: [try make()])], transport: server)
            .send(Request("https://a.test/"), call: Call(random: SeededRandom(seed: 1)))
        let answers = server.requests.map { request in
            request.headers["Authorization"].map { answer in
                let nonce = answer.components(separatedBy: "nonce=\"")[1]
                return String(nonce.prefix { $0 != "\"" })
            }
        }
        #expect(answers.first == .some(nil))
        return (answers.compactMap(\.self), response.status)
    }

    @Test(
        "finding CL-6 each distinct challenge gets one answer, at most three an exchange, and no nonce two",
        arguments: [
            (["a"], ["a"], 200), (["a", "b!"], ["a", "b"], 200), (["a", "b!", "c!"], ["a", "b", "c"], 200),
            (["a", "b!", "c!", "d!"], ["a", "b", "c"], 401), (["a", "a!"], ["a"], 401),
            (["a", "b!", "a!"], ["a", "b"], 401),
            (["a", "b!", "b!"], ["a", "b"], 401), (["a", "b"], ["a"], 401), (["a", "b!", "c"], ["a", "b"], 401),
            (["a!", "b!"], ["a", "b"], 200),
        ] as [([String], [String], Int)]
    )
    func answersEachChallengeOnce(challenges: [String], answered: [String], status: Int) async throws {
        let fields = challenges.map { nonce in
            #"Digest realm="r", qop="auth", nonce="\#(nonce.prefix(1))""# + (nonce.hasSuffix("!") ? ", stale=TRUE" : "")
        }
        let result = try await nonces(answeredAfter: fields)
        #expect(result.nonces == answered)
        #expect(result.status.code == status)
    }

    @Test("finding CL-6 a call that comes with an expired nonce answers the next challenge, and one more")
    func expiredNonceOfAnEarlierCall() async throws {
        func challenge(_ nonce: String) -> ScriptedResponse {
            .status(401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="\#(nonce)", stale=true"#])
        }
        transport.onAnyRequest().respond(challenge("a")).then(.status(200)).then(challenge("b")).then(challenge("c"))
            .then(.status(200))
        let authoriser = try make()
        #expect(try await send(authoriser).status == 200)
        #expect(try await send(authoriser).status == 200)
        let answers = transport.requests.map { $0.headers["Authorization"] ?? "" }
        #expect(
            answers.map { answer in ["a", "b", "c"].filter { answer.contains("nonce=\"\($0)\"") } } == [
                [], ["a"], ["a"], ["b"], ["c"],
            ]
        )
    }

    @Test("finding CL-6 a second refusal of a token stays the response, and its authoriser is not asked again")
    func otherAuthorisersReplayOnce() async throws {
        let server = ScriptedTransport()
        server.onAnyRequest().respond(.status(401))
        let counted = CountedRefusals()
        let response = try await Chain([AttemptInterceptor(authorisers: [counted])], transport: server)
            .send(Request("https://a.test/"), call: Call())
        #expect(response.status == 401)
        #expect(server.received.count == 2)
        #expect(counted.count.withLock(\.self) == 1)
    }

    @Test(
        "finding FP-10 a session's key covers the first cnonce of the session (RFC 7616 §3.4.2)",
        arguments: ["MD5-sess", "SHA-256-sess"]
    )
    func sessionKeys(algorithm: String) async throws {
        let field = #"Digest realm="r", nonce="n1", qop="auth", algorithm=\#(algorithm)"#
        transport.onAnyRequest().respond(.status(401, headers: ["WWW-Authenticate": field])).then(.status(200))
        let authoriser = try make()

        for seed in UInt64(1)...3 { _ = try await send(authoriser, seed: seed) }

        let answers = transport.requests.compactMap { $0.headers["Authorization"] }
        let parts = answers.map { answer in
            Dictionary(
                answer.dropFirst("Digest ".count).components(separatedBy: ", ").map { part in
                    let halves = part.split(separator: "=", maxSplits: 1).map(String.init)
                    return (halves[0], halves[1].trimmingCharacters(in: ["\""]))
                }
            ) { first, _ in first }
        }
        #expect(parts.map { $0["nc"] } == ["00000001", "00000002", "00000003"])
        let hash = { (text: String) in
            algorithm == "MD5-sess" ? MD5.hash(text.utf8).hexadecimalText : SHA256.hash(text.utf8).hexadecimalText
        }
        let first = try #require(parts.first?["cnonce"])
        let key = hash(hash("Mufasa:r:Circle of Life") + ":n1:\(first)")
        for part in parts {
            let (count, own) = (part["nc"] ?? "", part["cnonce"] ?? "")
            #expect(part["response"] == hash("\(key):n1:\(count):\(own):auth:" + hash("GET:/dir/index.html?q=1")))
        }
    }

    @Test("finding FP-10 a new nonce begins a new session with a cnonce of its own")
    func newSessions() async throws {
        let fields = ["n1", "n2"].map { #"Digest realm="r", nonce="\#($0)", qop="auth", algorithm=MD5-sess"# }
        transport.onAnyRequest().respond(.status(401, headers: ["WWW-Authenticate": fields[0]])).then(.status(200))
            .then(.status(401, headers: ["WWW-Authenticate": fields[1] + ", stale=true"])).then(.status(200))
        let authoriser = try make()

        for seed in UInt64(1)...2 { _ = try await send(authoriser, seed: seed) }

        let nonces = transport.requests.compactMap { $0.headers["Authorization"] }.map { answer in
            answer.components(separatedBy: ", ").filter { $0.hasPrefix("nonce=") || $0.hasPrefix("cnonce=") }
        }
        #expect(nonces.count == 3)
        #expect(nonces[0] == nonces[1])
        #expect(nonces[2][0] == #"nonce="n2""#)
        #expect(nonces[2][1] != nonces[0][1])
    }

    @Test(
        "finding FP-17 reads a challenge with 200,000 parameters, and the ones after it, in linear time",
        .timeLimit(.minutes(5))
    )
    func longChallenges() throws {
        let many = (0..<200_000).map { "p\($0)=v" }.joined(separator: ", ")

        let challenges = AuthenticationChallenge.parse("Digest \(many), Negotiate abc==, Basic realm=\"x\"")

        #expect(challenges.map(\.scheme) == ["digest", "negotiate", "basic"])
        #expect(challenges.map(\.parameters.count) == [200_000, 0, 1])
        #expect(challenges[0]["p199999"] == "v")
        #expect(challenges[1].token == "abc==")
        #expect(challenges[2]["realm"] == "x")
    }
}

/// An authoriser that always has other credentials.
private final class CountedRefusals: Authoriser {
    let identifier = "counted"
    let count = Locked(0)

    func claims(_ request: Request) -> Bool { true }

    func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request { request }

    func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool {
        count.withLock { $0 += 1 }
        return true
    }
}
