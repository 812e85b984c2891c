import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What calls have from earlier ones and from files.
@Suite("lade get, with cookies, sessions and a configuration", .timeLimit(.minutes(5)))
struct SessionTests: GetSuite {
    private func cookieServer() throws -> LoopbackServer {
        try server { request in
            .text(request["Cookie"] ?? "none", [ServerField("Set-Cookie", "sid=s3cret1; Path=/")])
        }
    }

    private func configure(_ folder: TemporaryFolder, _ text: String, mode: mode_t = 0o600) throws {
        let config = folder.path + ".config/lade"
        try FileManager.default.createDirectory(atPath: config, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: config + "/config"))
        chmod(config + "/config", mode)
    }

    @Test("sends the cookies of -b, and keeps those of -c for the next call, for its owner alone")
    func cookies() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try cookieServer()
        let text = try await LadeProcess.run(server.address(), "-b", "a=1; b=2", "-c", "jar", "-v", in: folder.path)
        #expect(text.output == "a=1; b=2")
        #expect(!text.talk.contains("s3cret1"))
        let status = try FileManager.default.attributesOfItem(atPath: folder.path + "jar")
        #expect(status[.posixPermissions] as? Int == 0o600)
        let file = try await LadeProcess.run(server.address(), "-b", "jar", "-v", in: folder.path)
        #expect(file.output == "sid=s3cret1")
        #expect(!file.talk.contains("s3cret1"))
        let both = try await LadeProcess.run(server.address(), server.address(), "-c", "both", in: folder.path)
        #expect(both.output == "nonesid=s3cret1")
        let lost = try await LadeProcess.run(server.address(), "-b", "nosuch", in: folder.path)
        #expect(lost.status == 14)
        _ = try folder.file("bad", "nonsense")
        let bad = try await LadeProcess.run(server.address(), "-b", "bad", in: folder.path)
        #expect(bad.status == 14)
        #expect(bad.talk.contains("bad"))
        #expect(bad.talkLines.count == 2)
    }

    @Test("finding LX-12 the cookies of a session neither follow -L to another port nor are replaced by it")
    func otherPorts() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let other = try server { request in
            .text(request["Cookie"] ?? "none", [ServerField("Set-Cookie", "sid=other; Path=/")])
        }
        let target = other.address("/")
        let first = try server { request in
            request.path == "/go"
                ? .status(302, [ServerField("Location", target), ServerField("Set-Cookie", "sid=first; Path=/")])
                : .text(request["Cookie"] ?? "none")
        }

        let followed = try await LadeProcess.run(first.address("/go"), "-L", "--session", "./s", in: folder.path)
        let again = try await LadeProcess.run(first.address("/"), "--session", "./s", in: folder.path)

        #expect(followed.output == "none", "\(followed.talk)")
        #expect(again.output == "sid=first", "\(again.talk)")
    }

    @Test("keeps fields, credentials and cookies of a session for its origin")
    func session() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { request in
            .text(
                "\(request["Cookie"] ?? "-") \(request["X-A"] ?? "-") \(request["Authorization"] ?? "-") \(request["Content-Type"] ?? "-")",
                [ServerField("Set-Cookie", "sid=1")]
            )
        }
        let basic = "Basic " + Data("me:pw".utf8).base64EncodedString()
        let first = try await LadeProcess.run(
            server.address(),
            "--session",
            "s",
            "X-A:1",
            "Content-Type:a/b",
            "-u",
            "me:pw",
            "-d",
            "x",
            in: folder.path
        )
        #expect(first.output == "- 1 \(basic) a/b")
        let second = try await LadeProcess.run(server.address(), "--session=s", "-v", in: folder.path)
        #expect(second.output == "sid=1 1 \(basic) -")
        #expect(!second.talk.contains(basic))
        let third = try await LadeProcess.run(server.address(), "--session=s", "X-A:2", "-u", "you:pw", in: folder.path)
        #expect(third.output.hasPrefix("sid=1 2 Basic "))
        #expect(!third.output.contains(basic))
        #expect(try await LadeProcess.run(server.address(), "--session=t", in: folder.path).output == "- - - -")
        let other = try self.server { .text($0["Authorization"] ?? "none") }
        #expect(try await LadeProcess.run(other.address(), "--session=s", in: folder.path).output == "none")
    }

    @Test("keeps the cookies of a call that fails, in a session and in a file")
    func failedCall() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { request in
            guard request.path == "/in" else { return .text(request["Cookie"] ?? "none") }
            return .status(401, [ServerField("Set-Cookie", "sid=1; Path=/")])
        }

        for kept in [["--session", "s"], ["-c", "jar"]] {
            #expect(try await LadeProcess([server.address("/in")] + kept, in: folder.path).outcome().status == 4)
        }

        for kept in [["--session", "s"], ["-b", "jar"]] {
            #expect(try await LadeProcess([server.address()] + kept, in: folder.path).outcome().output == "sid=1")
        }
    }

    @Test(
        "six calls of one session at the same time keep what each was given and received: finding CF-29 finding HF-11"
    )
    func parallelCalls() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { request in
            let name = request.path.dropFirst()
            return .text("\(request["Cookie"] ?? "-")", [ServerField("Set-Cookie", "c\(name)=1; Path=/")])
        }
        let all = try (1...6).map { number in
            try LadeProcess(
                ["get", server.address("/\(number)"), "--session", "s", "X-\(number):\(number)", "-b", "b\(number)=1"],
                in: folder.path
            )
        }
        for process in all { #expect(try await process.outcome().status == 0) }

        let last = try await LadeProcess.run(server.address("/0"), "--session", "s", "--curl", in: folder.path)

        for number in 1...6 {
            #expect(last.output.contains("X-\(number): \(number)"), "\(last.output)")
            #expect(last.output.contains("b\(number)=") || last.output.contains("redacted"))
        }
        let sent = try await LadeProcess.run(server.address("/0"), "--session", "s", in: folder.path).output
        let pairs = Set(sent.split(separator: ";").map { $0.drop { $0 == " " } })
        #expect(pairs == Set((1...6).flatMap { ["b\($0)=1", "c\($0)=1"] }), "\(sent)")
    }

    @Test("finding CF-27 a jar that others can change is refused, and one that they can read is used")
    func foreignJar() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { .text($0["Cookie"] ?? "none") }
        let jar = try folder.file("jar", "127.0.0.1\tFALSE\t/\tFALSE\t0\tn\tv\nodd\n")
        for mode in [0o600, 0o644, 0o640] as [mode_t] {
            chmod(jar, mode)
            let outcome = try await LadeProcess.run(server.address(), "-b", "jar", in: folder.path)
            #expect(outcome.output == "n=v")
            #expect(outcome.talk == "lade: The cookie file jar has no cookie in line 2; it is skipped.\n")
        }
        #expect(try await LadeProcess.run(server.address(), "-s", "-b", "jar", in: folder.path).talk == "")
        for mode in [0o666, 0o620, 0o602, 0o622] as [mode_t] {
            chmod(jar, mode)
            let outcome = try await LadeProcess.run(server.address(), "-b", "jar", in: folder.path)
            #expect(outcome.status == 14)
            #expect(outcome.talkLines.count == 2)
            #expect(outcome.talk.contains("jar can be changed or run by other users"))
        }
        #expect(server.requestCount == 4)
    }

    @Test("finding HF-5 a jar is written to a device or a pipe, and replaces neither")
    func deviceJar() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try cookieServer()
        try #require(mkfifo(folder.path + "pipe", 0o600) == 0)

        let line = "cat pipe > copy & lade get '\(server.address())' -c pipe; status=$?; wait; exit $status"
        let outcome = try await LadeProcess.run("-c", line, program: "/bin/bash", in: folder.path)

        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(folder.text("copy")?.contains("s3cret1") == true)
        var status = stat()
        #expect(lstat(folder.path + "pipe", &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFIFO)
        let unread = try await LadeProcess.run(server.address(), "-c", "pipe", in: folder.path)
        #expect(unread.status == 14)
        #expect(unread.talkLines.count == 2)
    }

    @Test(
        "finding HF-18 --events onto a pipe without a reader is refused, and a reader that stops ends with the signal"
    )
    func eventsPipe() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { _ in
            .text("x", (0..<40).map { ServerField("X-\($0)", String(repeating: "y", count: 900)) })
        }
        try #require(mkfifo(folder.path + "pipe", 0o600) == 0)
        let unread = try await LadeProcess.run(server.address(), "--events", "pipe", in: folder.path)
        #expect(unread.status == 14)
        #expect(unread.talkLines.count == 2)
        #expect(server.requestCount == 0)

        // The pipe takes less than one event, and its reader none of it.
        let reader = open(folder.path + "pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        #if os(Linux)
            // F_SETPIPE_SZ, which is hidden from Swift.
            _ = fcntl(reader, 1_031, Int32(4_096))
        #endif
        let process = try LadeProcess(["get", server.address(), "--events", "pipe"], in: folder.path)
        try await process.output(atLeast: 1)
        process.send(SIGINT)
        let outcome = try await process.outcome()
        #expect([0, 130].contains(outcome.status))
        #expect(outcome.output == "x")
    }

    @Test("refuses by name a session file that is damaged, of another host or open to others")
    func sessionDamage() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try cookieServer()
        let path = try folder.file("s.json", "{}")
        chmod(path, 0o600)
        for (text, mode, words) in [
            ("{}", 0o600, "is damaged"), ("{", 0o600, "is damaged"),
            (#"{"origin":"http://h:1","headers":[],"cookies":[]}"#, 0o600, "belongs to http://h:1"),
            (#"{"origin":"http://h:1","headers":[],"cookies":[]}"#, 0o644, "can be read by other users"),
            (#"{"origin":"http://h:1","headers":[],"cookies":[]}"#, 0o602, "can be changed or run by other users"),
        ] as [(String, mode_t, String)] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            chmod(path, mode)
            let outcome = try await LadeProcess.run(server.address(), "--session", "./s.json", in: folder.path)
            #expect(outcome.status == 14)
            #expect(outcome.talkLines.first == "lade: The session file ./s.json \(words).")
            #expect(outcome.talkLines.count == 2)
        }
        #expect(server.requestCount == 0)
        let wrong = try await LadeProcess.run(
            server.address(),
            "--session",
            "../../x y/",
            "--session=a b",
            in: folder.path
        )
        #expect(wrong.status == 1)
        #expect(wrong.talkLines.count == 2)
    }

    @Test("refuses a file of another user", .enabled(if: geteuid() == 0))
    func foreign() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try cookieServer()
        try configure(folder, "location")
        chown(folder.path + ".config/lade/config", 65_534, 65_534)
        let outcome = try await LadeProcess.run(server.address(), in: folder.path)
        #expect(outcome.status == 14)
        #expect(outcome.talk.contains("The configuration \(folder.path).config/lade/config belongs to another user."))
        #expect(try await LadeProcess.run("-q", server.address(), in: folder.path).status == 0)
    }

    @Test("begins with the options of the configuration and of a profile; arguments come after them")
    func configuration() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { .text("\($0["X-A"] ?? "-") \($0["X-B"] ?? "-") \($0["User-Agent"] ?? "-")") }
        try configure(folder, "header = X-A: 1\nuser-agent = me\nsize = 3\n[work]\nheader = X-B: 2\n")
        let address = server.address()
        #expect(try await LadeProcess.run(address, in: folder.path).output == "1 - me")
        #expect(try await LadeProcess.run(address, "--profile", "work", in: folder.path).output == "1 2 me")
        #expect(try await LadeProcess.run(address, "X-A:3", "-A", "you", in: folder.path).output == "3 - you")
        #expect(try await LadeProcess.run("-q", address, in: folder.path).output.hasPrefix("- - lade/"))
        let elsewhere = try await LadeProcess.run(
            address,
            in: folder.path,
            environment: ["XDG_CONFIG_HOME": folder.path + "none"]
        )
        #expect(elsewhere.output.hasPrefix("- - lade/"))
        let unknown = try await LadeProcess.run(address, "--profile", "wrok", in: folder.path)
        #expect(unknown.status == 1)
        #expect(unknown.talkLines.first == "lade: there is no profile “wrok”; did you mean “work”?")
        try configure(folder, "heder = x", mode: 0o600)
        #expect(try await LadeProcess.run(address, in: folder.path).talk.contains("line 1"))
        #expect(try await LadeProcess.run("get", "--help", in: folder.path).status == 0)
        try configure(folder, "location", mode: 0o644)
        let open = try await LadeProcess.run(address, in: folder.path)
        #expect(open.status == 14)
        #expect(open.talk.contains("chmod 600 \(folder.path).config/lade/config"))
    }

    @Test("takes user and password from .netrc, and shows neither")
    func netrc() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { .text($0["Authorization"] ?? "none") }
        let path = try folder.file(".netrc", "machine 127.0.0.1 login me password s3cret")
        let basic = "Basic " + Data("me:s3cret".utf8).base64EncodedString()
        let open = try await LadeProcess.run(server.address(), "-n", in: folder.path)
        #expect(open.status == 14)
        chmod(path, 0o600)
        let outcome = try await LadeProcess.run(server.address(), "-n", "-v", in: folder.path)
        #expect(outcome.output == basic)
        #expect(!outcome.talk.contains("s3cret"))
        #expect(!outcome.talk.contains(basic))
        #expect(try await LadeProcess.run(server.address(), in: folder.path).output == "none")
        let second = try folder.file("second", "default login you password pw")
        chmod(second, 0o600)
        let named = try await LadeProcess(
            [server.address(), "-n"],
            in: folder.path,
            environment: ["NETRC": second]
        ).outcome()
        #expect(named.output == "Basic " + Data("you:pw".utf8).base64EncodedString())
        let own = try await LadeProcess.run(server.address(), "-n", "Authorization:x", in: folder.path)
        #expect(own.output == "x")
        // They are not copied into a session.
        let kept = try await LadeProcess.run(server.address(), "-n", "--session=s", in: folder.path)
        #expect(kept.output == basic)
        #expect(try await LadeProcess.run(server.address(), "--session=s", in: folder.path).output == "none")
        let lost = try await LadeProcess.run(server.address(), "--netrc-file", "nosuch", in: folder.path)
        #expect(lost.status == 14)
        #expect(lost.talkLines.first == "lade: The netrc file nosuch does not exist.")
    }

    @Test("an interrupt and a closed output end the calls to further addresses too")
    func endedList() async throws {
        let server = try LoopbackServer { request in
            request.path == "/a" ? ServerResponse(body: .raw { try $0.stall() }) : .text(request.target)
        }
        let process = try LadeProcess([server.address("/a"), server.address("/b")])
        _ = try await server.head(at: 0)
        process.send(SIGINT)
        let interrupted = try await process.outcome()
        let closed = try await LadeProcess([server.address("/c"), server.address("/d")], to: .brokenPipe).outcome()

        #expect(interrupted.status == 130)
        #expect(closed.status == 0)
        #expect(closed.talk == "")
        #expect(server.requests.map(\.path) == ["/a", "/c"])
    }

    @Test("fetches several addresses, and continues after one that fails")
    func addresses() async throws {
        let server = try server { $0.path == "/bad" ? .status(500) : .text($0.target + "\n") }
        let outcome = try await LadeProcess.run(
            server.address("/a"),
            server.address("/bad"),
            server.address("/c"),
            "--url",
            server.address("/d"),
            "q==1"
        )
        #expect(outcome.output == "/a?q=1\n/c?q=1\n/d?q=1\n")
        #expect(outcome.status == 5)
        #expect(outcome.talkLines.count == 2)
        let two = try await LadeProcess.run(server.address("/bad"), "http://127.0.0.1:1/")
        #expect(two.status == 5)
        #expect(two.talkLines.count == 4)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let files = try await LadeProcess.run(
            "--remote-name-all",
            server.address("/x"),
            server.address("/y"),
            in: folder.path
        )
        #expect(files.status == 0)
        #expect(folder.names == ["x", "y"])
        let one = try await LadeProcess.run("-o", "z", server.address("/x"), server.address("/y"), in: folder.path)
        // As curl: a name is for one address, and the next is printed.
        #expect(one.status == 0)
        #expect(one.output == "/y\n")
        #expect(folder.names == ["x", "y", "z"])
        let pages = try await LadeProcess.run("pages", server.address("/x"), server.address("/y"))
        #expect(pages.status == 1)
    }

    @Test(
        "says in two lines what is wrong with the value of an option",
        arguments: [
            ["-b", ""], ["-c", ""], ["--session", "a b"], ["--session", ""], ["--url", ""], ["-q", "--profile", "x"],
        ]
    )
    func values(arguments: [String]) async throws {
        let outcome = try await LadeProcess(["get", "http://127.0.0.1:1/"] + arguments).outcome()
        #expect(outcome.status == 1)
        #expect(outcome.talkLines.count == 2, "\(outcome.talk)")
    }
}
