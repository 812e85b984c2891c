import Foundation
import Testing

@testable import LadeCore

#if os(Linux)
    @Suite("Files that are read", .timeLimit(.minutes(5)))
    struct FileSourceTests {
        /// How many descriptors of this process refer to a path that no other test uses.
        private func descriptors(of path: String) throws -> Int {
            let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            // A descriptor that another test has closed meanwhile refers to no path.
            return all.filter { name in
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) == path
            }.count
        }

        private func withFolder(_ body: (String) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lade-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            try await body(folder.resolvingSymlinksInPath().path)
        }

        @Test("a file is closed at its end, and when its reader stops before", arguments: [true, false])
        func closesFiles(isReadToTheEnd: Bool) async throws {
            try await withFolder { (folder) async throws in
                let path = folder + "/file"
                try Data("hello".utf8).write(to: URL(fileURLWithPath: path))
                var source: FileSource? = try FileSource(path: path, context: LoadingError.Context())
                #expect(try descriptors(of: path) == 1)

                #expect(try await source?.next() == Data("hello".utf8))
                if isReadToTheEnd {
                    #expect(try await source?.next() == nil)
                } else {
                    source = nil
                }

                #expect(try descriptors(of: path) == 0)
                withExtendedLifetime(source) {}
            }
        }

        @Test("a folder is refused as a file and closed")
        func closesFolders() async throws {
            try await withFolder { (folder) async throws in
                #expect(throws: LoadingError.self) { try FileSource(path: folder, context: LoadingError.Context()) }
                #expect(try descriptors(of: folder) == 0)
            }
        }

        @Test("a file may be as large as the limit, and no larger")
        func limits() async throws {
            try await withFolder { (folder) async throws in
                let path = folder + "/file"
                try Data("hello".utf8).write(to: URL(fileURLWithPath: path))

                #expect(try FileContents.read(path, limit: 5, kind: "a greeting") == Data("hello".utf8))
                #expect(throws: LoadingError.self) { try FileContents.read(path, limit: 4, kind: "a greeting") }
            }
        }
    }
#endif
