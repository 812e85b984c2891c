#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
@testable import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("Requests", .timeLimit(.minutes(5)))
struct RequestCaseTests {
    /// Sends a request by a service without languages and user agent, and returns the received request.
    private func sent(_ request: Request, _ change: (inout Service.Settings) -> Void = { _ in }) async throws -> Request
    {
        let rig = Rig {
            $0.userAgent = nil
            $0.languages = .none
            change(&$0)
        }
        rig.transport.onAnyRequest().respond(.text("ok"))
        _ = try await rig.loader.load(request)
        return try #require(rig.transport.requests.first)
    }

    private let url = "https://svc.example.com/thing"

    @Test("service RQ-01 needs an address and nothing else")
    func creation() throws {
        #expect(try Request(url).sourceIdentifier == nil)
    }

    @Test("service RQ-02 has no headers when it is new")
    func noHeaders() throws {
        #expect(try Request(url).headers.isEmpty)
    }

    @Test("service RQ-03 leaves redirects to the service when it is new, and can refuse them")
    func redirects() throws {
        var request = try Request(url)
        #expect(request.redirectLimit == nil)
        request.redirectLimit = 0
        #expect(request.redirectLimit == 0)
    }

    @Test("service RQ-04 stores no field without a name, and refuses to be sent with one")
    func namelessField() async throws {
        var request = try Request(url)
        request.headers.add("", "value")
        #expect(request.headers.isEmpty)
        await #expect(throws: LoadingError.self) { try await sent(request) }
    }

    @Test("service RQ-05 removes a field that is set to nothing")
    func fieldSetToNothing() throws {
        var request = try Request(url, headers: ["A": "1", "B": "2"])
        request.headers["a"] = nil
        #expect(request.headers == ["B": "2"])
    }

    @Test("service RQ-06 adds a field with its value")
    func fieldAdded() throws {
        var request = try Request(url)
        request.headers["A"] = "1"
        #expect(request.headers == ["A": "1"])
    }

    @Test("service RQ-07 removes a field by name")
    func fieldRemoved() throws {
        var request = try Request(url, headers: ["A": "1", "B": "2"])
        request.headers.remove("B")
        #expect(request.headers == ["A": "1"])
    }

    @Test("service RQ-08 has the length of its body")
    func body() async throws {
        let request = try Request(.post, url, body: .text("Test"))
        #expect(try await sent(request).body?.length == 4)
    }

    @Test("service RQ-09 sends its own fields and the user's languages, and nothing else")
    func languageAdded() async throws {
        var request = try Request(url)
        request.headers["X-Own"] = "1"

        let sent = try await sent(request) { $0.languages = .fixed(["de", "en"]) }

        #expect(sent.headers == ["X-Own": "1", "Accept-Language": "de;q=1.00, en;q=0.50"])
    }

    @Test("service D-20 recognises its own field in any case")
    func languageKept() async throws {
        var request = try Request(url)
        request.headers["accept-language"] = "rm"

        let sent = try await sent(request) { $0.languages = .fixed(["de"]) }

        #expect(sent.headers == ["accept-language": "rm"])
    }

    @Test("service RQ-10 carries its cache mode to the chain")
    func cacheMode() async throws {
        let modes = Journal<Request.CacheMode>()
        var request = try Request(url)
        request.cacheMode = .storedOnly

        _ = try? await sent(request) { $0.callInterceptors = [PassedRequests { modes.add($0.cacheMode) }] }

        #expect(modes.all == [.storedOnly])
    }

    /// The name of a method as it is sent.
    private func word(_ method: Request.Method) async throws -> String {
        try await sent(Request(method, url)).method.rawValue
    }

    @Test("service RQ-11 sends the word GET")
    func get() async throws { #expect(try await word(.get) == "GET") }

    @Test("service RQ-12 sends the word DELETE")
    func delete() async throws { #expect(try await word(.delete) == "DELETE") }

    @Test("service RQ-13 sends the word PUT")
    func put() async throws { #expect(try await word(.put) == "PUT") }

    @Test("service RQ-14 sends the word POST")
    func post() async throws { #expect(try await word(.post) == "POST") }

    @Test("service RQ-15 sends the word HEAD")
    func head() async throws { #expect(try await word(.head) == "HEAD") }

    @Test("service RQ-16 sends the word PATCH")
    func patch() async throws { #expect(try await word(.patch) == "PATCH") }

    @Test("service RQ-17 is copied with everything it has, and each copy is its own")
    func copies() throws {
        var request = try Request(.put, url, headers: ["A": "1"], body: .text("Test"), delivery: .streamed)
        request.retryLimit = 10
        request.cacheMode = .bypass
        request.redirectLimit = 0

        var copy = request
        copy.retryLimit = 3
        copy.headers["A"] = "2"

        #expect(request.retryLimit == 10)
        #expect(request.headers["A"] == "1")
        #expect(copy.method == .put)
        #expect(copy.body?.length == 4)
        #expect(copy.delivery == .streamed)
        #expect(copy.cacheMode == .bypass)
        #expect(copy.redirectLimit == 0)
    }

    @Test("service RQ-18 weighs languages by their order")
    func languageValue() {
        #expect(
            Service.PreferredLanguages.headerValue(for: ["en-US", "fr-SE", "ja-SE", "sv-SE", "mk-SE", "nl-SE"])
                == "en-US;q=1.00, fr-SE;q=0.83, ja-SE;q=0.67, sv-SE;q=0.50, mk-SE;q=0.33, nl-SE;q=0.17"
        )
    }

    @Test("service D-21 sends at most ten languages, each once, none with the weight 0, and notices a change")
    func languageLimits() async throws {
        let many = (0..<300).map { "x\($0)" } + ["X1"]
        let value = try #require(Service.PreferredLanguages.headerValue(for: ["x0", "X0"] + many))
        #expect(value.split(separator: ",").count == 10)
        #expect(value.hasPrefix("x0;q=1.00, x1;q=0.90"))
        #expect(value.hasSuffix("x9;q=0.10"))
        #expect(Service.PreferredLanguages.headerValue(for: []) == nil)
        #expect(Service.PreferredLanguages.headerValue(for: [""]) == nil)
        #expect(Service.PreferredLanguages.headerValue(for: ["de\r\nX: 1"]) == nil)

        let current = Locked("de")
        let rig = Rig { $0.languages = Service.PreferredLanguages { [current.withLock { $0 }] } }
        rig.transport.onAnyRequest().respond(.text("ok"))
        _ = try await rig.loader.load(rig.request())
        current.withLock { $0 = "fr" }
        _ = try await rig.loader.load(rig.request())
        #expect(rig.transport.requests.map { $0.headers["Accept-Language"] } == ["de;q=1.00", "fr;q=1.00"])
    }

    @Test("service RQ-19 describes itself with its address")
    func description() throws {
        #expect(try Request(url).description == "GET \(url)")
    }

    @Test("service RQ-20 gets an identity only when it is performed")
    func identity() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let request = try rig.request()
        let first = rig.loader.load(request, on: .anywhere) { _ in }
        let copy = request
        let second = rig.loader.load(copy, on: .anywhere) { _ in }
        #expect(second.id.number == first.id.number + 1)
    }

    @Test("service RQ-21 streams a body that is made while it is sent")
    func stream() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        request.method = .post
        request.body = .writer { try await $0(Data("made".utf8)) }

        _ = try await rig.loader.load(request)

        #expect(rig.transport.received.first?.text == "made")
    }

    @Test(
        "finds the user's languages in the variables of POSIX",
        arguments: [
            (["LANG": "de_CH.UTF-8"], ["de-CH"]), (["LANG": "C"], []), ([:], []),
            (["LANG": "en_GB", "LANGUAGE": "fr:it"], ["fr", "it", "en-GB"]),
            (["LC_ALL": "rm_CH@x", "LANG": "en_GB"], ["rm-CH"]), (["LC_ALL": "C.UTF-8", "LANGUAGE": "fr"], []),
            (["LC_ALL": "rm_CH", "LC_MESSAGES": "it_CH"], ["rm-CH"]), (["LC_ALL": "", "LANG": "en_GB"], ["en-GB"]),
            (["LANG": "POSIX", "LANGUAGE": "fr"], []), (["LANGUAGE": "fr"], []),
        ] as [([String: String], [String])]
    )
    func environment(_ variables: [String: String], _ languages: [String]) {
        #expect(Service.PreferredLanguages.languages(inEnvironment: { variables[$0] }) == languages)
    }
}

@Suite("Responses", .timeLimit(.minutes(5)))
struct ResponseCaseTests {
    private func load(_ answer: ScriptedResponse) async throws -> (Rig, Result<Response, LoadingError>) {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(answer)
        do throws(LoadingError) {
            return (rig, .success(try await rig.loader.load(rig.request())))
        } catch {
            return (rig, .failure(error))
        }
    }

    @Test("service RS-01 is made of a 200")
    func creation() async throws {
        #expect(try await load(.status(200)).1.get().status == 200)
    }

    @Test("service RS-07 is not an error with 200")
    func success() async throws {
        guard case .success = try await load(.status(200)).1 else {
            Issue.record("an error")
            return
        }
    }

    /// How many attempts are made for a request with this response, when two more are allowed.
    private func attempts(_ answer: ScriptedResponse) async throws -> Int {
        let rig = Rig {
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(answer)
        // Whether it throws does not matter here.
        _ = try? await rig.loader.load(rig.request())
        return rig.transport.received.count
    }

    @Test("service RS-02 sends the request once after 200")
    func noRetryAfterSuccess() async throws { #expect(try await attempts(.status(200)) == 1) }

    @Test("service RS-03 sends the request once after 404")
    func noRetryAfterNotFound() async throws { #expect(try await attempts(.status(404)) == 1) }

    @Test("service RS-04 sends the request once when the client's certificate is refused")
    func noRetryAfterCertificate() async throws {
        #expect(try await attempts(.fails(LoadingError(.clientCertificateRequired))) == 1)
    }

    @Test("service RS-05 sends the request again after a time-out")
    func retryAfterTimeout() async throws { #expect(try await attempts(.timesOut()) == 3) }

    @Test("service RS-06 sends the request once when there was neither an HTTP answer nor an error")
    func noRetryWithoutAnswer() async throws {
        let asked = Locked(0)
        let rig = Rig {
            $0.retries.limit = 2
            $0.retries.backoff = .none
            $0.transportsByScheme = [
                "own": ClosureTransport { request, _ throws(LoadingError) in
                    asked.withLock { $0 += 1 }
                    return Response(status: 0, request: request)
                }
            ]
        }
        _ = try await rig.loader.load(Request("own:thing"))
        #expect(asked.withLock { $0 } == 1)
    }

    @Test("service RS-12 sends the request once after the status 0")
    func noRetryAfterZero() async throws { #expect(try await attempts(.status(0)) == 1) }

    @Test("service RS-13 sends the request once after a cancellation")
    func noRetryAfterCancellation() async throws { #expect(try await attempts(.fails(LoadingError(.cancelled))) == 1) }

    @Test("service RS-08 is an error with the status 404")
    func notFound() async throws {
        guard case .failure(let error) = try await load(.status(404)).1,
            case .unacceptableStatus(let status) = error.kind
        else {
            Issue.record("no error")
            return
        }
        #expect(status == 404)
    }

    @Test("service RS-09 has the fields of the answer")
    func headers() async throws {
        #expect(try await load(.status(200, headers: ["Header": "Value"])).1.get().headers["header"] == "Value")
    }

    @Test("service RS-10 reads Retry-After as seconds from now")
    func retryAfterSeconds() throws {
        let now = VirtualTime.defaultDate
        #expect(try Headers.RetryAfter("60", now: now).delay(serverDate: nil, now: now) == .seconds(60))
    }

    @Test("service RS-11 reads Retry-After as a date")
    func retryAfterDate() throws {
        guard
            case .date(let date) = try Headers.RetryAfter("Fri, 31 Dec 1999 23:59:59 GMT", now: VirtualTime.defaultDate)
        else {
            Issue.record("no date")
            return
        }
        #expect(date == Date(timeIntervalSince1970: 946_684_799))
    }

    @Test("service RS-14 describes its failure with address and status")
    func description() async throws {
        guard case .failure(let error) = try await load(.status(404)).1 else {
            Issue.record("no error")
            return
        }
        #expect(error.description == "GET https://svc.example.com/thing: The server responded with 404.")
    }

    @Test("service RS-15 has the address that answered")
    func resolvedURL() async throws {
        let moved = try Request("https://other.example.com/moved")
        let transport = ClosureTransport { _, _ throws(LoadingError) in Response(status: 200, request: moved) }

        let response = try await transport.makeLoader()
            .load(Request("https://svc.example.com/thing"))

        #expect(response.request.url == moved.url)
    }
}
