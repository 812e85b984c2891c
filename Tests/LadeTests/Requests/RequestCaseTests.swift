#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
@testable import Lade
import LadeTesting
import Testing

@Suite("Requests")
struct RequestCaseTests {
    /// Sends a request by a service without languages and user agent, and gives what arrived.
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

    @Test("service RQ-04 takes no field without a name, and refuses to be sent with one")
    func namelessField() async throws {
        var request = try Request(url)
        request.headers.add("", "value")
        #expect(request.headers.isEmpty)
        await #expect(throws: LoadingError.self) { try await sent(request) }
    }

    @Test("service RQ-05 service RQ-06 service RQ-07 adds fields and removes them")
    func fields() throws {
        var request = try Request(url)
        request.headers["A"] = "1"
        #expect(request.headers["A"] == "1")
        request.headers["A"] = nil
        #expect(request.headers.isEmpty)
        request.headers["B"] = "2"
        request.headers.remove("B")
        #expect(request.headers.isEmpty)
    }

    @Test("service RQ-08 knows the length of its body")
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

    @Test("service D-20 takes an own field for its own, whatever its case")
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

        _ = try? await sent(request) { $0.callInterceptors = [Peek { modes.add($0.cacheMode) }] }

        #expect(modes.all == [.storedOnly])
    }

    @Test(
        "service RQ-11 service RQ-12 service RQ-13 service RQ-14 service RQ-15 service RQ-16 sends the word of its method",
        arguments: [Method.get, .delete, .put, .post, .head, .patch]
    )
    func methods(_ method: Method) async throws {
        #expect(try await sent(Request(method, url)).method.rawValue == method.description)
    }

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
            PreferredLanguages.headerValue(for: ["en-US", "fr-SE", "ja-SE", "sv-SE", "mk-SE", "nl-SE"])
                == "en-US;q=1.00, fr-SE;q=0.83, ja-SE;q=0.67, sv-SE;q=0.50, mk-SE;q=0.33, nl-SE;q=0.17"
        )
    }

    @Test("service D-21 sends at most ten languages, each once, none with the weight 0, and notices a change")
    func languageLimits() async throws {
        let many = (0..<300).map { "x\($0)" } + ["X1"]
        let value = try #require(PreferredLanguages.headerValue(for: ["x0", "X0"] + many))
        #expect(value.split(separator: ",").count == 10)
        #expect(value.hasPrefix("x0;q=1.00, x1;q=0.90"))
        #expect(value.hasSuffix("x9;q=0.10"))
        #expect(PreferredLanguages.headerValue(for: []) == nil)
        #expect(PreferredLanguages.headerValue(for: ["de\r\nX: 1"]) == nil)

        let current = Locked("de")
        let rig = Rig { $0.languages = PreferredLanguages { [current.withLock { $0 }] } }
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

    @Test("service RQ-20 takes an identity only when it is performed")
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
        ] as [([String: String], [String])]
    )
    func environment(_ variables: [String: String], _ languages: [String]) {
        #expect(PreferredLanguages.languages(inEnvironment: { variables[$0] }) == languages)
    }
}

@Suite("Responses")
struct ResponseCaseTests {
    private func load(_ answer: ScriptedAnswer) async throws -> (Rig, Result<Response, LoadingError>) {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(answer)
        do throws(LoadingError) {
            return (rig, .success(try await rig.loader.load(rig.request())))
        } catch {
            return (rig, .failure(error))
        }
    }

    @Test("service RS-01 service RS-07 is no error with 200")
    func success() async throws {
        #expect(try await load(.status(200)).1.get().status == 200)
    }

    @Test(
        "service RS-02 service RS-03 service RS-04 service RS-06 service RS-12 service RS-13 asks once for what is final",
        arguments: [
            ScriptedAnswer.status(200), .status(404),
            .fails(.untrustedServer(TrustFault(host: "a", cause: .expired), .init())), .fails(.cancelled(.init())),
        ]
    )
    func final(_ answer: ScriptedAnswer) async throws {
        #expect(try await load(answer).0.transport.received.count == 1)
    }

    @Test("service RS-08 is an error with the status 404")
    func notFound() async throws {
        guard case .failure(.unacceptableStatus(let status, _)) = try await load(.status(404)).1 else {
            Issue.record("no error")
            return
        }
        #expect(status == 404)
    }

    @Test("service RS-09 has the fields of the answer")
    func headers() async throws {
        #expect(try await load(.status(200, headers: ["Header": "Value"])).1.get().headers["header"] == "Value")
    }

    @Test("service RS-10 service RS-11 reads Retry-After as seconds and as a date")
    func retryAfter() throws {
        let now = VirtualTime.defaultDate
        #expect(try RetryAfter("60", now: now).delay(serverDate: nil, now: now) == .seconds(60))
        let old = try RetryAfter("Fri, 31 Dec 1999 23:59:59 GMT", now: now)
        guard case .date(let date) = old else {
            Issue.record("\(old)")
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
        #expect(error.description == "GET https://svc.example.com/thing: The server answered 404.")
    }

    @Test("service RS-15 knows the address that answered")
    func resolvedURL() async throws {
        let moved = try Request("https://other.example.com/moved")
        let transport = ClosureTransport { _, _ throws(LoadingError) in Response(status: 200, request: moved) }

        let response = try await Service(transport: transport).anonymous.makeLoader()
            .load(Request("https://svc.example.com/thing"))

        #expect(response.request.url == moved.url)
    }
}
