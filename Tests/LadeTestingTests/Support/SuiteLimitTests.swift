import Foundation
import Testing

/// Every suite of the package has a time limit, so that a lost wake-up fails as the test that lost it.
@Suite("The time limits of suites", .timeLimit(.minutes(5)))
struct SuiteLimitTests {
    /// A type with tests, and the attribute above it.
    struct Suite: Equatable {
        var name: String
        var attribute: String

        /// Its limit in minutes; nil without one.
        var minutes: Int? {
            guard let match = attribute.firstMatch(of: /\.timeLimit\(\.minutes\((\d+)\)\)/) else { return nil }
            return Int(match.1)
        }
    }

    /// The suites of a source file: its outermost types that contain a `@Test`.
    static func suites(in source: String) -> [Suite] {
        var suites: [Suite] = []
        var attribute = ""
        var open: (indent: String, suite: Suite, hasTests: Bool)?
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let indent = String(line.prefix { $0 == " " })
            if let current = open {
                if line == current.indent + "}" {
                    if current.hasTests { suites.append(current.suite) }
                    open = nil
                } else if line.hasPrefix(current.indent + "    @Test") {
                    open?.hasTests = true
                }
                continue
            }
            if let match = line.firstMatch(of: /(?:struct|class|actor|enum|extension) ([A-Za-z]+)[^{]*\{$/) {
                let inline = line.contains("@Suite") ? String(line) : attribute
                open = (indent, Suite(name: String(match.1), attribute: inline), false)
                attribute = ""
            } else if line.contains("@Suite") {
                attribute = String(line)
            } else if !attribute.isEmpty {
                attribute += line
            }
        }
        return suites
    }

    /// The sources of all tests.
    private static func sources() throws -> [URL] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let files = try #require(FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil))
        return files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
    }

    @Test("finding FQ-25 every suite has a time limit, of five minutes unless it computes for long")
    func everySuiteHasALimit() throws {
        var count = 0
        for file in try Self.sources() {
            for suite in Self.suites(in: try String(contentsOf: file, encoding: .utf8)) {
                count += 1
                let minutes = suite.minutes
                #expect(
                    minutes == 5 || minutes == 10 || minutes == 30,
                    "\(file.lastPathComponent): add `.timeLimit(.minutes(5))` to the suite \(suite.name)"
                )
            }
        }
        #expect(count > 150)
    }

    @Test("finding FQ-25 finds the suites of a source file and their limits")
    func findsSuites() {
        let source = """
            @Suite struct A {
                @Test func a() {}
            }
            @Suite("b", .timeLimit(.minutes(1)))
            struct B: Shared {
                @Test("x")
                func b() {}
            }
            struct Helper {
                func c() {}
            }
            #if os(Linux)
                @Suite(.serialized, .timeLimit(.minutes(5)))
                struct C {
                    @Test func c() {}
                }
            #endif
            struct D {
                @Test func d() {}
            }
            """
        let suites = Self.suites(in: source)
        #expect(suites.map(\.name) == ["A", "B", "C", "D"])
        #expect(suites.map(\.minutes) == [nil, 1, 5, nil])
    }
}
