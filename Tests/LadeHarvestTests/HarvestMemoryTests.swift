#if os(Linux)
    import Foundation
    import LadeTesting
    import SharedDoubles
    import Testing

    /// Harvests in a separate process, whose memory is measured.
    @Suite("What harvests hold in memory", .timeLimit(.minutes(5)))
    struct HarvestMemoryTests {
        private static let itemsPerPage = 50

        private static func page(_ number: Int, of count: Int) -> String {
            let first = number * itemsPerPage
            let items = (first..<first + itemsPerPage).map {
                #"{"id":\#($0),"title":"\#(String(repeating: "é", count: 50))"}"#
            }
            let next = number + 1 < count ? #","next":"/list?page=\#(number + 1)&of=\#(count)""# : ""
            return "{\"items\":[\(items.joined(separator: ","))]\(next)}"
        }

        /// Runs a program that must succeed and prints little; returns what it printed.
        private static func output(
            of program: String,
            _ arguments: [String],
            environment: [String: String]? = nil,
            in folder: String? = nil
        ) async throws -> String {
            let pipe = Pipe()
            let process = try ChildProcess(
                program,
                arguments,
                environment: environment,
                in: folder,
                output: pipe.fileHandleForWriting.fileDescriptor
            )
            try pipe.fileHandleForWriting.close()
            try #require(try await process.ended() == 0)
            return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        }

        /// Harvests a number of pages in a fresh process; returns its peak in kilobytes.
        private static func peak(pages: Int, prefetch: Int, of server: LoopbackServer) async throws -> Int {
            let folder = try TemporaryFolder()
            let printed = try await output(
                of: HarvestCrashTests.probe,
                ["harvest", server.address("/list?page=0&of=\(pages)"), folder.file("out"), String(prefetch), "100"]
            )
            let lines = try Data(contentsOf: URL(filePath: folder.file("out"))).count { $0 == 0x0A }
            try #require(lines == pages * itemsPerPage)
            return try #require(Int(printed.filter(\.isNumber)))
        }

        @Test(
            "pages PA-27 two thousand pages take no more memory than two hundred",
            .timeLimit(.minutes(5)),
            .disabled(if: HarvestCrashTests.isSanitized, "the memory of a sanitizer would be measured"),
            arguments: [0, 4]
        )
        func isFlat(prefetch: Int) async throws {
            let server = try LoopbackServer { request in
                let number = request.queryItem("page").flatMap { Int($0) } ?? 0
                return .json(Self.page(number, of: request.queryItem("of").flatMap { Int($0) } ?? 1))
            }

            let few = try await Self.peak(pages: 200, prefetch: prefetch, of: server)
            let many = try await Self.peak(pages: 2_000, prefetch: prefetch, of: server)

            // The longer one reads 11 MB more. Only one hash per page may add to the memory, for detecting loops.
            #expect(many < few + 4_096, "\(few) kB after 200 pages, \(many) kB after 2,000")
        }

        /// Runs a shell line in a folder; returns its output and the processor time of the programs that it ran.
        private static func shell(
            _ line: String,
            _ folder: TemporaryFolder
        ) async throws -> (output: String, seconds: Double) {
            let text = try await output(
                of: "/bin/bash",
                ["-c", "set -e; \(line); times"],
                environment: ["LC_ALL": "C", "PATH": "/usr/bin:/bin"],
                in: folder.path
            )
            var lines = text.split(separator: "\n")
            // The last line of `times` is that of the programs: `0m1.234s 0m0.567s`.
            guard let last = lines.popLast() else { throw CocoaError(.fileReadUnknown) }
            let seconds = last.split(separator: " ").reduce(0.0) { sum, time in
                let parts = time.dropLast().split(separator: "m").compactMap { Double($0) }
                return sum + (parts.count == 2 ? parts[0] * 60 + parts[1] : .infinity)
            }
            return (lines.dropLast().joined(), seconds)
        }

        /// There are a million items in ten thousand pages in `make soak`, and a tenth of them in `make test`.
        @Test(
            "a harvest of many pages has flat memory, and takes less CPU than curl: finding FQ-24 pages PA-27",
            .timeLimit(.minutes(5)),
            .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")),
            .disabled(if: HarvestCrashTests.isSanitized, "the memory of a sanitizer would be measured")
        )
        func manyItems() async throws {
            let pages = Soak.current.rounds(of: 10_000, few: 1_000)
            // 100 items of 84 bytes: together they take more than the memory that is allowed.
            let item = #"{"id":1234567,"title":"\#(String(repeating: "x", count: 60))"}"#
            let items = Array(repeating: item, count: 100).joined(separator: ",")
            let server = try LoopbackServer { request in
                let number = request.queryItem("page").flatMap { Int($0) } ?? 0
                let next = number + 1 < pages ? #","next":"/list?page=\#(number + 1)""# : ""
                return .json("{\"items\":[\(items)]\(next)}")
            }
            let folder = try TemporaryFolder()

            let start = try await Self.shell(
                "'\(HarvestCrashTests.probe)' harvest '\(server.address("/list?page=\(pages - 1)"))' one 0 100",
                folder
            )
            let whole = try await Self.shell(
                "'\(HarvestCrashTests.probe)' harvest '\(server.address("/list?page=0"))' all 2 100",
                folder
            )
            let curl = try await Self.shell(
                "for n in {1..100}; do curl -s -o page '\(server.address("/list?page=0"))'; done",
                folder
            )

            let size = try FileManager.default.attributesOfItem(atPath: folder.file("all"))[.size] as? Int
            #expect(size == pages * 100 * (item.utf8.count + 1))
            let peaks = try [start, whole].map { try #require(Int($0.output.filter(\.isNumber))) }
            #expect(peaks[1] <= peaks[0] + pages * 100 * item.utf8.count / 1_280, "\(peaks) kB")
            #expect(whole.seconds / Double(pages) < curl.seconds / 100, "\(whole.seconds) s, \(curl.seconds) s")
        }
    }
#endif
