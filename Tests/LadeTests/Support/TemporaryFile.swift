#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Files for a test.
enum TemporaryFile {
    static func path() -> String {
        FileManager.default.temporaryDirectory.path() + "lade-\(UInt64.random(in: 0...(.max)))"
    }

    static func make(_ text: String) -> String {
        let path = path()
        // A test that cannot write fails when it reads.
        try? Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    static func remove(_ path: String) {
        // A missing file counts as removed.
        try? FileManager.default.removeItem(atPath: path)
    }
}
