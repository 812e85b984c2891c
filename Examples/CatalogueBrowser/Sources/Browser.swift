import Lade
import LadeCatalogue
import LadeContent

/// The browser: a stack of screens, of which the last is shown.
@MainActor
final class Browser {
    private let source: CatalogueSource
    private let changed: @MainActor () -> Void
    private var stack: [any Screen] = []
    private var list = 0

    /// Makes a browser that shows the first list.
    ///
    /// - Parameters:
    ///   - source: The source of all content.
    ///   - changed: Called when the screen must be drawn again.
    /// - Throws: `CatalogueError` when the business unit does not offer the first list.
    init(_ source: CatalogueSource, changed: @escaping @MainActor () -> Void) throws {
        self.source = source
        self.changed = changed
        open(try makeList())
    }

    /// Carries out the action of a key.
    ///
    /// - Returns: Whether the browser continues.
    func press(_ key: Key, in size: Size) throws -> Bool {
        guard let screen = stack.last, let action = Action(key, isTyping: screen.isTyping) else { return true }
        switch action {
        case .quit: return false
        case .search where !screen.isTyping: open(SearchScreen(try source.search(), opened: makeDetail))
        case .nextList where !screen.isTyping:
            leaveAll()
            list = (list + 1) % 3
            open(try makeList())
        default:
            switch try screen.perform(action, in: Self.area(of: size)) {
            case .stay: break
            case .open(let next): open(next)
            case .back: back()
            }
        }
        return true
    }

    /// The frame to show.
    func frame(_ size: Size) -> Frame {
        guard size.columns >= 24, size.rows >= 8, let screen = stack.last else {
            return Frame(size, [Line("Make the window larger.".truncated(toColumns: size.columns))])
        }
        let title = Line(
            " \(screen.title)".truncated(toColumns: size.columns),
            right: "\(source.unit.rawValue.uppercased()) ",
            in: size.columns,
            .title
        )
        let area = Self.area(of: size)
        let lines = screen.lines(in: area).prefix(area.rows)
        let rest = Array(repeating: Line(), count: area.rows - lines.count)
        let keys = Line("  \(screen.keys)".truncated(toColumns: size.columns), .dim)
        return Frame(size, [title] + lines + rest + [keys])
    }

    /// Cancels everything that is being loaded.
    func leaveAll() {
        for screen in stack { screen.leave() }
        stack = []
    }

    /// The area between the title and the keys.
    private static func area(of size: Size) -> Size { Size(columns: size.columns, rows: size.rows - 2) }

    private func open(_ screen: any Screen) {
        stack.append(screen)
        screen.start(changed)
    }

    private func back() {
        // The first list has nothing to go back to.
        guard stack.count > 1, let screen = stack.popLast() else { return }
        screen.leave()
    }

    // MARK: - Screens

    private func makeList() throws -> any Screen {
        let (catalogue, unit) = (source.catalogue, source.unit)
        switch list {
        case 0: return try makeMedias("Latest episodes", catalogue.tvLatestEpisodes(unit))
        case 1: return try makeMedias("Most popular", catalogue.tvMostPopularMedias(unit))
        default:
            return ListScreen("Shows", try source.list(catalogue.tvShows(unit)), row: \.row) { [self] show in
                try makeMedias(show.title.shown, catalogue.showLatestMedias(showURN: show.urn))
            }
        }
    }

    private func makeMedias(_ title: String, _ endpoint: PagedEndpoint<Catalogue.Listing<Catalogue.Media>>) throws
        -> any Screen
    {
        ListScreen(title, try source.list(endpoint), row: \.row, opened: makeDetail)
    }

    private func makeDetail(_ media: Catalogue.Media) throws -> any Screen {
        DetailScreen(media, try source.composition(of: media.urn))
    }
}
