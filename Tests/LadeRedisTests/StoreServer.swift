import Foundation
import LadeTesting
import SharedDoubles
import Testing

/// A private server of the store in a folder of its own, on a Unix socket; it ends with the test.
final class StoreServer: Sendable {
    /// Where the server's program is; nil without one.
    static let program = ["/usr/bin/redis-server", "/usr/local/bin/redis-server", "/usr/bin/valkey-server"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let folder: String
    let path: String
    private let process: ChildProcess

    /// Starts a server; without a program the test is skipped, which is a failure in CI.
    static func start(_ options: [String] = []) throws -> StoreServer {
        guard let program else {
            if ProcessInfo.processInfo.environment["CI"] == "true" { Issue.record("redis-server is missing") }
            try Test.cancel("redis-server is missing: Scripts/bootstrap test installs it")
        }
        return try StoreServer(program, options)
    }

    private init(_ program: String, _ options: [String]) throws {
        folder = FileManager.default.temporaryDirectory.path + "/lade-" + String(UInt64.random(in: 0 ..< .max), radix: 36)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        path = folder + "/s"
        process = try ChildProcess(
            program,
            ["--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--logfile", folder + "/log", "--dir", folder] + options
        )
        let client = StoreClient(path)
        var rest = 500
        while client.command(["PING"]) == nil, rest > 0 {
            rest -= 1
            usleep(10_000)
        }
    }

    var url: String { "redis+unix://\(path)?name=test" }

    /// Sends a signal to the server.
    func signal(_ number: Int32) { process.send(number) }

    deinit {
        process.send(SIGCONT)
        process.send(SIGKILL)
        try? FileManager.default.removeItem(atPath: folder)
    }
}
