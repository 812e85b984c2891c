import Foundation
import LadeTesting
import Testing

@testable import LadeCallbacks

/// What a request reports about its response.
@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RequestOutcomeTests {
    let rig = HandleRig()

    @Test("requests R3 gives a JSON dictionary")
    func dictionary() async throws {
        let delivered = Deliveries<Outcome<[String: JSONValue], NetworkError>>()

        RequestHandle(rig.loader, try rig.endpoint("/json").jsonObject()) { delivered.add($0) }.resume()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.value?["name"]?.string == "x")
        #expect(outcome.response != nil && outcome.error == nil)
    }

    @Test("requests R5 reports malformed JSON as invalid data", arguments: ["/garbage", "/empty", "/array"])
    func wrongJSON(path: String) async throws {
        rig.transport.on(.get, "/array").respond(.json("[1]"))
        let delivered = Deliveries<Outcome<[String: JSONValue], NetworkError>>()

        RequestHandle(rig.loader, try rig.endpoint(path).jsonObject()) { delivered.add($0) }.resume()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.value == nil && outcome.response != nil)
        #expect(outcome.error?.code == .invalidData)
    }

    @Test("requests R10 reports a refused status as an HTTP error, with the response")
    func httpError() async throws {
        let outcome = try await rig.run("/missing")

        #expect(outcome.value == nil && outcome.response != nil)
        #expect(outcome.error?.code == .http)
    }

    @Test("requests R10 accepts the statuses of the request, else those of the endpoint, else those below 400")
    func acceptableStatuses() async throws {
        for status in [399, 400, 404] { rig.transport.on(.get, "/\(status)").respond(.status(Response.Status(status))) }
        #expect(try await rig.run("/399").error == nil)
        #expect(try await rig.run("/400").error?.status == 400)

        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        var endpoint = try rig.endpoint("/404")
        endpoint.acceptableStatuses = .codes(404...404)
        RequestHandle(rig.loader, endpoint) { delivered.add($0) }.resume()
        #expect(try await delivered.wait(for: 1)[0].error == nil)
        endpoint.request.acceptableStatuses = .codes(200...200)
        RequestHandle(rig.loader, endpoint) { delivered.add($0) }.resume()
        #expect(try await delivered.wait(for: 2)[1].error?.status == 404)
    }

    @Test("requests R10 reads a file, which has no status")
    func file() async throws {
        let request = try Request(URL(filePath: #filePath).absoluteString)
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let loader = try Loader()
        RequestHandle(loader, Endpoint(request)) { delivered.add($0) }.resume()
        #expect(try await delivered.wait(for: 1)[0].value?.isEmpty == false)
        var endpoint = Endpoint(request)
        endpoint.acceptableStatuses = .codes(500...500)
        RequestHandle(loader, endpoint) { delivered.add($0) }.resume()
        #expect(try await delivered.wait(for: 2)[1].value?.isEmpty == false)
        withExtendedLifetime(loader) {}
    }

    @Test("requests R12 reports the address after redirects")
    func addressAfterRedirects() async throws {
        rig.transport.on(.get, "/old").respond(.status(302, headers: ["Location": "/missing"]))
        #expect(try await rig.run("/old").error?.failingURL == "https://svc.example.com/missing")
    }

    @Test("requests R11 reports the refused status")
    func httpErrorStatus() async throws {
        #expect(try await rig.run("/missing").error?.status == 404)
    }

    @Test("requests R12 reports the address of a refused request")
    func httpErrorURL() async throws {
        #expect(try await rig.run("/missing").error?.failingURL == "https://svc.example.com/missing")
    }

    @Test("requests R13 treats no status as an error when HTTP errors are disabled")
    func httpErrorsDisabled() async throws {
        let outcome = try await rig.run("/missing", options: .httpErrorsDisabled)

        #expect(outcome.value == nil && outcome.error == nil)
        #expect(outcome.response?.status == 404)
    }

    @Test("requests R14 reports a certificate that is not trusted as such")
    func untrusted() async throws {
        let outcome = try await rig.run("/untrusted")

        #expect(outcome.value == nil && outcome.response == nil)
        guard case .untrustedServer = outcome.error?.loadingError?.kind else {
            Issue.record("It is \(outcome)")
            return
        }
        #expect(outcome.error?.loadingError?.urlErrorCode == -1202)
    }

    @Test("requests R15 says in every language that a public WiFi may be in the way, and at which address")
    func friendlyWiFi() async throws {
        let outcome = try await rig.run("/untrusted")

        #expect(outcome.error?.failingURL == "https://svc.example.com/untrusted")
        for language in MessageLanguage.allCases {
            #expect(outcome.error?.text(in: language).contains("WiFi") == true)
        }
    }

    @Test(
        "requests R15 suspects a public WiFi behind certificates that its login page would have",
        arguments: [
            (.selfSigned, true), (.wrongHost, true), (.untrustedRoot, true), (.expired, false), (.revoked, false),
            (.weakKey, false), (.notYetValid, false),
        ] as [(LoadingError.TrustCause.Cause, Bool)]
    )
    func publicWiFi(cause: LoadingError.TrustCause.Cause, isSuspected: Bool) async throws {
        let fault = LoadingError.TrustCause(host: "svc.example.com", cause: cause)
        rig.transport.on(.get, "/refused").respond(.fails(LoadingError(.untrustedServer(fault))))
        #expect(try await rig.run("/refused").error?.text(in: .english).contains("WiFi") == isSuspected)
    }

    @Test("requests R16 leaves the text of a refused certificate when that is set")
    func friendlyWiFiDisabled() async throws {
        let outcome = try await rig.run("/untrusted", options: .friendlyWiFiMessagesDisabled)

        #expect(outcome.error?.loadingError?.urlErrorCode == -1202)
        #expect(outcome.error?.failingURL == "https://svc.example.com/untrusted")
        #expect(outcome.error?.text(in: .english).contains("WiFi") == false)
    }

    @Test("requests §1.4 row 9 treats a parser that returns nil as a success without a value")
    func parserWithoutValue() async throws {
        let delivered = Deliveries<Outcome<Int, NetworkError>>()
        let isMain = Deliveries<Bool>()

        RequestHandle(rig.loader, try HandleRig.request("/ok")) { (_: Data) -> Int? in
            isMain.add(MainDelivery.isOnMain)
            return nil
        } completion: {
            delivered.add($0)
        }.resume()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.value == nil && outcome.response != nil && outcome.error == nil)
        #expect(isMain.all == [false])
    }

    @Test("requests §1.4 a parser receives what the processors of the service make of the body")
    func processors() async throws {
        let transport = ScriptedTransport(answering: .text("abc"))
        var settings = Service.Settings()
        settings.time = VirtualTime()
        settings.processors = [Service.processor { (data: Data, _) in Data(data.reversed()) }]
        let loader = Service(settings, transport: transport).anonymous.makeLoader()
        let delivered = Deliveries<Outcome<String, NetworkError>>()

        RequestHandle(loader, try HandleRig.request("/ok")) { (data: Data) -> String? in
            String(decoding: data, as: UTF8.self)
        } completion: {
            delivered.add($0)
        }.resume()

        #expect(try await delivered.wait(for: 1)[0].value == "cba")
        withExtendedLifetime(loader) {}
    }

    @Test("requests §1.4 row 8 wraps what a parser throws")
    func parserThatThrows() async throws {
        struct Odd: Error {}
        let delivered = Deliveries<Outcome<Int, NetworkError>>()

        RequestHandle(rig.loader, try HandleRig.request("/ok")) { (_: Data) -> Int? in
            throw Odd()
        } completion: {
            delivered.add($0)
        }.resume()

        guard case .invalidData(let error, let url) = try await delivered.wait(for: 1)[0].error else {
            Issue.record("It is \(delivered.all)")
            return
        }
        #expect(error is Odd)
        #expect(url == "https://svc.example.com/ok")
    }

    @Test("requests §1.4 row 8 reports an error of loading that a parser throws as it is, with the response")
    func parserThatThrowsLoadingError() async throws {
        let delivered = Deliveries<Outcome<Int, NetworkError>>()

        RequestHandle(rig.loader, try HandleRig.request("/ok")) { (_: Data) -> Int? in
            throw LoadingError(.notStored)
        } completion: {
            delivered.add($0)
        }.resume()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.value == nil && outcome.response?.status == 200)
        guard case .notStored = outcome.error?.loadingError?.kind else {
            Issue.record("It is \(outcome)")
            return
        }
    }

    @Test("requests §1.4 a 204 without content is empty data, and a 304 is an answer as any other")
    func emptyAnswers() async throws {
        rig.transport.on(.get, "/unchanged").respond(.status(304))

        let empty = try await rig.run("/empty")
        let unchanged = try await rig.run("/unchanged")

        #expect(empty.value == Data() && empty.error == nil)
        #expect(unchanged.value == Data() && unchanged.error == nil)
    }
}
