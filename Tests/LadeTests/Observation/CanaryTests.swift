import Foundation
import LadeCallbacks
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

/// Secrets in every part of a call, repeated by the server in every part of its responses.
@Suite("Secrets of a call", .timeLimit(.minutes(5)))
struct CanaryTests {
    private static func canary(_ name: String) -> String {
        "cAnArY-\(name.filter { $0.isLetter || $0.isNumber })-0123456789"
    }

    /// Names of header fields that carry credentials, as apps send them.
    private static let fields = [
        "Authorization", "Proxy-Authorization", "X-Api-Key", "PRIVATE-TOKEN", "X-Vault-Token", "X-Access-Token",
        "X-Auth-Token", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "X-Client-Secret", "X-Amz-Security-Token",
        "X-CSRF-Token", "X-Session-ID", "DPoP", "X-Hub-Signature-256", "X-My-Password",
    ]
    /// Names of query items that carry credentials, and one that the request declares.
    private static let items = [
        "token", "access_token", "api_key", "key", "sig", "X-Amz-Signature", "client_secret", "password",
        "auth%5Bcode_token%5D",
        "refreshToken", "jwt", "sid", "appid",
    ]

    /// Keeps the output of every kind of observer.
    private final class ObserverOutput: Call.Observer {
        let lines = Locked<[String]>([])

        func add(_ line: String) { lines.withLock { $0.append(line) } }

        func record(_ event: Call.Event, of call: Call) {
            var text = "\(event) \(String(reflecting: event))"
            dump(event, to: &text)
            if case .headReceived(_, let headers, _) = event { for field in headers { text += field.value } }
            if case .interimResponse(_, let headers) = event { for field in headers { text += field.value } }
            add(text)
        }
    }

    private static func echoes(_ secrets: [String]) -> Headers {
        var headers: Headers = ["Content-Type": "text/plain"]
        for (index, secret) in secrets.enumerated() {
            headers.add("X-Echo-\(index)", "got \(secret)!")
            headers.add(
                "Link",
                "<https://next.test/?x=1&token=\(secret)&y=\(secret)>; rel=\"next\"; title=\"\(secret)\""
            )
            headers.add("Set-Cookie", "sid=\(secret); Path=/")
            headers.add("WWW-Authenticate", "Bearer error_description=\"\(secret) is bad\"")
            headers.add("Refresh", "0; url=https://u:\(secret)@next.test/?api_key=\(secret)")
            headers.add("Content-Location", "/\(secret)?appid=\(secret)#access_token=\(secret)")
        }
        return headers
    }

    private static let secrets =
        fields.map(canary) + items.map(canary)
        + ["cookie", "basic", "bearer", "marked", "declared", "decorator", "saml", "apikey", "user", "hop"].map(canary)

    @Test("finding FP-6 forty secrets, echoed by the server everywhere, are shown by no event, log, story or error")
    func echoed() async throws {
        #expect(Self.secrets.count >= 39)
        let transport = ScriptedTransport()
        let observerOutput = ObserverOutput()
        let story = Service.CallStory()
        var settings = Service.Settings()
        settings.retries.limit = 1
        settings.observers = [
            observerOutput, story, LoggingObserver(.calls) { observerOutput.add($0) },
            LoggingObserver(.events) { observerOutput.add($0) },
        ]
        settings.decorators = [
            Service.OAuthDecorator(authenticationProvider: "provider", accessToken: Secret(Self.canary("decorator")))
        ]
        var account = Account.Settings()
        let scope = try Authorisation.Scope("https://api.test")
        account.authorisers = [
            Authorisation.APIKey(.query("k"), key: Secret(Self.canary("apikey")), scope: scope),
            Authorisation.APIKey(.header("X-Plain"), key: Secret(Self.canary("bearer")), scope: scope),
        ]
        transport.on("start", where: { $0.url.path() == "/start" }).respond(
            .computed { (request, _) throws(LoadingError) in
                var headers = Self.echoes(Self.secrets)
                let query = Self.secrets.joined(separator: "/")
                headers.add(
                    "Location",
                    "https://api.test/next/\(query)?appid=\(Self.canary("appid"))&hop=\(Self.canary("key"))"
                )
                return ScriptedResponse.status(307, headers: headers).interim(103, headers: headers)
            }
        )
        transport.onAnyRequest().respond(.status(500, headers: Self.echoes(Self.secrets), "sorry"))
        var request = try Request(
            "https://api.test/start?" + Self.items.map { "\($0)=\(Self.canary($0))" }.joined(separator: "&")
        )
        request.secretQueryNames = ["appid"]
        request.secretValues = ["declared", "hop", "user", "saml", "decorator", "bearer", "apikey"].map {
            Secret(Self.canary($0))
        }
        for name in Self.fields {
            request.headers.set(name, name == "Authorization" ? "Token " + Self.canary(name) : Self.canary(name))
        }
        let basic = Data("me:\(Self.canary("basic"))".utf8).base64EncodedString()
        request.headers.set("Proxy-Authorization", "Basic \(basic)")
        request.headers.set("X-Second-Authorization", Self.canary("Proxy-Authorization"))
        request.headers.set("Cookie", "a=\(Self.canary("cookie"))")
        request.headers.set("X-Odd", secret: Secret(Self.canary("marked")))

        let loader = Service(settings, transport: transport).account(account).makeLoader()
        let error = await #expect(throws: LoadingError.self) { _ = try await loader.load(request) }

        let failure = try #require(error)
        #expect(failure.context.status == 500)
        observerOutput.add(
            "\(failure) \(String(reflecting: failure)) \(failure.context) \(failure.context.redactedHeaders)"
        )
        var text = ""
        dump(failure, to: &text)
        for field in failure.context.redactedHeaders { text += field.value }
        observerOutput.add(text)
        observerOutput.add("\(story.timeline)")
        let shown = observerOutput.lines.withLock { $0 }.joined(separator: "\n")
        #expect(shown.contains("redacted") && shown.contains("api.test/next"))
        for secret in Self.secrets { #expect(!shown.contains(secret), "\(secret) is shown") }
        #expect(!shown.contains(basic))
    }

    @Test(
        "finding FH-8 finding FP-6 lines that cannot be read show no value",
        arguments: [
            "Authorization : Bearer cAnArY", "Set-Cookie: sid=cAnArY\u{1}", "Set-Cookie sid=cAnArY", " cAnArY folded",
            "\tcAnArY", "X-Whatever: cAnArY", "Sêt-Cookie: cAnArY", "Location: https://u:cAnArY@h/?token=cAnArY",
            ": cAnArY", "Authorization\tcAnArY",
        ]
    )
    func malformed(line: String) {
        for rule in [LoadingError.MalformedResponse.Rule.fieldName, .fieldValue, .foldedField, .lineEnd] {
            let fault = LoadingError.MalformedResponse(rule, excerpt: line)
            let error = LoadingError(.malformedResponse(fault))
            #expect(!"\(fault) \(error) \(String(reflecting: error))".contains("cAnArY"))
            #expect(fault.excerpt?.contains("redacted") == true)
        }
    }

    @Test("finding FP-6 lines of framing are shown, for they say what is wrong and carry no secret")
    func framing() {
        #expect(
            LoadingError.MalformedResponse(.fieldValue, excerpt: "Content-Length: 1, 2").excerpt
                == "Content-Length: 1, 2"
        )
        #expect(LoadingError.MalformedResponse(.statusLine, excerpt: "HTTP/1.1 2000 OK").excerpt == "HTTP/1.1 2000 OK")
        #expect(
            LoadingError.MalformedResponse(.statusLine, excerpt: "Set-Cookie: a=b").excerpt == "Set-Cookie: <redacted>"
        )
        #expect(LoadingError.MalformedResponse(.contentLength, excerpt: "1, 2").excerpt == "1, 2")
    }

    @Test(
        "finding FP-6 an address that cannot be parsed shows no password",
        arguments: [
            "https://u:cAnArY@host:bad/", "https://u:cAn/ArYcAnArY@host:bad/", "https://u:cAn?cAnArY@ho st",
            "u:cAnArY@ho st",
            "https://[u:cAnArY@host/?token=cAnArY", "https://h:bad/?token=cAnArY#access_token=cAnArY",
        ]
    )
    func unparsable(address: String) {
        let request = #expect(throws: LoadingError.self) { _ = try Request(address) }
        let origin = #expect(throws: LoadingError.self) { _ = try Origin(address) }
        let text = "\(String(describing: request)) \(String(reflecting: request)) \(String(describing: origin))"
        #expect(!text.contains("cAnArY"))
    }

    @Test(
        "redaction finds a secret as it is, percent-encoded, and decoded",
        arguments: [
            ("can ary/1", "x can ary/1 y"), ("can ary/1", "x can%20ary%2F1 y"), ("can%20ary%2F1", "x can ary/1 y"),
            ("can%20ary%2F1", "x can%20ary%2F1 y"),
        ]
    )
    func findsForms(secret: String, text: String) {
        let rule = Redaction(names: [], values: [secret])

        let shown = rule.text(text)

        #expect(!shown.contains("ary") && shown.hasPrefix("x ") && shown.hasSuffix(" y"))
        #expect(rule.maskingValues(text) == shown)
    }

    @Test(
        "redaction keeps texts without secrets unchanged, and may be applied twice",
        arguments: [
            ("https://a.test/?page=2&token=x&size=3", "https://a.test/?page=2&token=<redacted>&size=3"),
            ("/x?a=b;token=x", "/x?a=b;token=<redacted>"), ("a=b&token=x", "a=b&token=x"),
            ("<https://a.test/?key=x>; rel=\"next\"", "<https://a.test/?key=<redacted>>; rel=\"next\""),
            ("see https://u:p@a.test/ and http://b.test", "see https://a.test/ and http://b.test"),
            ("https://a.test/?toke%6E=x", "https://a.test/?toke%6E=<redacted>"),
            ("?token=<redacted>&a=b", "?token=<redacted>&a=b"),
            ("", ""), ("?", "?"), ("://@", "://"),
        ]
    )
    func idempotent(text: String, expected: String) {
        let once = Redaction.standard.text(text)
        #expect(once == expected)
        #expect(Redaction.standard.text(once) == expected)
    }
}
