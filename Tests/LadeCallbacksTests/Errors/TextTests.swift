import Foundation
import Testing

@testable import LadeCallbacks

@Suite(.timeLimit(.minutes(5)))
struct TextTests {
    // Sums of arrays take the compiler seconds.
    private static let urlErrorRanges: [ClosedRange<Int>] = [
        1...1, 999...999, 1000...1017, 1022...1022, 1100...1103, 1200...1206, 2000...2000, 9789...9789,
    ]
    static let urlErrorCodes = urlErrorRanges.flatMap { $0 }.map { -$0 }

    private static let statusRanges: [ClosedRange<Int>] = [
        100...103, 200...208, 226...226, 300...308, 400...418, 420...426, 428...429, 431...431, 440...440, 444...444,
        449...451, 495...511, 520...527, 530...530, 598...599,
    ]
    static let statuses = statusRanges.flatMap { $0 }

    @Test("requests R32 has a text for every URL error, capitalised", arguments: MessageLanguage.allCases)
    func urlErrors(language: MessageLanguage) {
        #expect(Self.urlErrorCodes.count == 34)
        for code in Self.urlErrorCodes {
            let text = LoadingError.URLErrorText.text(for: code, in: language)
            #expect(text.first?.isUppercase == true, "\(code) \(language)")
        }
        #expect(LoadingError.URLErrorText.text(for: -9789, in: language) == Message.unknownError.text(in: language))
    }

    @Test("requests R33 has a text for every status, capitalised", arguments: MessageLanguage.allCases)
    func statusTexts(language: MessageLanguage) {
        for code in Self.statuses {
            #expect(Response.Status.texts.text(code, in: language)?.first?.isUppercase == true, "\(code) \(language)")
        }
        for code in [199, 299, 399, 499, 599, 600, 999] {
            #expect(!Response.Status(code).text(in: language).isEmpty)
        }
    }

    @Test("requests §6.5 has every text in every language")
    func tablesAreWhole() {
        for table in [Response.Status.texts, LoadingError.URLErrorText.table, Message.table] {
            for number in table.numbers {
                for language in MessageLanguage.allCases {
                    #expect(table.text(number, in: language)?.isEmpty == false, "\(number) \(language)")
                }
            }
        }
        #expect(Message.table.numbers == Message.allCases.map(\.rawValue))
    }

    @Test(
        "requests §6.5 finds the language of a tag",
        arguments: [("de-CH", "de"), ("rm", "rm"), ("fr_CH", "fr"), ("EN-gb", "en"), ("es", nil)]
    )
    func languages(tag: String, code: String?) {
        #expect(MessageLanguage(tag: tag)?.rawValue == code)
    }

    @Test("requests R32 has the code of the URL error domain for every error", arguments: CodeRow.all)
    func codeOfError(error: LoadingError, code: Int) {
        #expect(error.urlErrorCode == code)
        let text =
            switch error.kind {
            case .unacceptableStatus: Response.Status(404).text(in: .english)
            case .decoding: Message.invalidData.text(in: .english)
            default: LoadingError.URLErrorText.text(for: code, in: .english)
            }
        #expect(error.text(in: .english) == text)
    }

    @Test("requests R33 explains a status without a text of its own by its class")
    func statusClass() {
        for (code, other) in [(199, 1), (299, 2), (399, 3), (439, 4), (560, 5)] {
            #expect(Response.Status(code).text(in: .english) == Response.Status.texts.text(other, in: .english))
        }
        for language in MessageLanguage.allCases {
            #expect(Response.Status(600).text(in: language) == Message.unknownError.text(in: language))
        }
    }

    @Test("requests §6.1 an error of a lower layer has no code, and the status and the address of the call")
    func lowerLayers() throws {
        let request = try HandleRig.request("/a")
        var context = LoadingError.Context(request)
        context.status = 503
        let cause = LoadingError(.incompleteBody(received: 1, expected: 2), context)
        let error = NetworkError.transport(cause, looksLikePublicWiFi: false)
        #expect(error.code == nil && error.status == 503 && error.failingURL == "https://svc.example.com/a")
        #expect(!error.isCancellation)

        let page = PagedEndpoint(Endpoint(request), paginator: .rule(.body(["next"]))).firstPage()
        let failure = NetworkError.pagination(
            PageError(page: page, cause: .loading(LoadingError(.cancelled, context)))
        )
        #expect(failure.code == nil && failure.status == nil && failure.failingURL == "https://svc.example.com/a")
        #expect(failure.isCancellation)
        let loop = NetworkError.pagination(PageError(page: page, cause: .loop))
        #expect(!loop.isCancellation && !NetworkError.http(404, url: nil).isCancellation)
    }

    @Test("requests §6.1 numbers its kinds of error and describes them")
    func codes() {
        struct Odd: Error {}
        let errors: [NetworkError] = [
            .http(404, url: "https://a/"), .invalidData(Odd(), url: nil), .multiple([Odd(), Odd()]),
        ]
        #expect(errors.map { $0.code?.rawValue } == [0, 1, 2])
        #expect(errors.allSatisfy { $0.errorDescription == $0.text() && !$0.description.isEmpty })
        #expect(errors[2].errors.count == 2)
        #expect(errors[2].text(in: .english) == Message.severalErrors.text(in: .english))
        #expect(errors[0].description.hasPrefix("https://a/ responded with 404"))
    }
}

/// The code of the URL error domain for each error, and for each fault that has a code of its own.
private enum CodeRow {
    private static func untrusted(_ cause: LoadingError.TrustCause.Cause) -> LoadingError {
        LoadingError(.untrustedServer(LoadingError.TrustCause(host: "a", cause: cause)))
    }

    private static func file(_ operation: LoadingError.FileCause.Operation) -> LoadingError {
        LoadingError(.file(LoadingError.FileCause(path: "/a", operation: operation, reason: "it is locked")))
    }

    private struct Odd: Error {}

    static let all: [(LoadingError, Int)] = {
        let context = LoadingError.Context()
        let report = LoadingError.DeadlineReport(limit: .seconds(1), elapsed: .seconds(1), stages: Call.StageTimes())
        let fault = LoadingError.AuthorisationCause(authoriser: "bearer", cause: .refused)
        return [
            (LoadingError(.cancelled, context), -999),
            (LoadingError(.invalidRequest(.url("a b", reason: "a space")), context), -1000),
            (LoadingError(.invalidRequest(.unsupportedScheme("gopher")), context), -1002),
            (LoadingError(.invalidRequest(.bodyNotReplayable), context), -1),
            (LoadingError(.invalidSetting(name: "proxy", reason: "no port"), context), -1),
            (LoadingError(.timedOut(.connect), context), -1001),
            (LoadingError(.deadlineExceeded(report), context), -1001),
            (LoadingError(.nameNotResolved(host: "a"), context), -1003),
            (LoadingError(.cannotConnect(host: "a", reason: .refused), context), -1004),
            (LoadingError(.cannotConnect(host: "a", reason: .handshakeFailed), context), -1200),
            (LoadingError(.proxy(.cannotConnect(proxy: "a")), context), -1004),
            (LoadingError(.proxy(.authenticationRequired(proxy: "a")), context), -1013),
            (LoadingError(.connectionLost(.nothing, isSafeToRepeat: true), context), -1005),
            (LoadingError(.incompleteBody(received: 1, expected: 2), context), -1005),
            (LoadingError(.malformedResponse(LoadingError.MalformedResponse(.statusLine)), context), -1011),
            (LoadingError(.malformedResponse(LoadingError.MalformedResponse(.contentCoding)), context), -1016),
            (LoadingError(.headTooLarge(.bytes(1)), context), -1103),
            (LoadingError(.bodyTooLarge(limit: 1, announced: nil), context), -1103),
            (LoadingError(.decompressionRatioExceeded(limit: 1), context), -1103),
            (untrusted(.expired), -1201), (untrusted(.revoked), -1201), (untrusted(.notYetValid), -1204),
            (untrusted(.protocolVersion), -1200), (untrusted(.notTLS), -1200), (untrusted(.selfSigned), -1202),
            (untrusted(.wrongHost), -1202), (untrusted(.untrustedRoot), -1202), (untrusted(.weakKey), -1202),
            (untrusted(.other("odd")), -1202),
            (LoadingError(.pinMismatch(host: "a"), context), -1202),
            (LoadingError(.clientCertificateRequired, context), -1206),
            (LoadingError(.decorationFailed, context, underlyingError: Odd()), -1),
            (LoadingError(.interceptionFailed, context, underlyingError: Odd()), -1),
            (LoadingError(.requestBodyFailed, context, underlyingError: Odd()), -1021),
            (file(.read), -1102), (file(.write), -1),
            (LoadingError(.rateLimited(key: "a", wait: .seconds(1)), context), -1008),
            (LoadingError(.redirectRefused(.tooMany(limit: 1)), context), -1007),
            (LoadingError(.redirectRefused(.loop(url: "a")), context), -1007),
            (LoadingError(.redirectRefused(.insecure(url: "a")), context), -1010),
            (LoadingError(.authorisationFailed(fault), context), -1013),
            (LoadingError(.notStored, context), -1008),
            (LoadingError(.unacceptableStatus(404), context), -1011),
            (LoadingError(.decoding, context, underlyingError: Odd()), -1017),
            (LoadingError(.transport(code: 1, message: "odd"), context), -1),
        ]
    }()
}
