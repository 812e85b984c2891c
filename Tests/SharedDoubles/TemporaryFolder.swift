#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A folder of a test's own, which is removed with it.
package final class TemporaryFolder: Sendable {
    /// Ends with a slash.
    package let path: String

    package init() throws {
        path = FileManager.default.temporaryDirectory.path() + "lade-test-\(UUID().uuidString)/"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { remove() }

    /// Removes it with everything in it.
    package func remove() {
        // A folder that cannot be removed is the system's to clear.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The names of everything in it, hidden files too.
    package var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    /// The path of a file.
    package func file(_ name: String) -> String { path + name }

    /// Makes a file and returns its path.
    package func file(_ name: String, _ text: String) throws -> String {
        try write(text, to: name)
        return file(name)
    }

    /// Writes a new file, which replaces an existing one.
    package func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path + name), options: .atomic)
    }

    /// The text of a file; nil when there is none.
    package func text(_ name: String) -> String? {
        FileManager.default.contents(atPath: path + name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The permissions of a file.
    package func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path + name)[.posixPermissions] as? Int
    }
}
