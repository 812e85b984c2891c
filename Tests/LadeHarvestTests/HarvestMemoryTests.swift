#if os(Linux)
    import Foundation
    import LadeTesting
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

        /// Harvests a number of pages in a fresh process; returns its peak in kilobytes.
        private static func peak(pages: Int, prefetch: Int, of server: LoopbackServer) async throws -> Int {
            let folder = try HarvestSample.Folder()
            let (process, pipe, ended) = (Process(), Pipe(), Signal())
            process.executableURL = URL(filePath: HarvestCrashTests.probe)
            process.arguments = [
                server.address("/list?page=0&of=\(pages)"), folder.file("out"), String(prefetch), "100",
            ]
            process.standardOutput = pipe
            process.terminationHandler = { _ in ended.raise() }
            try process.run()
            try await ended.wait()
            try #require(process.terminationStatus == 0)
            let lines = try Data(contentsOf: URL(filePath: folder.file("out"))).count { $0 == 0x0A }
            try #require(lines == pages * itemsPerPage)
            let told = String(decoding: try #require(try pipe.fileHandleForReading.readToEnd()), as: UTF8.self)
            return try #require(Int(told.filter(\.isNumber)))
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
    }
#endif
