import Lade
import LadeCatalogue

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A browser of the media catalogue for the terminal.
///
/// Its lists, its search and its details are content models of `LadeContent`, as in an application with a graphical
/// interface: the screens show the state of a model, and start its loads.
@main
enum Program {
    private static let usage = """
        Usage: CatalogueBrowser --base URL [--unit srf|rts|rsi|rtr|swi]

        Browses a media catalogue, such as the one that “lade serve” serves on this machine.

        """

    @MainActor
    static func main() async {
        Terminal.catchSignals()
        let source: CatalogueSource
        do {
            source = try makeSource(Array(CommandLine.arguments.dropFirst()))
        } catch {
            exit(error.text, error.status)
        }
        guard Terminal.isUsable else {
            exit("CatalogueBrowser needs a terminal: run it without pipes and files, and with TERM set.\n", 1)
        }
        guard let terminal = Terminal() else { exit("The terminal cannot be switched to raw mode.\n", 1) }
        let status = await run(source, on: terminal)
        terminal.restore()
        systemExit(status)
    }

    /// Shows the browser until it ends.
    ///
    /// - Returns: The exit status: 0, or 128 and the number of a signal.
    @MainActor
    private static func run(_ source: CatalogueSource, on terminal: Terminal) async -> Int32 {
        var shown: Frame?
        var keys = KeyParser()
        // One element is enough: it says that the screen must be drawn.
        let (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let events = terminal.events()
        do {
            let browser = try Browser(source) { changed.yield() }
            defer { browser.leaveAll() }
            func draw() {
                let frame = browser.frame(terminal.size)
                terminal.write(frame.changes(from: shown))
                shown = frame
            }
            // Ends with the program.
            let drawing = Task { for await _ in changes { draw() } }
            defer { drawing.cancel() }
            draw()
            for await event in events {
                switch event {
                case .bytes(let bytes):
                    for key in keys.keys(in: bytes) where try !browser.press(key, in: terminal.size) { return 0 }
                case .resized: break
                case .end: return 0
                case .signal(let number): return 128 + number
                }
                draw()
            }
            return 0
        } catch {
            terminal.write("\u{1B}[H\(error)")
            return 1
        }
    }

    // MARK: - Arguments

    private struct Mistake: Error {
        var text: String
        var status: Int32 = 1
    }

    private static func makeSource(_ arguments: [String]) throws(Mistake) -> CatalogueSource {
        var rest = arguments[...]
        var base: String?
        var unit = Catalogue.BusinessUnit.rts
        while let argument = rest.popFirst() {
            switch argument {
            case "--base": base = rest.popFirst()
            case "--unit":
                guard let named = Catalogue.BusinessUnit(rawValue: rest.popFirst()?.lowercased() ?? ""), named != .ssatr
                else {
                    throw Mistake(text: usage)
                }
                unit = named
            case "--help", "-h": throw Mistake(text: usage, status: 0)
            default: throw Mistake(text: usage)
            }
        }
        guard let base else { throw Mistake(text: usage) }
        do {
            var settings = Service.Settings()
            // The user sees each failure, and tries again with a key.
            settings.retries.limit = 0
            return CatalogueSource(loader: try Loader(settings), catalogue: try Catalogue(base), unit: unit)
        } catch {
            throw Mistake(text: "\(error)\n")
        }
    }

    /// Prints a text, on the standard output for status 0, and ends the program.
    private static func exit(_ text: String, _ status: Int32) -> Never {
        Terminal.write(text, to: status == 0 ? STDOUT_FILENO : STDERR_FILENO)
        systemExit(status)
    }
}

// The function is called from a method that has the same name.
private func systemExit(_ status: Int32) -> Never { exit(status) }
