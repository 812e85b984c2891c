#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCatalogue
import LadeContent

/// A screen of the browser, driven by one content model.
@MainActor
protocol Screen: AnyObject {
    var title: String { get }
    /// The keys to show at the bottom.
    var keys: String { get }
    /// Whether letters belong to a text.
    var isTyping: Bool { get }
    /// Starts loading, and calls a closure whenever the model changes.
    func start(_ changed: @escaping @MainActor () -> Void)
    /// Cancels what is being loaded.
    func leave()
    /// Carries out an action.
    ///
    /// - Returns: What the browser does next.
    func perform(_ action: Action, in size: Size) throws -> Step
    /// The lines for an area of the terminal.
    func lines(in size: Size) -> [Line]
}

/// What the browser does after an action.
enum Step {
    case stay
    case open(any Screen)
    case back
}

/// Calls a closure for each change of a content model.
@MainActor
private func observe<Input, Value>(
    _ model: ContentModel<Input, Value>,
    _ changed: @escaping @MainActor () -> Void
) -> Task<Void, Never> {
    let snapshots = model.snapshots()
    return Task { for await _ in snapshots { changed() } }
}

// MARK: - Lists

/// A list that loads further pages while it scrolls.
@MainActor
final class ListScreen<Item: Sendable>: Screen {
    let title: String
    private let model: PagedContentModel<String, Item>
    private let row: (Item) -> ListView.Row
    private let opened: (Item) throws -> any Screen
    private var cursor = ListCursor()
    // Ends with the screen.
    private var observation: Task<Void, Never>?

    init(
        _ title: String,
        _ model: PagedContentModel<String, Item>,
        row: @escaping (Item) -> ListView.Row,
        opened: @escaping (Item) throws -> any Screen
    ) {
        self.title = title
        self.model = model
        self.row = row
        self.opened = opened
    }

    var keys: String {
        (model.lastError == nil ? "" : "r try again   ") + "↑↓ move   Enter open   Tab next list   / search   q quit"
    }
    var isTyping: Bool { false }

    func start(_ changed: @escaping @MainActor () -> Void) {
        observation = observe(model, changed)
        if case .unloaded = model.state { model.startOver() }
    }

    func leave() {
        model.cancel()
        observation?.cancel()
    }

    func perform(_ action: Action, in size: Size) throws -> Step {
        let height = size.rows - 1
        if let distance = action.distance(height: height) {
            model.move(&cursor, by: distance, height: height)
            return .stay
        }
        switch action {
        case .retry: model.retry()
        case .back: return .back
        case .open:
            if let item = model.item(at: ListIndex(item: cursor.selection)) { return .open(try opened(item)) }
        case .move, .page, .top, .bottom, .search, .quit, .nextList, .type, .erase: break
        }
        return .stay
    }

    func lines(in size: Size) -> [Line] {
        let height = size.rows - 1
        cursor.fit(count: model.totalItemCount, height: height)
        return model.view(cursor, height, row).lines(in: size)
    }
}

extension Action {
    /// The number of rows to move the selection of a list by; nil for other actions.
    fileprivate func distance(height: Int) -> Int? {
        switch self {
        case .move(let distance): distance
        case .page(let pages): pages * height
        case .top: .min
        case .bottom: .max
        case .retry, .back, .open, .search, .quit, .nextList, .type, .erase: nil
        }
    }
}

extension PagedContentModel {
    /// Moves the selection, and loads the next page when the end of the list is near.
    fileprivate func move(_ cursor: inout ListCursor, by distance: Int, height: Int) {
        cursor.move(by: distance, count: totalItemCount, height: height)
        // After a failure only the user's key loads the page again.
        if lastError == nil, cursor.isNearEnd(of: totalItemCount, height: height) { loadNextPage() }
    }

    /// The list as it is shown.
    fileprivate func view(_ cursor: ListCursor, _ height: Int, _ row: (Item) -> ListView.Row) -> ListView {
        let visible = items.dropFirst(cursor.top).prefix(max(0, height)).map(row)
        return ListView(count: items.count, rows: visible, selection: cursor.selection - cursor.top, status: status)
    }

    private var status: ListView.Status {
        let isEmpty = items.isEmpty
        return switch state {
        case .unloaded: .hint("")
        case .empty: .empty
        case .loading: isEmpty ? .loading : snapshot.reason == .nextPage ? .loadingMore : .refreshing
        case .success: .loaded(hasMore: hasMore)
        case .error(let error): isEmpty ? .failed(error.shownReason) : .moreFailed(error.shownReason)
        }
    }
}

// MARK: - Search

/// A search whose results change while the user types.
@MainActor
final class SearchScreen: Screen {
    private let model: PagedContentModel<String, Catalogue.Media>
    private let opened: (Catalogue.Media) throws -> any Screen
    private var query = ""
    private var cursor = ListCursor()
    // Ends with the screen.
    private var observation: Task<Void, Never>?

    /// How long the text must stay the same before it is searched for.
    private static let delay = Duration.milliseconds(250)

    init(_ model: PagedContentModel<String, Catalogue.Media>, opened: @escaping (Catalogue.Media) throws -> any Screen)
    {
        self.model = model
        self.opened = opened
    }

    let title = "Search"
    var keys: String {
        model.lastError == nil ? "type to search   ↑↓ move   Enter open   Esc back" : "Enter try again   Esc back"
    }
    var isTyping: Bool { true }

    func start(_ changed: @escaping @MainActor () -> Void) {
        observation = observe(model, changed)
    }

    func leave() {
        model.cancel()
        observation?.cancel()
    }

    func perform(_ action: Action, in size: Size) throws -> Step {
        let height = size.rows - 3
        if let distance = action.distance(height: height) {
            model.move(&cursor, by: distance, height: height)
            return .stay
        }
        switch action {
        case .back: return .back
        case .type(let character): change(query + String(character))
        case .erase: change(String(query.dropLast()))
        case .open:
            if model.lastError != nil {
                model.retry()
            } else if !isBlank, let item = model.item(at: ListIndex(item: cursor.selection)) {
                return .open(try opened(item))
            }
        case .move, .page, .top, .bottom, .retry, .search, .quit, .nextList: break
        }
        return .stay
    }

    func lines(in size: Size) -> [Line] {
        let area = Size(columns: size.columns, rows: size.rows - 2)
        cursor.fit(count: model.totalItemCount, height: area.rows - 1)
        var view = model.view(cursor, area.rows - 1, \.row)
        view.retryKey = "Enter"
        if isBlank { view.status = .hint("Type what to search for.") }
        let line = "  Search: \(query)▏"
        return [Line(line.truncated(toColumns: size.columns), .bold), Line()] + view.lines(in: area)
    }

    private var isBlank: Bool { query.allSatisfy(\.isWhitespace) }

    private func change(_ text: String) {
        query = text
        cursor = ListCursor()
        if isBlank {
            model.cancel()
        } else {
            model.refresh(whenChanged: .startOver(text), after: Self.delay)
        }
    }
}

// MARK: - Detail

/// A media with its streams.
@MainActor
final class DetailScreen: Screen {
    let title: String
    private let media: Catalogue.Media
    private let model: ContentModel<Void, Catalogue.MediaComposition>
    private var top = 0
    // Ends with the screen.
    private var observation: Task<Void, Never>?

    init(_ media: Catalogue.Media, _ model: ContentModel<Void, Catalogue.MediaComposition>) {
        title = media.show?.title.shown ?? "Media"
        self.media = media
        self.model = model
    }

    var keys: String { (model.lastError == nil ? "" : "r try again   ") + "↑↓ scroll   Esc back   q quit" }
    var isTyping: Bool { false }

    func start(_ changed: @escaping @MainActor () -> Void) {
        observation = observe(model, changed)
        model.refresh()
    }

    func leave() {
        model.cancel()
        observation?.cancel()
    }

    func perform(_ action: Action, in size: Size) -> Step {
        let last = max(0, view.lines(in: size.columns).count - size.rows)
        switch action {
        case .move(let distance): top = min(last, max(0, top + distance))
        case .page(let pages): top = min(last, max(0, top + pages * size.rows))
        case .top: top = 0
        case .bottom: top = last
        case .retry: model.retry()
        case .back: return .back
        case .open, .search, .quit, .nextList, .type, .erase: break
        }
        return .stay
    }

    func lines(in size: Size) -> [Line] {
        let lines = view.lines(in: size.columns)
        top = min(top, max(0, lines.count - size.rows))
        let visible = Array(lines.dropFirst(top).prefix(size.rows))
        guard top + size.rows < lines.count else { return visible }
        return visible.dropLast() + [Line("  ↓ more", .dim)]
    }

    private var view: DetailView {
        let facts = [
            ("Date", media.date.map { Catalogue.Day($0).string } ?? ""), ("Length", media.duration.shownLength),
            ("Show", media.show?.title.shown ?? ""), ("URN", media.urn.shown),
        ]
        return DetailView(
            title: media.title.shown,
            facts: facts.filter { !$0.1.isEmpty },
            texts: [media.lead, media.summary].compactMap { $0?.shown },
            playback: playback
        )
    }

    private var playback: DetailView.Playback {
        switch model.state {
        case .unloaded, .loading: return .loading
        case .error(let error): return .failed(error.shownReason)
        case .empty: return .loaded(streams: [], parts: [])
        case .success(let composition):
            let chapter = composition.mainChapter
            return .loaded(
                streams: (chapter?.playableResources ?? []).map { resource in
                    let kind = "\(resource.streamingMethod.rawValue) \(resource.quality.rawValue)"
                    return "\(kind)  \(resource.url?.absoluteString ?? "")".shown
                },
                parts: (chapter?.segments ?? []).map { "\($0.duration.shownLength)  \($0.title)".shown }
            )
        }
    }
}

// MARK: - Texts

extension Catalogue.Media {
    /// The row of a list.
    var row: ListView.Row {
        let day = date.map { Catalogue.Day($0).string } ?? ""
        let length = duration.shownLength.padded(toColumns: 7, atFront: true)
        return ListView.Row(title: title.shown, facts: [show?.title.shown ?? "", day, length].joined(separator: "  "))
    }
}

extension Catalogue.Show {
    /// The row of a list.
    var row: ListView.Row {
        ListView.Row(title: title.shown, facts: numberOfEpisodes.map { $0 == 1 ? "1 episode" : "\($0) episodes" } ?? "")
    }
}

extension Duration {
    /// The length as `5:00` or `1:05:00`; empty for none.
    var shownLength: String {
        guard self > .zero else { return "" }
        let seconds = components.seconds
        func two(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }
        let end = "\(two(seconds / 60 % 60)):\(two(seconds % 60))"
        return seconds < 3_600 ? "\(seconds / 60):\(two(seconds % 60))" : "\(seconds / 3_600):\(end)"
    }
}

extension Error {
    /// The error as a sentence for the user.
    var shownReason: String {
        var error: any Error = self
        if case .loading(let cause) = (self as? PageError)?.cause { error = cause }
        guard let loading = error as? LoadingError else { return String(describing: error).shown }
        if case .unacceptableStatus(let status) = loading.kind {
            return "The server responded with \(status.code): \(status.text(in: .english))."
        }
        return loading.text(in: .english).shown + "."
    }
}
