import Foundation
import Lade
import LadeFoundation
import LadeTesting
import SharedDoubles
import Testing

@Suite("Errors for Foundation callers", .timeLimit(.minutes(5)))
struct NSErrorTests {
    private let transport = ScriptedTransport()

    private func failure<Value>(of endpoint: Endpoint<Value>) async -> NSError? {
        await SharedDoubles.failure { () throws(LoadingError) in try await transport.makeLoader().load(endpoint) }?
            .nsError
    }

    @Test(
        "client CD-27 has the domain HTTP and the status as its code, with the body",
        arguments: [199, 300, 304, 404, 500]
    )
    func status(_ code: Int) async throws {
        transport.onAnyRequest().respond(
            .status(Response.Status(code), headers: ["X-A": "b"], code == 304 ? "" : "page")
        )

        let error = try #require(await failure(of: Endpoint("https://svc.example.com/thing")))

        #expect(error.domain == "HTTP")
        #expect(error.code == code)
        #expect(error.localizedDescription.contains("\(code)"))
        #expect(error.userInfo[LoadingError.bodyUserInfoKey] as? Data == Data((code == 304 ? "" : "page").utf8))
        #expect((error.userInfo[LoadingError.headersUserInfoKey] as? [String: String])?["X-A"] == "b")
    }

    @Test("finding FL-12 shows no credentials among the header fields")
    func secretHeaders() async throws {
        let secrets: Headers = [
            "Set-Cookie": "sid=s3cr3t", "Location": "https://u:s3cr3t@h/?token=s3cr3t", "X-A": "b",
            "WWW-Authenticate": "Basic realm=x",
        ]
        transport.onAnyRequest().respond(.status(404, headers: secrets, "page"))

        let error = try #require(await failure(of: Endpoint("https://svc.example.com/thing")))

        let fields = try #require(error.userInfo[LoadingError.headersUserInfoKey] as? [String: String])
        #expect(fields["X-A"] == "b" && fields["Set-Cookie"] != nil)
        #expect(!"\(error.userInfo)".contains("s3cr3t"))
    }

    @Test("finding FL-12 finding FP-6 shows no secret of the call that the server repeats, in the body either")
    func echoedSecrets() async throws {
        let secrets = ["header", "query", "declared", "cookie"].map { "cAnArY-\($0)-0123456789" }
        let octets = Data([0xFF, 0xFE])
        let page = octets + Data("you sent \(secrets.joined(separator: ", "))\n".utf8) + octets
        transport.onAnyRequest()
            .respond(.bytes(page, status: 404, headers: ["X-Echo": secrets.joined(separator: " ")]))
        var request = try Request("https://svc.example.com/thing?token=\(secrets[1])")
        request.headers["Authorization"] = "Bearer \(secrets[0])"
        request.headers["Cookie"] = "sid=\(secrets[3])"
        request.secretValues = [Secret(secrets[2])]

        let error = try #require(await failure(of: Endpoint(request)))

        let body = try #require(error.userInfo[LoadingError.bodyUserInfoKey] as? Data)
        let marks = Array(repeating: "<redacted>", count: 4).joined(separator: ", ")
        #expect(body == octets + Data("you sent \(marks)\n".utf8) + octets)
        let shown = "\(error) \(error.userInfo) \(error.localizedDescription)"
        #expect(shown.contains("redacted") && !shown.contains("cAnArY"))
    }

    @Test("client CD-23 has Cocoa's code 3840 for JSON that cannot be parsed")
    func json() async throws {
        transport.onAnyRequest().respond(.text("{null}"))

        let error = try #require(await failure(of: Endpoint("https://svc.example.com/thing").json()))

        #expect(error.domain == NSCocoaErrorDomain)
        #expect(error.code == 3840)
    }

    @Test(
        "has the codes that URLSession would have",
        arguments: [
            (LoadingError(.cancelled), NSURLErrorCancelled),
            (LoadingError(.timedOut(.idle)), NSURLErrorTimedOut),
            (LoadingError(.nameNotResolved(host: "a")), NSURLErrorCannotFindHost),
            (LoadingError(.cannotConnect(host: "a", reason: .refused)), NSURLErrorCannotConnectToHost),
            (LoadingError(.connectionLost(.nothing, isSafeToRepeat: true)), NSURLErrorNetworkConnectionLost),
            (LoadingError(.notStored), NSURLErrorResourceUnavailable),
            (LoadingError(.pinMismatch(host: "a")), NSURLErrorServerCertificateUntrusted),
        ]
    )
    func codes(_ error: LoadingError, _ code: Int) {
        #expect(error.nsError.domain == NSURLErrorDomain)
        #expect(error.nsError.code == code)
    }
}
