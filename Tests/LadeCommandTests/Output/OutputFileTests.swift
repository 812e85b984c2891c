import Foundation
import Lade
import SharedDoubles
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct OutputFileTests {
    @Test("takes a name that is free, and a file or a dangling link only when it may be overwritten")
    func names() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let link = folder.path + "link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path + "none")

        for path in [try folder.file("file", "text"), link] {
            let error = try #require(throws: CommandError.self) { try OutputFile(path, mayOverwrite: false) }
            #expect(error.code == .localFile)
            #expect(error.what == "The file \(path) exists already.")
            #expect(throws: Never.self) { try OutputFile(path, mayOverwrite: true) }
        }
        #expect(throws: Never.self) { try OutputFile(folder.path + "none", mayOverwrite: false) }
    }

    @Test(
        "refuses a folder and an empty name, whatever may be overwritten",
        arguments: [("/", ExitCode.localFile, "Is a directory"), ("", .usage, "without a name")]
    )
    func noFiles(path: String, code: ExitCode, part: String) throws {
        let error = try #require(throws: CommandError.self) { try OutputFile(path, mayOverwrite: true) }
        #expect(error.code == code, "\(error.what)")
        #expect(error.what.contains(part), "\(error.what)")
    }

    @Test("names the existing file of a download that may not overwrite it, and explains no other error with it")
    func existing() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("file", "text")
        let part = try folder.file(".file.lade-part", "te")
        func fault(_ path: String, _ operation: LoadingError.FileCause.Operation = .write) -> LoadingError {
            LoadingError(.file(LoadingError.FileCause(path: path, operation: operation, reason: "it exists")))
        }

        let error = try #require(OutputFile.exists(fault(file), mayOverwrite: false))

        #expect(error.code == .localFile)
        #expect(error.what == "The file \(file) exists already.")
        #expect(OutputFile.exists(fault(file), mayOverwrite: true) == nil)
        for other in [fault(file, .read), fault(part), fault(folder.path + "none"), LoadingError(.cancelled)] {
            #expect(OutputFile.exists(other, mayOverwrite: false) == nil)
        }
    }
}
