import Foundation
import Testing

@testable import LadeContent

@Suite(.timeLimit(.minutes(5)))
struct TextTests {
    static let urlErrorCodes =
        [-1, -999] + (1000...1017).map { -$0 } + [-1022] + (1100...1103).map { -$0 } + (1200...1206).map { -$0 }
        + [-2000, -9789]

    static let statuses =
        [100...103, 200...208, 226...226, 300...308, 400...418, 420...426, 428...429, 431...431, 440...440, 444...444]
        .flatMap { $0 } + [449, 450, 451] + Array(495...499) + Array(500...511) + Array(520...527) + [530, 598, 599]

    @Test("requests R32 has a text for every URL error, capitalised", arguments: MessageLanguage.allCases)
    func urlErrors(language: MessageLanguage) {
        #expect(Self.urlErrorCodes.count == 34)
        for code in Self.urlErrorCodes {
            let text = URLErrorText.text(for: code, in: language)
            #expect(text.first?.isUppercase == true, "\(code) \(language)")
        }
        #expect(URLErrorText.text(for: -9789, in: language) == Message.unknownError.text(in: language))
    }

    @Test("requests R33 has a text for every status, capitalised", arguments: MessageLanguage.allCases)
    func statusTexts(language: MessageLanguage) {
        for code in Self.statuses {
            #expect(Status.texts.text(code, in: language)?.first?.isUppercase == true, "\(code) \(language)")
        }
        for code in [199, 299, 399, 499, 599, 600, 999] {
            #expect(!Status(code).text(in: language).isEmpty)
        }
    }

    @Test("requests §6.5 has every text in every language")
    func tablesAreWhole() {
        for table in [Status.texts, URLErrorText.table, Message.table] {
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

    @Test("requests §6.1 numbers its kinds of error and describes them")
    func codes() {
        struct Odd: Error {}
        let errors: [NetworkError] = [
            .http(404, url: "https://a/"), .invalidData(Odd(), url: nil), .multiple([Odd(), Odd()]),
        ]
        #expect(errors.map { $0.code?.rawValue } == [0, 1, 2])
        #expect(errors.allSatisfy { $0.errorDescription == $0.text() && !$0.description.isEmpty })
        #expect(errors[2].errors.count == 2)
    }
}
