#if os(Linux)
    import Foundation
    import LadeCatalogueServer
    import LadeTesting
    import Testing

    @testable import CatalogueBrowser

    /// The built browser on a pseudo-terminal, against the local catalogue.
    @Suite("The browser on a terminal", .timeLimit(.minutes(1)))
    struct TerminalTests {
        private let up = "\u{1B}[A"
        private let down = "\u{1B}[B"
        private let pageDown = "\u{1B}[6~"
        private let escape = "\u{1B}"

        private func catalogue(_ change: (inout LocalCatalogue.Options) -> Void = { _ in }) throws -> LocalCatalogue {
            var options = LocalCatalogue.Options()
            options.medias = 60
            change(&options)
            return try LocalCatalogue(options)
        }

        private func browser(
            _ catalogue: LocalCatalogue,
            _ size: Size = Size(columns: 80, rows: 24)
        ) throws -> TerminalProcess {
            try TerminalProcess(["--base", catalogue.address("")], size)
        }

        @Test("loads further pages while the list scrolls, up to its end")
        func scrolling() async throws {
            let catalogue = try catalogue()
            let process = try browser(catalogue)

            let first = try await process.screen(showing: "25 loaded")
            #expect(first.first?.hasPrefix(" Latest episodes") == true && first.first?.hasSuffix("RTS") == true)
            #expect(first[1].hasPrefix("› Portrait : l'île un dimanche"))
            process.type(pageDown)
            try await process.screen(showing: "50 loaded")
            process.type("G")
            let last = try await process.screen { $0.contains { $0.contains("60 loaded, that is all") } }
            #expect(last.count == 24)
            process.type("G")
            try await process.screen { lines in
                lines.contains { $0.hasPrefix("› ") && $0.contains("2023-11-02") }
            }
            process.type("q")

            let end = try await process.end()
            #expect(end.status == 0)
            #expect(!end.screen.isAlternate && !end.screen.isCursorHidden)
        }

        @Test("opens a media with its parts and streams, and goes back")
        func detail() async throws {
            let catalogue = try catalogue()
            let process = try browser(catalogue)
            try await process.screen(showing: "25 loaded")
            process.type(down + "\r")

            let detail = try await process.screen(showing: "Streams")
            #expect(detail.contains { $0.hasPrefix("  Portrait : la rivière le soir") })
            #expect(detail.contains("  URN     urn:rts:video:100001"))
            #expect(detail.contains { $0.contains("HLS HD  https://stream.example.org/100001-hd/master.m3u8") })
            process.resize(Size(columns: 80, rows: 12))
            try await process.screen { $0.count == 12 && $0[10] == "  ↓ more" }
            process.type("G")
            try await process.screen { $0.count == 12 && $0.contains { $0.contains("HLS HD") } }
            process.resize(Size(columns: 80, rows: 24))
            process.type(escape)
            let list = try await process.screen(showing: "50 loaded")
            #expect(list[2].hasPrefix("› Portrait : la rivière"))
            process.type("\u{3}")
            #expect(try await process.end().status == 0)
        }

        @Test("searches while text is typed, and shows that nothing was found")
        func search() async throws {
            let catalogue = try catalogue()
            let process = try browser(catalogue)
            try await process.screen(showing: "25 loaded")
            process.type("/")
            try await process.screen(showing: "Type what to search for.")
            process.type("lac")
            let found = try await process.screen(showing: "that is all")
            #expect(found[1] == "  Search: lac▏")
            #expect(found.dropFirst(3).filter { $0.contains("2023-") }.allSatisfy { $0.contains("lac") })
            process.type("qqq")
            try await process.screen(showing: "Nothing found.")
            process.type("\u{7F}\u{7F}\u{7F}")
            try await process.screen(showing: "that is all")
            process.type("\r")
            try await process.screen(showing: "Streams")
            process.type(escape)
            try await process.screen(showing: "Search: lac")
            process.type(escape)
            try await process.screen(showing: "Latest episodes")
            process.type("q")
            #expect(try await process.end().status == 0)
        }

        @Test("shows the error of a failing server, and loads again when asked to")
        func failing() async throws {
            // Every other request fails, beginning with the first.
            let catalogue = try catalogue { $0.faults = [.unavailable: 2] }
            let process = try browser(catalogue)

            let failed = try await process.screen(showing: "Press r to try again.")
            #expect(failed.contains { $0.contains("The server responded with 503: ") })
            #expect(failed.last?.hasPrefix("  r try again ") == true)
            process.type("r")
            try await process.screen(showing: "25 loaded")
            process.type(pageDown)
            // The loaded rows stay.
            let more = try await process.screen(showing: "Press r to try again:")
            #expect(more.contains { $0.contains("2023-12-") })
            process.type("r")
            try await process.screen(showing: "50 loaded")
            process.type("q")
            #expect(try await process.end().status == 0)
        }

        @Test("shows that it loads, and leaves a screen without waiting for it")
        func slow() async throws {
            let time = VirtualTime()
            let catalogue = try catalogue {
                $0.latency = .seconds(1)
                $0.time = time
            }
            let process = try browser(catalogue)
            try await process.screen(showing: "Loading…")
            _ = try await time.sleepers(atLeast: 1)
            time.advance(by: .seconds(1))
            try await process.screen(showing: "25 loaded")
            process.type("\r")
            // The streams never arrive.
            try await process.screen(showing: "Loading the streams…")
            process.type(escape)
            try await process.screen(showing: "25 loaded")
            process.type("q")
            #expect(try await process.end().status == 0)
        }

        @Test("shows the shows and their medias, and the other lists in turn")
        func lists() async throws {
            let catalogue = try catalogue()
            let process = try browser(catalogue)
            try await process.screen(showing: "25 loaded")
            for (title, key) in [(" Most popular", "\t"), (" Shows", "\t"), (" Nature 1 ", "\r")] {
                process.type(key)
                try await process.screen { lines in
                    lines.first?.hasPrefix(title) == true && lines.contains { $0.contains(" loaded") }
                }
            }
            process.type("q")
            #expect(try await process.end().status == 0)
        }

        @Test("draws again when the window changes its size")
        func resizing() async throws {
            let catalogue = try catalogue()
            let process = try browser(catalogue)
            try await process.screen(showing: "25 loaded")
            process.resize(Size(columns: 50, rows: 12))
            let small = try await process.screen { $0.count == 12 && $0[10].contains("25 loaded") }
            #expect(small.allSatisfy { $0.columnCount <= 50 })
            process.resize(Size(columns: 20, rows: 5))
            try await process.screen(showing: "Make the window")
            process.resize(Size(columns: 80, rows: 24))
            try await process.screen { $0.count == 24 && $0[22].contains("25 loaded") }
            process.type("q")
            #expect(try await process.end().status == 0)
        }

        @Test("restores the terminal when a signal ends it", arguments: [SIGTERM, SIGINT, SIGHUP])
        func signals(signal: Int32) async throws {
            let catalogue = try catalogue()
            let process = try browser(catalogue)
            try await process.screen(showing: "25 loaded")
            process.send(signal)

            let end = try await process.end()
            #expect(end.status == 128 + signal)
            #expect(!end.screen.isAlternate && !end.screen.isCursorHidden)
        }

        @Test("refuses to run without a terminal that it can use")
        func refusal() async throws {
            let piped = try TerminalProcess(["--base", "http://127.0.0.1:1"], output: "/dev/null")
            let refusal = try await piped.end()
            #expect(refusal.status == 1)
            #expect(refusal.screen.lines.joined().hasPrefix("CatalogueBrowser needs a terminal"))

            let dumb = try TerminalProcess(["--base", "http://127.0.0.1:1"], term: "dumb")
            let end = try await dumb.end()
            #expect(end.status == 1)
            #expect(end.screen.lines.joined().hasPrefix("CatalogueBrowser needs a terminal"))
        }

        @Test("explains its arguments")
        func usage() async throws {
            let wrong = try TerminalProcess(["--unit", "nothing"])
            let end = try await wrong.end()
            #expect(end.status == 1)
            #expect(end.screen.lines.joined().contains("Usage: CatalogueBrowser"))
        }
    }
#endif
