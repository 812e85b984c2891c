import Foundation
import SharedDoubles
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct PrivateFileTests {
    private func rights(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test("makes a file, and the folders that it is in, for its owner alone")
    func owner() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = PrivateFile(path: folder.path + "a/b/secret", kind: "file")

        try file.write(Data("first".utf8))
        try file.write(Data("second".utf8))

        #expect(try file.read() == Data("second".utf8))
        #expect(try rights(folder.path + "a/b/secret") == 0o600)
        #expect(try rights(folder.path + "a") == 0o700 && rights(folder.path + "a/b") == 0o700)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "a/b") == ["secret"])
    }

    @Test("leaves no part of a secret behind when its file cannot be replaced")
    func failure() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try FileManager.default.createDirectory(atPath: folder.path + "secret", withIntermediateDirectories: false)
        let file = PrivateFile(path: folder.path + "secret", kind: "file")

        let error = #expect(throws: CommandError.self) { try file.write(Data("hush".utf8)) }

        #expect(error?.code == .localFile)
        #expect(folder.names == ["secret"])
    }
}
