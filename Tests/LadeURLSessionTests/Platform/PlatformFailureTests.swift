import Foundation
import LadeCore
import Testing

@testable import LadeURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)))
struct PlatformFailureTests {
    /// Real messages of libcurl 7.88 and OpenSSL 3.0, with their meanings.
    static let sentences: [(String, PlatformFailure.Meaning)] = [
        ("Received HTTP/0.9 when not allowed", .malformed(.notHTTP)),
        ("Unsupported response code in HTTP response", .malformed(.statusLine)),
        ("Unsupported HTTP version (3.1) in response", .malformed(.statusLine)),
        ("Weird server reply", .malformed(.notHTTP)),
        ("Header without colon", .malformed(.fieldName)),
        ("Nul byte in header", .malformed(.fieldValue)),
        ("Invalid Content-Length: value", .malformed(.contentLength)),
        ("Overflow Content-Length: value", .malformed(.contentLength)),
        ("Too long hexadecimal number: chunk hex-length char not a hex digit: 0x7a", .malformed(.chunk)),
        ("Too long hexadecimal number in chunked-encoding", .malformed(.chunk)),
        ("Illegal or missing hexadecimal sequence in chunked-encoding", .malformed(.chunk)),
        ("Malformed encoding found in chunked-encoding", .malformed(.chunk)),
        ("Unrecognized content encoding type. libcurl understands gzip content encodings.", .malformed(.contentCoding)),
        ("Error while processing content unencoding: incorrect header check", .malformed(.contentCoding)),
        ("Error in the HTTP/2 framing layer", .malformed(.http2Framing)),
        ("Failed writing header", .malformed(.unspecified)),
        ("Too large response headers: 308623 > 307200", .headTooLarge(bytes: 307_200)),
        ("Out of memory", .headTooLarge(bytes: 102_400)),
        ("transfer closed with 996 bytes remaining to read", .incompleteBody),
        ("transfer closed with outstanding read data remaining", .incompleteBody),
        ("Empty reply from server", .connectionLost),
        ("Recv failure: Connection reset by peer", .connectionLost),
        ("Send failure: Broken pipe", .connectionLost),
        ("HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)", .connectionLost),
        ("Connection died, tried 5 times before giving up", .connectionLost),
        ("Could not resolve proxy: proxy.invalid", .proxyNameNotResolved),
        ("Received HTTP code 407 from proxy after CONNECT", .proxyWantsCredentials),
        ("Received HTTP code 503 from proxy after CONNECT", .proxyRefused),
        ("Could not resolve host: nowhere.invalid", .nameNotResolved),
        ("Resolving timed out after 300000 milliseconds", .timedOut(.nameLookup)),
        ("Connection timed out after 300000 milliseconds", .timedOut(.connect)),
        ("Immediate connect fail for 192.0.2.1: Network is unreachable", .cannotConnect(.unreachable)),
        ("connect to 192.0.2.1 port 80 failed: No route to host", .cannotConnect(.unreachable)),
        ("Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server", .cannotConnect(.refused)),
        ("SSL certificate problem: self-signed certificate in certificate chain", .untrusted(.untrustedRoot)),
        ("SSL certificate problem: self-signed certificate", .untrusted(.selfSigned)),
        ("SSL certificate problem: self signed certificate in certificate chain", .untrusted(.untrustedRoot)),
        ("SSL certificate problem: self signed certificate", .untrusted(.selfSigned)),
        ("SSL certificate problem: unable to get local issuer certificate", .untrusted(.untrustedRoot)),
        ("SSL certificate problem: unable to get issuer certificate", .untrusted(.untrustedRoot)),
        ("SSL certificate problem: certificate has expired", .untrusted(.expired)),
        ("SSL certificate problem: certificate is not yet valid", .untrusted(.notYetValid)),
        ("SSL certificate problem: certificate revoked", .untrusted(.revoked)),
        ("SSL certificate problem: EE certificate key too weak", .untrusted(.weakKey)),
        ("SSL certificate problem: CA certificate md too weak", .untrusted(.weakKey)),
        ("error:0A00018F:SSL routines::ee key too small", .untrusted(.weakKey)),
        ("SSL: no alternative certificate subject name matches target host name 'a.test'", .untrusted(.wrongHost)),
        ("error:0A00010B:SSL routines::wrong version number", .untrusted(.notTLS)),
        ("error:0A000102:SSL routines::unsupported protocol", .untrusted(.protocolVersion)),
        ("error:0A00042E:SSL routines::tlsv1 alert protocol version", .untrusted(.protocolVersion)),
        ("error:0A00045C:SSL routines::tlsv13 alert certificate required", .clientCertificateRequired),
        (
            "SSL certificate problem: invalid purpose",
            .untrusted(.other("the certificate could not be verified"))
        ),
        ("OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 104", .connectionLost),
        ("TLS connect error: error:00000000", .cannotConnect(.handshakeFailed)),
        ("error:0A000410:SSL routines::sslv3 alert handshake failure", .cannotConnect(.handshakeFailed)),
    ]

    @Test("every sentence of the wire library has its meaning", arguments: sentences)
    func meaningOfSentence(_ sentence: String, _ meaning: PlatformFailure.Meaning) {
        #expect(PlatformFailure(.unknown, sentence).meaning(byMessage: true) == meaning)
    }

    @Test("finding AF-6 a localised message that contains a sentence of libcurl does not decide", arguments: sentences)
    func localisedMessage(_ sentence: String, _ meaning: PlatformFailure.Meaning) {
        #expect(PlatformFailure(.unknown, sentence).meaning(byMessage: false) == .unknown)
        #expect(PlatformFailure(.timedOut, sentence).meaning(byMessage: false) == .timedOut(.idle))
    }

    @Test("finding AF-6 only FoundationNetworking has the messages of libcurl")
    func messages() {
        #if canImport(FoundationNetworking)
            #expect(PlatformFailure.hasMessagesOfCurl)
        #else
            #expect(!PlatformFailure.hasMessagesOfCurl)
        #endif
    }

    @Test("every row of the table of sentences is tested by one that it decides")
    func rowsOfSentences() {
        for row in PlatformFailure.sentences {
            let deciding = Self.sentences.contains { sentence, _ in
                PlatformFailure.sentences.first { sentence.contains($0.part) }?.part == row.part
            }
            #expect(deciding, "no sentence is decided by “\(row.part)”")
        }
    }

    @Test("every code without a sentence has its meaning", arguments: PlatformFailure.codes.indices)
    func meaningOfCode(_ index: Int) {
        let row = PlatformFailure.codes[index]
        #expect(PlatformFailure(row.code).meaning == row.meaning)
        // A row after a more general one would never match.
        #expect(PlatformFailure.codes.filter { $0.code == row.code }.count == 1)
    }

    @Test("a code that is in no table stays what it is")
    func unknown() throws {
        #expect(try error(.init(.dataLengthExceedsMaximum, "too long")) == "transport -1103 too long")
        #expect(try error(PlatformFailure(NSError(domain: "elsewhere", code: 7))).hasPrefix("transport -1 "))
    }

    @Test("an error of the platform gives its code and its sentence")
    func platformError() {
        let info = [NSLocalizedDescriptionKey: "Empty reply from server"]
        let failure = PlatformFailure(NSError(domain: NSURLErrorDomain, code: -1011, userInfo: info))
        #expect(failure == PlatformFailure(.badServerResponse, "Empty reply from server"))
    }

    /// Every meaning as the error of a caller, in a body of which 4 bytes had arrived.
    @Test(
        "every meaning becomes an error with the facts of the exchange",
        arguments: [
            (.init(.cancelled), "cancelled"),
            (.init(.timedOut), "timed out idle"),
            (.init(.cannotFindHost), "name example.com"),
            (.init(.cannotConnectToHost), "connect example.com: it was refused"),
            (.init(.unknown, "Could not resolve proxy: p"), "proxy name"),
            (.init(.unknown, "Received HTTP code 407 from proxy after CONNECT"), "proxy credentials"),
            (.init(.unknown, "Received HTTP code 502 from proxy after CONNECT"), "proxy refused"),
            (.init(.networkConnectionLost), "lost after 4 bytes of the body, safe: false"),
            (.init(.unknown, "transfer closed with 5 bytes remaining to read"), "incomplete 4 of 9"),
            (.init(.cannotParseResponse), "malformed unspecified"),
            (.init(.unknown, "Out of memory"), "head 102400"),
            (.init(.unknown, "Too large response headers: 308623 > 307200"), "head 262144"),
            (.init(.serverCertificateUntrusted), "untrusted example.com: untrustedRoot"),
            (.init(.clientCertificateRequired), "client certificate"),
            (.init(.badURL), "bad url http://example.com/a: the platform refuses it"),
            (.init(.badURL, "no host"), "bad url http://example.com/a: no host"),
            (.init(.unsupportedURL), "scheme http"),
            (.init(.requestBodyStreamExhausted), "not replayable"),
            (.init(.callIsActive), "connect example.com: there is no route"),
        ] as [(PlatformFailure, String)]
    )
    func errors(_ failure: PlatformFailure, _ expected: String) throws {
        #expect(try error(failure) == expected)
    }

    @Test("an error names the file of the request's body that cannot be read")
    func bodyFile() throws {
        let failure = PlatformFailure(.fileDoesNotExist, "gone")
        #expect(try error(failure, body: .file(#filePath)) == "file \(#filePath): gone")
    }

    @Test("the detail of an error is the message of the platform, or its code without one")
    func detail() throws {
        #expect(try loadingError(.init(.timedOut, "too slow")).context.detail == "too slow")
        #expect(try loadingError(.init(.timedOut)).context.detail == "URLError -1001")
    }

    private func loadingError(_ failure: PlatformFailure, body: Request.Body? = nil) throws -> LoadingError {
        let request = try Request(.put, "http://example.com/a", body: body, delivery: .streamed)
        var state = TransferState(request: request, limits: .init(), canPause: false, now: Instant(nanoseconds: 0))
        let now = Instant(nanoseconds: 1)
        _ = state.headArrived(PlatformHead(code: 200, fields: [("Content-Length", "9")]), at: now)
        _ = state.bytesArrived(Data(count: 4), at: now)
        return failure.error(in: state, context: LoadingError.Context(request))
    }

    private func error(_ failure: PlatformFailure, body: Request.Body? = nil) throws -> String {
        switch try loadingError(failure, body: body).kind {
        case .cancelled: return "cancelled"
        case .timedOut(let phase): return "timed out \(phase)"
        case .nameNotResolved(let host): return "name \(host)"
        case .cannotConnect(let host, let reason): return "connect \(host): \(reason)"
        case .proxy(.nameNotResolved): return "proxy name"
        case .proxy(.authenticationRequired): return "proxy credentials"
        case .proxy(.refused): return "proxy refused"
        case .connectionLost(let progress, let isSafe): return "lost \(progress), safe: \(isSafe)"
        case .incompleteBody(let received, let expected): return "incomplete \(received) of \(expected ?? -1)"
        case .malformedResponse(let fault): return "malformed \(fault.rule)"
        case .headTooLarge(.bytes(let limit)): return "head \(limit)"
        case .untrustedServer(let fault): return "untrusted \(fault.host): \(fault.cause)"
        case .clientCertificateRequired: return "client certificate"
        case .invalidRequest(.url(let url, let reason)): return "bad url \(url): \(reason)"
        case .invalidRequest(.unsupportedScheme(let scheme)): return "scheme \(scheme)"
        case .invalidRequest(.bodyNotReplayable): return "not replayable"
        case .file(let fault): return "file \(fault.path): \(fault.reason)"
        case .transport(let code, let message): return "transport \(code) \(message)"
        default: return "something else"
        }
    }
}
