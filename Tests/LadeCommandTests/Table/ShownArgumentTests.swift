import LadeTesting
import Testing

@testable import LadeCommand

@Suite("Arguments in errors", .timeLimit(.minutes(5)))
struct ShownArgumentTests {
    private static let shown: [(String, String)] = [
        ("--user=ann:S3CRET", "--user=…"), ("-uann:S3CRET", "-u…"), ("--header=Authorization: S3CRET", "--header=…"),
        ("https://ann:S3CRET@host/x?t=S3CRET#S3CRET", "https://host/x"), ("ann:S3CRET@host", "…@host"),
        ("password=S3CRET", "password=…"), ("token==S3CRET", "token==…"), ("a:=S3CRET", "a:=…"),
        ("Authorization:Bearer S3CRET", "Authorization:…"), ("X-Key:S3CRET", "X-Key:…"), ("a=\u{301}S3CRET", "a=…"),
        ("host?token=S3CRET", "host?…"), ("Bearer S3CRET", "Bearer…"), ("password=http://S3CRET@h/", "password=…"),
        ("fetch", "fetch"), ("host:8080/x", "host:8080/x"), ("30x", "30x"), ("--retries", "--retries"), ("", ""),
    ]

    @Test("finding HF-9 an argument is shown without what may be secret", arguments: shown)
    func shows(argument: String, shown: String) {
        #expect(argument.asArgument == shown)
    }

    private static let lines: [[String]] = [
        ["get", "password=S3CRET", "http://127.0.0.1:1/"],
        ["get", "Authorization:Bearer S3CRET", "http://127.0.0.1:1/"],
        ["get", "token==S3CRET", "http://127.0.0.1:1/"], ["get", "a:=S3CRET", "http://127.0.0.1:1/"],
        ["get", "X-Key:S3CRET", "http://127.0.0.1:1/"], ["get", "password=S3CRET"],
        ["PUT", "password=S3CRET", "http://127.0.0.1:1/"],
        ["get", "-m", "password=S3CRET", "http://127.0.0.1:1/"],
        ["get", "--rate", "token=S3CRET", "http://127.0.0.1:1/"],
        ["get", "--select", "token=S3CRET", "http://127.0.0.1:1/"],
        ["get", "--session", "a=S3CRET", "http://127.0.0.1:1/"],
        ["get", "--color", "a=S3CRET", "http://127.0.0.1:1/"],
        ["get", "--pin", "S3CRETS3CRET=", "-q", "--nonsense=S3CRET"],
        ["pages", "password=S3CRET", "http://127.0.0.1:1/"], ["explain", "token==S3CRET", "http://127.0.0.1:1/"],
        ["pages", "--next", "a=S3CRET", "http://127.0.0.1:1/"], ["serve", "--port", "a=S3CRET"],
        ["get", "--from-curl", "curl --user=ann:S3CRET --nonsense=S3CRET http://127.0.0.1:1/"],
        ["get", "--from-curl", "curl --headr='Authorization: S3CRET' http://127.0.0.1:1/"],
        ["get", "--from-curl", "curl --urll=http://u:S3CRET@127.0.0.1:1/"],
        ["get", "--from-curl", "curl --no-user=S3CRET http://127.0.0.1:1/"],
        ["get", "--from-curl", "curl 'http://u:S3CRET@127.0.0.1:1/[1-'"],
        ["get", "--from-curl", "curl 'ftp://u:S3CRET@127.0.0.1:1/'"],
        ["get", "--from-curl", "curl -F 'a=b;S3CRET' http://127.0.0.1:1/"],
    ]

    @Test("finding CF-7 no error about arguments shows a value", arguments: lines)
    func errors(arguments: [String]) async throws {
        let outcome = try await LadeProcess(arguments).outcome()
        #expect(outcome.status == 1, "\(outcome.talk)")
        #expect(outcome.talkLines.count == 2, "\(outcome.talk)")
        #expect(!(outcome.talk + outcome.output).contains("S3CRET"), "\(outcome.talk)")
    }

    @Test("finding CF-7 both spellings of an option with a value are read")
    func spellings() throws {
        var (attached, separate) = (GetSettings(), GetSettings())
        try CurlReader.read("curl --user=ann:pw --header='A: b=c' --url=http://h/", into: &attached)
        try CurlReader.read("curl --user ann:pw --header 'A: b=c' --url http://h/", into: &separate)
        #expect("\(attached)" == "\(separate)")
        #expect(throws: CommandError.self) { try CurlReader.read("curl --silent=x http://h/", into: &attached) }
    }
}
