#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Writes the pages of a list: tables and addresses laid out on a terminal, separated by tabs in a pipe.
struct CataloguePrinter {
    private let console: Console
    /// The widths of the first page's columns, so that later pages align with it.
    private var widths: [Int]?
    private var rows = 0

    init(_ console: Console) {
        self.console = console
    }

    /// Writes the rows of a page; on a terminal the first page has titles.
    mutating func print(_ table: TextTable) throws(CommandError) {
        rows += table.rows.count
        guard console.laysOut else { return try console.write(table.tabSeparated) }
        guard !table.rows.isEmpty else { return }
        let isFirst = widths == nil
        let widths = self.widths ?? table.widths(in: console.outputWidth)
        self.widths = widths
        let heading = console.usesColour ? "\u{1B}[1m\(table.heading(widths))\u{1B}[0m" : table.heading(widths)
        let lines = (isFirst ? [heading] : []) + table.lines(widths)
        try console.write(lines.map { $0 + "\n" }.joined())
    }

    /// Writes the addresses of items; on a terminal they stand below the title of the item.
    mutating func print(_ items: [CatalogueTable.LinkedItem]) throws(CommandError) {
        for item in items {
            rows += item.links.count
            guard console.laysOut else {
                try console.write(item.links.map { "\(item.name)\t\($0.label)\t\($0.address)\n" }.joined())
                continue
            }
            let title = console.usesColour ? "\u{1B}[1m\(item.title)\u{1B}[0m" : item.title
            let column = item.links.reduce(0) { max($0, $1.label.columnCount) }
            let links = item.links.map { "  \($0.label.padded(toColumns: column))  \($0.address)\n" }
            try console.write("\(title)  \(item.name)\n" + (links.isEmpty ? "  –\n" : links.joined()))
        }
    }

    /// Writes a document as the catalogue sent it; on a terminal it is formatted.
    mutating func print(json data: Data) throws(CommandError) {
        rows += 1
        guard console.laysOut else {
            do {
                try console.output.write(data)
                if data.last != UInt8(ascii: "\n") { try console.output.write("\n".utf8) }
            } catch {
                throw .output(error)
            }
            return
        }
        var text = TerminalText(.json(isColoured: console.usesColour))
        try console.write(text.text(of: data) + text.end())
    }

    /// Reports a response without anything to print.
    func end(_ settings: CatalogueSettings) throws(CommandError) {
        guard rows == 0, !settings.output.isSilent else { return }
        let missing = settings.imageWidth != nil ? "image" : settings.showsStreams ? "stream" : "item"
        console.say("lade: The catalogue responded without any \(missing).")
    }
}
