import LadeCore
import LadeFields
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AuthenticationChallengeTests {
    @Test(
        "separates challenges and their parameters, although commas separate both",
        arguments: [
            (#"Basic realm="simple""#, ["basic|realm=simple"]),
            (
                #"Digest realm="a, b", nonce="x\"y", qop="auth,auth-int", stale=TRUE"#,
                [
                    #"digest|realm=a, b|nonce=x"y|qop=auth,auth-int|stale=TRUE"#
                ]
            ),
            (
                #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
                [
                    #"newauth|realm=apps|type=1|title=Login to "apps""#, "basic|realm=simple",
                ]
            ),
            ("Negotiate, NTLM", ["negotiate", "ntlm"]),
            ("Negotiate YWJj==, Basic realm=x", ["negotiate YWJj==", "basic|realm=x"]),
            (#"Bearer error="invalid_token" , , Basic realm = "x""#, ["bearer|error=invalid_token", "basic|realm=x"]),
            ("", []),
            (",,=x", []),
        ] as [(String, [String])]
    )
    func parses(value: String, expected: [String]) {
        let found = AuthenticationChallenge.parse(value).map { challenge in
            ([challenge.scheme + (challenge.token.map { " " + $0 } ?? "")]
                + challenge.parameters.map { "\($0.name)=\($0.value)" }).joined(separator: "|")
        }

        #expect(found == expected)
    }

    @Test("finds a parameter whatever its case, and challenges over several fields")
    func reads() {
        let headers: Headers = ["WWW-Authenticate": "Basic Realm=one", "www-authenticate": "Bearer"]

        let all = AuthenticationChallenge.all(in: headers)

        #expect(all.map(\.scheme) == ["basic", "bearer"])
        #expect(all.first?["REALM"] == "one")
    }
}
