import Foundation
import LadeCore
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Files that are trusted", .timeLimit(.minutes(5)))
struct FileTrustTests {
    typealias Facts = FileTrust.Facts

    /// A folder of its own for a test.
    final class Folder: Sendable {
        let path = NSTemporaryDirectory() + "lade-trust-\(UUID().uuidString)/"

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func make(_ name: String, _ text: String = "old", mode: mode_t = 0o600) throws -> String {
            try Data(text.utf8).write(to: URL(filePath: path + name))
            #expect(chmod(path + name, mode) == 0)
            return path + name
        }

        func text(_ name: String) -> String? {
            (try? Data(contentsOf: URL(filePath: path + name))).map { String(decoding: $0, as: UTF8.self) }
        }

        func mode(_ name: String) -> mode_t? {
            var status = stat()
            return lstat(path + name, &status) == 0 ? status.st_mode & 0o7777 : nil
        }

        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? [] }
    }

    private static let table: [(FileTrust, Facts, FileDistrust?)] = [
        (.own, Facts(owner: 7, mode: 0o600), nil),
        (.own, Facts(owner: 7, mode: 0o644), nil),
        (.own, Facts(owner: 7, mode: 0o444), nil),
        (.own, Facts(owner: 7, mode: 0o664), .accessible(.change)),
        (.own, Facts(owner: 7, mode: 0o602), .accessible(.change)),
        (.own, Facts(owner: 7, mode: 0o666), .accessible(.change)),
        (.own, Facts(owner: 8, mode: 0o600), .foreignOwner),
        (.own, Facts(owner: 0, mode: 0o600), .foreignOwner),
        (.own, Facts(isRegular: false, owner: 7, mode: 0o600), .notRegular),
        (.own, Facts(owner: 7, mode: 0o600, names: 2), nil),
        (.secret, Facts(owner: 7, mode: 0o600), nil),
        (.secret, Facts(owner: 7, mode: 0o400), nil),
        (.secret, Facts(owner: 7, mode: 0o700), nil),
        (.secret, Facts(owner: 7, mode: 0o640), .accessible(.read)),
        (.secret, Facts(owner: 7, mode: 0o604), .accessible(.read)),
        (.secret, Facts(owner: 7, mode: 0o620), .accessible(.change)),
        (.secret, Facts(owner: 8, mode: 0o600), .foreignOwner),
        (FileTrust(hasOneName: true), Facts(owner: 7, mode: 0o600, names: 2), .severalNames),
        (FileTrust(hasOneName: true), Facts(owner: 7, mode: 0o600, names: 0), nil),
    ]

    @Test("finding HF-12 trusts a file by its kind, its owner, its permissions and its names", arguments: table)
    func decides(trust: FileTrust, file: Facts, fault: FileDistrust?) {
        #expect(trust.fault(of: file, user: 7) == fault)
    }

    private enum Opening: CaseIterable { case reading, locking }

    private func open(_ path: String, _ trust: FileTrust, _ opening: Opening) -> FileDistrust? {
        do throws(FileDistrust) {
            switch opening {
            case .reading: _ = try TrustedFile.reading(path, trust)
            case .locking: _ = try TrustedFile.locking(path, trust)
            }
            return nil
        } catch {
            return error
        }
    }

    @Test("finding HF-12 opens no link, no pipe, no folder, and nothing that others can change")
    func opens() throws {
        let folder = try Folder()
        let own = try folder.make("own")
        let shared = try folder.make("shared", mode: 0o666)
        #expect(symlink(own, folder.path + "link") == 0)
        #expect(symlink(folder.path + "nothing", folder.path + "dangling") == 0)
        #expect(mkfifo(folder.path + "pipe", 0o600) == 0)

        for opening in Opening.allCases {
            #expect(open(own, .own, opening) == nil)
            #expect(open(shared, .own, opening) == .accessible(.change))
            #expect(open(folder.path + "link", .own, opening) == .link)
            #expect(open(folder.path + "link", .own.followingLinks, opening) == nil)
            #expect(open(folder.path + "dangling", .own, opening) == .link)
            #expect(open(folder.path + "pipe", .own, opening) == .notRegular)
        }
        #expect(folder.text("nothing") == nil)
        #expect(try TrustedFile.reading(folder.path + "absent", .own) == nil)
        #expect(try TrustedFile.reading(own + "/absent", .own) == nil)
    }

    @Test("finding HF-12 trusts no file of another user", .enabled(if: geteuid() == 0, "only root gives files away"))
    func foreign() throws {
        let folder = try Folder()
        let path = try folder.make("theirs")
        #expect(chown(path, 65_534, 65_534) == 0)

        for opening in Opening.allCases { #expect(open(path, .own, opening) == .foreignOwner) }
    }

    @Test("finding HF-12 reads a file within its limit", arguments: [3, 2])
    func bounded(limit: Int) throws {
        let folder = try Folder()
        let path = try folder.make("file", "abc")

        if limit == 3 {
            #expect(try TrustedFile.contents(of: path, .own, limit: limit) == Data("abc".utf8))
        } else {
            #expect(throws: FileDistrust.tooLarge(limit: limit)) {
                try TrustedFile.contents(of: path, .own, limit: limit)
            }
        }
    }

    @Test("finding HF-12 locks the file that has the name, and one at a time")
    func locks() throws {
        let folder = try Folder()
        let path = folder.path + "file"
        var replacements = 0

        let file = try TrustedFile.locking(path, .own) {
            // Between opening and locking another program replaces the file, once.
            guard replacements == 0 else { return }
            replacements += 1
            #expect(unlink(path) == 0)
        }

        #expect(file.hasItsName)
        #expect(folder.names == ["file"])
        #expect(throws: FileDistrust.busy) { try TrustedFile.locking(path, .own) }
        try withExtendedLifetime(file) {
            try TrustedFile.replace(path, with: Data("new".utf8), .own)
            #expect(!file.hasItsName)
        }
        let next = try TrustedFile.locking(path, .own)
        #expect(try next.contents(limit: 10) == Data("new".utf8))
    }

    @Test("finding CF-21 replaces a file in one step, and keeps of its permissions what is allowed")
    func replaces() throws {
        let folder = try Folder()
        let path = try folder.make("file", mode: 0o400)
        let wide = try folder.make("wide", mode: 0o664)

        try TrustedFile.replace(path, with: Data("new".utf8), .secret)
        try TrustedFile.replace(wide, with: Data("new".utf8), .own, mode: 0o644)
        try TrustedFile.replace(folder.path + "first", with: Data("new".utf8), .secret)

        #expect(folder.text("file") == "new")
        #expect(folder.mode("file") == 0o400)
        #expect(folder.text("wide") == "new")
        #expect(folder.mode("wide") == 0o644)
        #expect(folder.text("first") == "new")
        #expect(folder.mode("first") == 0o600)
        #expect(folder.names == ["file", "first", "wide"])
    }

    @Test("finding CF-21 follows a link where it may, and replaces the link otherwise", arguments: [true, false])
    func links(follows: Bool) throws {
        let folder = try Folder()
        _ = try folder.make("target", mode: 0o640)
        #expect(symlink("target", folder.path + "inner") == 0)
        #expect(symlink(folder.path + "inner", folder.path + "outer") == 0)

        try TrustedFile.replace(
            folder.path + "outer",
            with: Data("new".utf8),
            follows ? .own.followingLinks : .own,
            mode: 0o644
        )

        #expect(folder.text("outer") == "new")
        #expect(folder.text("target") == (follows ? "new" : "old"))
        #expect(folder.mode("target") == 0o640)
        #expect(folder.names == ["inner", "outer", "target"])
    }

    @Test("finding CF-21 reports a loop of links")
    func loop() throws {
        let folder = try Folder()
        #expect(symlink("b", folder.path + "a") == 0)
        #expect(symlink("a", folder.path + "b") == 0)

        #expect(throws: FileDistrust.system(ELOOP)) { try OpenFolder.followingLinks(folder.path + "a") }
    }

    @Test("finding HF-5 writes to a device or a pipe, and never replaces it")
    func special() throws {
        let folder = try Folder()
        let pipe = folder.path + "pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(throws: FileDistrust.system(ENXIO)) { try TrustedFile.replace(pipe, with: Data("x".utf8), .secret) }
        let reader = Foundation.open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }

        try TrustedFile.replace(pipe, with: Data("through".utf8), .secret)
        try TrustedFile.replace("/dev/null", with: Data("gone".utf8), .secret)

        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(reader, &bytes, 16) == 7)
        #expect(String(decoding: bytes[..<7], as: UTF8.self) == "through")
        #expect(folder.names == ["pipe"])
        var status = stat()
        #expect(lstat("/dev/null", &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFCHR)
    }

    @Test("finding AF-4 synchronises a file, and reports what cannot be synchronised")
    func synchronises() throws {
        let folder = try Folder()
        let file = try TrustedFile.locking(folder.path + "file", .own)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }

        #expect(TrustedFile.synchronise(file.descriptor) == 0)
        #expect(TrustedFile.synchronise(ends[1]) == -1)
    }
}
