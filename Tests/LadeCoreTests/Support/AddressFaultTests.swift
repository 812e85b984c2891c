import LadeCore
import Testing

@Suite("Addresses that cannot be parsed", .timeLimit(.minutes(5)))
struct AddressFaultTests {
    @Test(
        "the error names the position of the first character that an address cannot have",
        arguments: [
            ("http://h/a b", "character 11 is a space, which is written as %20"),
            ("http://h/a%2", "the percent sign at character 11 is not followed by two hexadecimal digits"),
            ("http://h/%zz", "the percent sign at character 10 is not followed by two hexadecimal digits"),
            ("http://h/a\u{7}", "character 11 is a control character"),
            ("http://h/<b>", "character 10 is “<”, which must be percent-encoded"),
            ("http://h/ä", "character 10 is not ASCII and must be percent-encoded"),
            ("", "it is empty"), ("http://h:port/", "it cannot be parsed"),
        ]
    )
    func names(address: String, reason: String) {
        do throws(LoadingError) {
            _ = try Request(address)
            Issue.record("It was accepted")
        } catch {
            guard case .invalidRequest(.url(_, let actual)) = error.kind else {
                Issue.record("\(error)")
                return
            }
            #expect(actual == reason)
        }
    }

    @Test(
        "finding UF-9 an address without a scheme is said to have none",
        arguments: ["127.0.0.1:9001/who", "1.2.3.4:80"]
    )
    func noScheme(address: String) throws {
        let error = try #require(throws: LoadingError.self) { try Request(address) }
        #expect(error.description.contains("it has no scheme, such as https:// before the host"), "\(error)")
    }

    @Test("no sentence ends with two full stops")
    func endsOnce() {
        struct Fault: Error, CustomStringConvertible { var description: String { "The disk is full." } }
        #expect(LoadingError(.decoding, underlyingError: Fault()).description.hasSuffix("decoded: The disk is full."))
        #expect(LoadingError(.notStored).description.hasSuffix("there is none."))
    }
}
