import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct RequestSettingsTests {
    private func settings(_ arguments: [String]) throws(CommandError) -> GetSettings {
        let parser = ArgumentParser(command: "lade get", rows: GetSettings.rows)
        guard case .run(let settings) = try parser.parse(arguments) else { throw .usage("help") }
        return settings
    }

    private func request(_ arguments: String...) async throws -> Request {
        let prompt = PasswordPrompt(interruption: Interruption())
        return try await settings(arguments).request.request(askingBy: prompt, random: SeededRandom(seed: 1))
    }

    /// What a transport would be asked, with the body read.
    private func sent(_ arguments: String...) async throws -> ScriptedTransport.Received {
        let prompt = PasswordPrompt(interruption: Interruption())
        let settings = try settings(arguments).request
        let request = try await settings.request(askingBy: prompt, random: SeededRandom(seed: 1))
        let transport = ScriptedTransport(answering: .status(204))
        _ = try await transport.send(request, call: Call())
        return try #require(transport.received.first)
    }

    @Test("asks with GET and default fields when nothing else is said")
    func defaults() async throws {
        let request = try await request("http://h/x")
        #expect(request.method == .get)
        #expect(request.body == nil)
        #expect(request.headers == ["User-Agent": "lade/0.1.0", "Accept": "*/*"])
    }

    @Test("makes one JSON object of the items, in order, numbers as they were typed")
    func jsonItems() async throws {
        let sent = try await sent("http://h/x", "b=1", "a:=1.10", "q==x y", "X-A:1", "l:=[1, {}]", "b=2")
        #expect(sent.request.method == .post)
        #expect(sent.target == "/x?q=x%20y")
        #expect(sent.text == #"{"b":"2","a":1.10,"l":[1, {}]}"#)
        #expect(sent.request.body?.contentType == "application/json")
        #expect(sent.request.headers["Accept"] == "application/json")
        #expect(sent.request.headers["X-A"] == "1")
    }

    @Test(
        "chooses the method by the options",
        arguments: [
            (["-I"], "HEAD"), (["-d", "x"], "POST"), (["--json", "{}"], "POST"), (["-X", "PURGE"], "PURGE"),
            (["-X", "PUT", "-d", "x"], "PUT"), (["-T", "/dev/null"], "PUT"), (["a=b"], "POST"), (["a==b"], "GET"),
        ]
    )
    func methods(arguments: [String], method: String) async throws {
        let prompt = PasswordPrompt(interruption: Interruption())
        let settings = try settings(["http://h/x"] + arguments).request
        #expect(try await settings.request(askingBy: prompt).method.rawValue == method)
    }

    @Test("joins the pieces of --data, strips line ends of @file only there, and leaves --data-raw alone")
    func data() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("body", "1\r\n2\0\n")
        let form = try await sent("http://h/", "-d", "a=b", "--data", "@\(file)", "--data-raw", "@x")
        #expect(form.text == "a=b&12&@x")
        #expect(form.request.body?.contentType == "application/x-www-form-urlencoded")
        let binary = try await sent("http://h/", "--data-binary", "@\(file)")
        #expect(binary.text == "1\r\n2\0\n")
        #expect(binary.request.body?.length == 6)
        let json = try await sent("http://h/", "--json", "[1,", "--json", "2]")
        #expect(json.text == "[1,2]")
        #expect(json.request.body?.contentType == "application/json")
        #expect(json.request.headers["Accept"] == "application/json")
    }

    @Test("streams the file that is the whole of --data-binary, and reads longer pieces than a pipe holds")
    func longData() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let text = String(repeating: "0123456789", count: 30_000)
        let file = try folder.file("body", text)
        guard case .file = try await request("http://h/", "--data-binary", "@\(file)").body?.content else {
            Issue.record("no file")
            return
        }
        #expect(try await sent("http://h/", "--data-binary", "@\(file)", "-d", "x").text == text + "&x")
        #expect(try await sent("http://h/", "t=@\(file)").text == #"{"t":"\#(text)"}"#)
    }

    @Test("replaces, adds, empties and leaves out header fields")
    func headers() async throws {
        let request = try await request(
            "http://h/",
            "-H",
            "Accept: a/b",
            "-H",
            "X-A: 1",
            "X-A:2",
            "-H",
            "User-Agent:",
            "X-E;",
            "-e",
            "http://r/"
        )
        #expect(
            request.headers == ["Referer": "http://r/", "Accept": "a/b", "X-A": "1", "X-A": "2", "X-E": ""]
        )
        for field in ["Content-Type:", "content-type:"] {
            let other = try await self.request("http://h/", "-A", "me/1", "-d", "x", "-H", field)
            #expect(other.headers["User-Agent"] == "me/1")
            #expect(other.body?.contentType == nil)
        }
    }

    @Test("sends the fields of a configuration first, and only those that the arguments do not name")
    func defaultHeaders() async throws {
        var settings = try settings(["http://h/", "x-a:1", "X-C:", "X-D:1"]).request
        settings.defaultHeaders = ["X-A", "X-B", "X-C"].map { .set($0, "0") }
        let request = try await settings.request(askingBy: PasswordPrompt(interruption: Interruption()))
        let fields = request.headers.map { "\($0.name): \($0.value)" }.filter { $0.lowercased().hasPrefix("x-") }
        #expect(fields == ["X-B: 0", "x-a: 1", "X-D: 1"])
    }

    @Test("signs in with the user of the option, else of the address, and shows neither")
    func users() async throws {
        let basic = "Basic " + Data("me:p:w".utf8).base64EncodedString()
        #expect(try await request("http://h/", "-u", "me:p:w").headers["Authorization"] == basic)
        let fromAddress = try await request("http://me:p%3Aw@h/")
        #expect(fromAddress.headers["Authorization"] == basic)
        #expect(fromAddress.url.absoluteString == "http://h/")
        #expect(try await request("http://other:pw@h/", "-u", "me:p:w").headers["Authorization"] == basic)
        let own = try await request("http://h/", "-u", "me:pw", "Authorization:Bearer x")
        #expect(own.headers.all("Authorization") == ["Bearer x"])
    }

    @Test("streams an upload from the disk and names it in a folder's address")
    func upload() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("up.txt", "hello")
        let sent = try await sent("http://h/in/", "-T", file)
        #expect(sent.target == "/in/up.txt")
        #expect(sent.text == "hello")
        #expect(sent.request.body?.contentType == nil)
        #expect(sent.request.body?.isReplayable == true)
    }

    @Test(
        "streams the standard input once, and gives it no name and no type",
        arguments: [(["-T", "-"], "PUT"), (["--stdin"], "POST"), (["-"], "POST")]
    )
    func standardInput(arguments: [String], method: String) async throws {
        let prompt = PasswordPrompt(interruption: Interruption())
        let request = try await settings(["http://h/in/"] + arguments).request.request(askingBy: prompt)
        #expect(request.url.absoluteString == "http://h/in/")
        #expect(request.method.rawValue == method)
        guard case .stream = request.body?.content else {
            Issue.record("no stream")
            return
        }
        #expect(request.body?.isReplayable == false)
        #expect(request.body?.contentType == nil)
    }

    @Test("makes a form of known length when an item is a file")
    func form() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("a\"b.txt", "hello")
        let sent = try await sent("http://h/", "title=Über", "file@\(file)", "n:=1")
        let boundary = try #require(sent.request.body?.contentType?.split(separator: "=").last)
        #expect(sent.request.body?.contentType?.hasPrefix("multipart/form-data; boundary=lade-") == true)
        #expect(sent.request.headers["Accept"] == "*/*")
        let expected = [
            "--\(boundary)", "Content-Disposition: form-data; name=\"title\"", "", "Über",
            "--\(boundary)", "Content-Disposition: form-data; name=\"file\"; filename=\"a%22b.txt\"",
            "Content-Type: text/plain", "", "hello",
            "--\(boundary)", "Content-Disposition: form-data; name=\"n\"", "", "1",
            "--\(boundary)--", "",
        ]
        #expect(sent.text == expected.joined(separator: "\r\n"))
        #expect(sent.request.body?.length == Int64(sent.body.count))
        #expect(sent.request.body?.isReplayable == true)
    }

    @Test("nests the keys of items, and takes values from files")
    func nestedItems() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let text = try folder.file("t", "a \"b\"\n")
        let json = try folder.file("j", "[1.10]\n")
        let token = try folder.file("k", "abc\r\n")
        let sent = try await sent("http://h/", "a[b]=c", "t=@\(text)", "j:=@\(json)", "a[l][]:=1", "X-Token:@\(token)")
        #expect(sent.text == "{\"a\":{\"b\":\"c\",\"l\":[1]},\"t\":\"a \\\"b\\\"\\n\",\"j\":[1.10]\n}")
        #expect(sent.request.headers["X-Token"] == "abc")
    }

    @Test("refuses an item whose file has no JSON, or is longer than 64 MB")
    func itemFiles() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let long = try folder.file("long", "")
        try #require(truncate(long, (64 << 20) + 1) == 0)
        let rows: [(item: String, part: String)] = [
            ("j:=@\(try folder.file("text", "[1"))", "no JSON"), ("t=@\(long)", "larger than 64 MB"),
        ]
        for (item, part) in rows {
            let error = try await #require(throws: CommandError.self) { try await request("http://h/", item) }
            #expect(error.code == .usage, "\(error.what)")
            #expect(error.what.contains(part), "\(error.what)")
        }
    }

    @Test("sends items as a form with --form, names as they were typed")
    func itemForm() async throws {
        let sent = try await sent("http://h/", "--form", "a[b]=c d", "n:=1", "e=&=")
        #expect(sent.text == "a%5Bb%5D=c%20d&n=1&e=%26%3D")
        #expect(sent.request.body?.contentType == "application/x-www-form-urlencoded")
        #expect(sent.request.headers["Accept"] == "*/*")
    }

    @Test("sends the parts of -F, with those of the items")
    func formParts() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("up;x.txt", "hello")
        let sent = try await sent(
            "http://h/",
            "-F",
            "f=@\"\(file)\";type=text/plain;filename=n.txt",
            "-F",
            "c=<\"\(file)\"",
            "-F",
            "t=x;type=text/y",
            "a=b"
        )
        let boundary = try #require(sent.request.body?.contentType?.split(separator: "=").last)
        let expected = [
            "--\(boundary)", "Content-Disposition: form-data; name=\"f\"; filename=\"n.txt\"",
            "Content-Type: text/plain", "", "hello",
            "--\(boundary)", "Content-Disposition: form-data; name=\"c\"", "", "hello",
            "--\(boundary)", "Content-Disposition: form-data; name=\"t\"", "Content-Type: text/y", "", "x",
            "--\(boundary)", "Content-Disposition: form-data; name=\"a\"", "", "b",
            "--\(boundary)--", "",
        ]
        #expect(sent.text == expected.joined(separator: "\r\n"))
    }

    @Test(
        "encodes data as curl does, and puts it into the query with -G",
        arguments: [
            (["--data-urlencode", "a=b c"], "a=b+c"), (["--data-urlencode", "b c"], "b+c"),
            (["--data-urlencode", "=b c"], "b+c"), (["--data-urlencode", "a b=ü"], "a b=%C3%BC"),
            (["-d", "x=1", "--data-urlencode", "y=&"], "x=1&y=%26"),
        ]
    )
    func encodedData(arguments: [String], text: String) async throws {
        let prompt = PasswordPrompt(interruption: Interruption())
        let request = try await settings(["http://h/"] + arguments).request.request(askingBy: prompt)
        guard case .bytes(let bytes) = request.body?.content else {
            Issue.record("no bytes")
            return
        }
        #expect(String(decoding: bytes, as: UTF8.self) == text)
        let query = try await settings(["http://h/?q=0", "-G"] + arguments).request.request(askingBy: prompt)
        #expect(query.method == .get)
        #expect(query.body == nil)
        #expect(query.url.query(percentEncoded: true) == "q=0&" + text.replacing(" ", with: "%20"))
    }

    @Test("reads the file of --data-urlencode, and the standard input once")
    func encodedFile() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("f", "a b\n")
        #expect(try await sent("http://h/", "--data-urlencode", "n@\(file)").text == "n=a+b%0A")
    }

    @Test(
        "reads the standard input for one piece of one request",
        arguments: [
            (["--data-urlencode", "a@-"], ["--data-urlencode", "b@-"]), (["-d", "@-"], ["-d", "@-"]),
            (["--json", "@-"], ["--json", "@-"]), (["-F", "a=@-"], ["-F", "b=<-"]), (["-T", "-"], ["X-A:@-"]),
            (["--stdin"], ["X-A:@-"]), (["-"], ["X-A:@-"]), (["a=@-"], ["b:=@-"]), (["a@-"], ["b@-"]),
        ] as [([String], [String])]
    )
    func standardInputTwice(once: [String], again: [String]) throws {
        let error = try #require(throws: CommandError.self) { try settings(["http://h/"] + once + again) }
        #expect(error.code == .usage, "\(error.what)")
        #expect(error.what.contains("read twice"), "\(error.what)")
        #expect(throws: Never.self) { try settings(["http://h/"] + once) }
        let several = try #require(throws: CommandError.self) { try settings(["http://h/", "http://i/"] + once) }
        #expect(several.code == .usage, "\(several.what)")
        #expect(several.what.contains("several addresses"), "\(several.what)")
    }

    @Test("takes further addresses before the first item, and from --url")
    func addresses() throws {
        let operands = try settings(["http://h/", "HTTPS://i/", "http://j/", "a=b"]).request
        #expect(operands.address == "http://h/")
        #expect(operands.otherAddresses == ["HTTPS://i/", "http://j/"])
        let options = try settings(["--url", "h/", "--url", "i/"]).request
        #expect(options.address == "h/")
        #expect(options.otherAddresses == ["i/"])
    }

    @Test("puts data into the query beside another body, or beside none", arguments: [["--json", "{}"], ["-I"]])
    func dataBeside(arguments: [String]) async throws {
        let prompt = PasswordPrompt(interruption: Interruption())
        let request = try await settings(["http://h/", "-G", "-d", "a=b"] + arguments).request
            .request(askingBy: prompt)
        #expect(request.url.query(percentEncoded: true) == "a=b")
    }

    @Test(
        "says in two lines what is wrong with the value of an option",
        arguments: [
            ["-F", "x"], ["-F", "=x"], ["-F", "x=@"], ["-F", "x=<;type=a/b"], ["--data-urlencode", ""],
            ["--data-urlencode", "x@"], ["-G"], ["-F", "a=b", "-d", "x"], ["-C"], ["-C", "-o", "x", "-i"],
            ["-C", "-O", "--force"], ["--url", ""],
        ]
    )
    func values(arguments: [String]) throws {
        let error = try #require(throws: CommandError.self) { try settings(["http://h/"] + arguments) }
        #expect(error.code == .usage)
        #expect(!error.what.isEmpty)
        #expect(!error.advice.isEmpty)
    }

    @Test(
        "refuses what contradicts itself",
        arguments: [
            [], ["http://h/", "a=b", "-d", "x"], ["http://h/", "-d", "x", "--json", "x"],
            ["http://h/", "-I", "-d", "x"],
            ["http://h/", "--stdin", "-d", "x"], ["http://h/", "-", "-d", "x"], ["http://h/", "--stdin", "-"],
            ["http://h/", "-T", "x", "a=b"],
            ["http://h/", "-o", "x", "-O"], ["http://h/", "--key", "x"], ["http://h/", "--noproxy", "x*"],
            ["http://h/", "a=b", "http://i/"], ["http://h/", "--pin", "sha256/x"], ["http://h/", "-x", "ftp://p"],
        ]
    )
    func contradictions(arguments: [String]) {
        let error = #expect(throws: CommandError.self) { try settings(arguments) }
        #expect(error?.code == .usage)
    }

    @Test(
        "refuses fields, methods and addresses that must not be sent",
        arguments: [
            ["http://h/", "X-A:a\r\nb"], ["http://h/", "X A:a"], ["http://h/", "-X", "G T"], ["http://h:x/"],
            ["http:///x"],
        ]
    )
    func invalid(arguments: [String]) async throws {
        let prompt = PasswordPrompt(interruption: Interruption())
        let settings = try settings(arguments).request
        let error = await #expect(throws: CommandError.self) { try await settings.request(askingBy: prompt) }
        #expect(error?.code == .usage)
    }

    @Test("says which file is missing")
    func missing() async throws {
        for arguments in [
            ["-d", "@/nowhere/x"], ["-T", "/nowhere/x"], ["--data-binary", "@/nowhere/x"], ["a@/nowhere/x"],
        ] {
            let prompt = PasswordPrompt(interruption: Interruption())
            let settings = try settings(["http://h/"] + arguments).request
            let error = await #expect(throws: CommandError.self) { try await settings.request(askingBy: prompt) }
            #expect(error?.code == .localFile)
            #expect(error?.what.contains("/nowhere/x") == true)
        }
    }
}
