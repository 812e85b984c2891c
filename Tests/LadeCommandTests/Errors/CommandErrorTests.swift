import Foundation
import Lade
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct CommandErrorTests {
    private static let context: LoadingError.Context = {
        guard let url = URL(string: "http://me:pw@h.example/x?token=abc") else { return LoadingError.Context() }
        return LoadingError.Context(Request(url))
    }()

    private static func trust(_ cause: LoadingError.TrustCause.Cause) -> LoadingError {
        LoadingError(.untrustedServer(LoadingError.TrustCause(host: "h", cause: cause)), context)
    }

    private static func malformed(_ rule: LoadingError.MalformedResponse.Rule) -> LoadingError {
        LoadingError(.malformedResponse(LoadingError.MalformedResponse(rule)), context)
    }

    private static let table: [(LoadingError, ExitCode)] = [
        (LoadingError(.cancelled, context), .interrupted),
        (LoadingError(.invalidRequest(.method("x")), context), .usage),
        (LoadingError(.invalidSetting(name: "x", reason: "y"), context), .usage),
        (LoadingError(.timedOut(.nameLookup), context), .timedOut),
        (LoadingError(.timedOut(.connect), context), .timedOut),
        (LoadingError(.timedOut(.idle), context), .timedOut),
        (LoadingError(.timedOut(.whole), context), .timedOut),
        (LoadingError(.nameNotResolved(host: "h"), context), .network),
        (LoadingError(.cannotConnect(host: "h", reason: .refused), context), .network),
        (LoadingError(.cannotConnect(host: "h", reason: .unreachable), context), .network),
        (LoadingError(.cannotConnect(host: "h", reason: .handshakeFailed), context), .trust),
        (LoadingError(.proxy(.authenticationRequired(proxy: "p")), context), .authorisation),
        (LoadingError(.proxy(.cannotConnect(proxy: "p")), context), .network),
        (LoadingError(.connectionLost(.nothing, isSafeToRepeat: true), context), .network),
        (LoadingError(.connectionLost(.head, isSafeToRepeat: false), context), .network),
        (malformed(.statusLine), .network),
        (malformed(.contentCoding), .decoding),
        (LoadingError(.headTooLarge(.bytes(1)), context), .decoding),
        (LoadingError(.incompleteBody(received: 1, expected: 2), context), .network),
        (LoadingError(.bodyTooLarge(limit: 1, announced: nil), context), .decoding),
        (LoadingError(.decompressionRatioExceeded(limit: 100), context), .decoding),
        (trust(.selfSigned), .trust),
        (trust(.expired), .trust),
        (trust(.wrongHost), .trust),
        (trust(.protocolVersion), .trust), (trust(.notTLS), .trust),
        (LoadingError(.interceptionFailed, context, underlyingError: CancellationError()), .network),
        (trust(.revoked), .trust),
        (LoadingError(.pinMismatch(host: "h"), context), .trust),
        (LoadingError(.clientCertificateRequired, context), .trust),
        (LoadingError(.requestBodyFailed, context, underlyingError: SystemError(number: 5)), .localFile),
        (LoadingError(.file(LoadingError.FileCause(path: "p", operation: .read, reason: "r")), context), .localFile),
        (LoadingError(.unacceptableStatus(304), context), .redirection),
        (LoadingError(.unacceptableStatus(206), context), .network),
        (LoadingError(.unacceptableStatus(101), context), .network),
        (LoadingError(.unacceptableStatus(401), context), .clientError),
        (LoadingError(.unacceptableStatus(503), context), .serverError),
        (LoadingError(.unacceptableStatus(999), context), .serverError),
        (LoadingError(.decoding, context, underlyingError: SystemError(number: 5)), .decoding),
        (
            LoadingError(
                .decoding,
                context,
                underlyingError: ProcessingError.digest(field: "Digest", expected: Data([1]), actual: Data([2]))
            ), .digest
        ),
        (LoadingError(.transport(code: 1, message: "m"), context), .network),
    ]

    @Test("command CM-03 gives every error its exit code", arguments: table.indices)
    func codes(row: Int) {
        let (error, code) = Self.table[row]
        #expect(CommandError(error).code == code, "\(error)")
    }

    @Test("command CM-04 says every error in two lines, with the address and without secrets", arguments: table.indices)
    func lines(row: Int) {
        let error = CommandError(Self.table[row].0)
        guard !error.isQuiet else { return }
        let lines = error.lines.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("lade: GET http://h.example/x?token=<redacted>: "))
        #expect(lines[1].hasPrefix("      ") && lines[1].count > 10)
        #expect(lines.allSatisfy { !$0.contains("pw") && !$0.contains("abc") })
    }

    @Test("command CM-04 keeps to two lines whatever a text contains")
    func controls() {
        let error = CommandError(what: "a\nb\u{1B}[2J", advice: "c\rd", code: .usage)
        #expect(error.lines == "lade: a\\x0Ab\\x1B[2J\n      c\\x0Dd\n")
    }

    @Test("command CM-05 exits with success and no message when the reader of its output has ended")
    func brokenPipe() {
        #expect(CommandError.output(SystemError(number: 32)) == .brokenPipe)
        #expect(CommandError.brokenPipe.code == .success)
        #expect(CommandError.output(SystemError(number: 28)).code == .localFile)
    }

    @Test("passes on an error of ours from within a body that could not be made")
    func bodies() {
        let cause = CommandError.file("x", "read", SystemError(number: 2))
        #expect(CommandError(LoadingError(.requestBodyFailed, Self.context, underlyingError: cause)) == cause)
    }

    @Test("finding RF-9 a 401 for credentials that were sent says that they are refused, and does not ask for them")
    func refusedCredentials() throws {
        var request = try Request("https://h.example/")
        let asked = CommandError(LoadingError(.unacceptableStatus(401), LoadingError.Context(request)))
        request.headers["Authorization"] = "Basic x"
        let refused = CommandError(LoadingError(.unacceptableStatus(401), LoadingError.Context(request)))

        #expect(asked.advice == "Sign in: -u USER, or an Authorization header.")
        #expect(refused.advice == "The credentials that were sent are refused: check them, or get new ones.")
        #expect(asked.code == refused.code)
    }

    @Test(
        "finding UF-9 a lost request that is not sent again says why, and how it would be",
        arguments: [(.post, true), (.patch, true), (.get, false), (.put, false), (.delete, false)]
            as [(Request.Method, Bool)]
    )
    func notRepeated(method: Request.Method, isNamed: Bool) throws {
        let context = LoadingError.Context(Request(method, try #require(URL(string: "https://h.example/"))))
        let error = CommandError(LoadingError(.connectionLost(.nothing, isSafeToRepeat: false), context))
        #expect(error.advice.contains("--retry-unsafe") == isNamed)
        #expect(error.advice.contains("\(method) may have been carried out, so it is not sent again") == isNamed)
    }
}
