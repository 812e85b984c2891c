import Foundation
import Testing

@Suite("The list of locks", .timeLimit(.minutes(5)))
struct LockListTests {
    /// A lock: the file below `Sources`, and the name of the property or variable.
    private struct Lock: Hashable, CustomStringConvertible {
        let file: String
        let name: String

        var description: String { "\(file) \(name)" }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    /// Every declaration whose type or initial value is a lock of the library.
    private static func declared() throws -> [Lock] {
        let sources = root.appending(path: "Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.flatMap { file in
            let path = String(file.standardized.path().dropFirst(sources.path().count + 1))
            return try String(contentsOf: file, encoding: .utf8)
                .matches(of: #/\n(?! *//)[^\n]*\b(?:let|var) (\w+)(?:: | = )(?:Locked|Mutex)[<(]/#)
                .map { Lock(file: path, name: String($0.1)) }
        }
    }

    @Test("every lock of the sources has its row in Locks.md, and every row its lock")
    func rows() throws {
        let page = try String(contentsOf: Self.root.appending(path: "Documentation/Locks.md"), encoding: .utf8)
        let listed = page.matches(of: #/\n\| `([^`]+)` \| `(\w+)` \|/#).map {
            Lock(file: String($0.1), name: String($0.2))
        }
        func counts(_ locks: [Lock]) -> [Lock: Int] { locks.reduce(into: [:]) { $0[$1, default: 0] += 1 } }
        let (rows, declarations) = (counts(listed), counts(try Self.declared()))

        for (lock, count) in declarations where rows[lock] != count {
            Issue.record("Documentation/Locks.md has \(rows[lock] ?? 0) rows of \(lock), the sources declare \(count)")
        }
        for lock in rows.keys where declarations[lock] == nil {
            Issue.record("Documentation/Locks.md has a row of \(lock), which the sources do not declare")
        }
        #expect(declarations.count > 100)
    }
}
