#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCatalogue

/// The table for a response of the catalogue.
///
/// Made from the JSON, so that a response of another shape than expected is shown as far as possible. No value can add a
/// line or control the terminal.
struct CatalogueTable {
    /// The address of an image or a stream of an item, as it is shown.
    struct Link: Equatable {
        /// The purpose of the address, such as `image` or `HLS HD`.
        let label: String
        let address: String

        /// Makes a link of texts of the server, which cannot add a line or control the terminal.
        init(label: String, address: String) {
            self.label = label.escapedForDisplay(limit: 60)
            self.address = address.escapedForDisplay(limit: 8_000)
        }
    }

    /// The addresses of an item, as they are shown.
    struct LinkedItem: Equatable {
        let title: String
        /// The URN, or the identifier of an item without one.
        let name: String
        let links: [Link]

        /// Makes an item of texts of the server, which cannot add a line or control the terminal.
        init(title: String, name: String, links: [Link]) {
            self.title = title.escapedForDisplay(limit: TextTable.cellLimit)
            self.name = name.escapedForDisplay(limit: 200)
            self.links = links
        }
    }

    /// A page is shown in tables of at most so many rows.
    static let mostRows = 1_000

    private struct Column {
        var title: String
        var isNumeric = false
        var isFlexible = false
        var text: (JSONValue) -> String

        static func text(_ title: String, _ pointer: JSONPointer) -> Column {
            Column(title: title, isFlexible: true) { CatalogueTable.text($0[pointer]) }
        }

        static func name(_ title: String, _ pointer: JSONPointer) -> Column {
            Column(title: title) { CatalogueTable.text($0[pointer]) }
        }

        static func number(_ title: String, _ pointer: JSONPointer) -> Column {
            Column(title: title, isNumeric: true) { CatalogueTable.text($0[pointer]) }
        }

        static func time(_ title: String, _ pointer: JSONPointer) -> Column {
            Column(title: title) { CatalogueTable.time($0[pointer]) }
        }

        static func length(_ pointer: JSONPointer = ["duration"]) -> Column {
            Column(title: "Length", isNumeric: true) { CatalogueTable.length($0[pointer]) }
        }

        static func count(_ title: String, _ pointer: JSONPointer) -> Column {
            Column(title: title, isNumeric: true) { String($0[pointer]?.array?.count ?? 0) }
        }
    }

    /// The tables of a response: a row for each item of a list, or for each member of a single object.
    ///
    /// Each table is made when it is shown, so that the cells of a long page are never held at the same time.
    static func tables(of response: CatalogueResponse) -> some Sequence<TextTable> {
        let key = response.listKey
        let items = key.flatMap { key in response.items.map { rows(key, $0) } }
        let starts = stride(from: 0, to: max(1, items?.count ?? 1), by: mostRows)
        return starts.lazy.map { start in
            guard let key, let items else { return members(of: response.document) }
            let columns = columns(of: key)
            return TextTable(
                columns: columns.map {
                    TextTable.Column(title: $0.title, isNumeric: $0.isNumeric, isFlexible: $0.isFlexible)
                },
                rows: items[start..<min(start + mostRows, items.count)].map { item in columns.map { $0.text(item) } }
            )
        }
    }

    /// The fault that keeps a response from being shown, as one sentence; nil when it can be shown.
    ///
    /// A response is an object, its list is a list, and the items of the list are objects. A list that is null or
    /// missing is empty.
    static func fault(in response: CatalogueResponse) -> String? {
        guard response.document.object != nil else {
            return "The catalogue's response is \(kind(of: response.document)), not an object."
        }
        guard let key = response.listKey else {
            guard response.document["title"] == nil else { return nil }
            let malformed = CatalogueResponse.listKeys.first { ![nil, .null].contains(response.document[$0]) }
            return malformed.flatMap { key in
                response.document[key].map { "The catalogue's \(key) is \(kind(of: $0)), not a list." }
            }
        }
        guard let items = response.items, let index = items.firstIndex(where: { $0.object == nil }) else { return nil }
        return "Item \(index) of the catalogue's \(key) is \(kind(of: items[index])), not an object."
    }

    private static func kind(of value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "a truth value"
        case .integer, .number: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }

    /// The addresses of the images of a response's items, in a width.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - catalogue: Makes the addresses.
    ///   - width: The width in pixels.
    /// - Returns: The items with an image.
    static func images(
        of response: CatalogueResponse,
        _ catalogue: Catalogue,
        _ width: CatalogueImage.Width
    ) -> [LinkedItem] {
        items(of: response).compactMap { item in
            guard let object = item.object else { return nil }
            let links = ordered(object.names).compactMap { name -> Link? in
                guard name.ends(with: "mageUrl"), let address = object[name]?.string,
                    let image = CatalogueImage(address), let url = catalogue.imageURL(for: image, width: width)
                else { return nil }
                let kind = String(name.unicodeScalars.dropLast("ImageUrl".utf8.count))
                return Link(label: kind.isEmpty ? "image" : kind, address: url.absoluteString)
            }
            return links.isEmpty ? nil : LinkedItem(title: text(item["title"]), name: name(of: item), links: links)
        }
    }

    /// The URNs of the medias among a response's items, in order.
    static func mediaURNs(of response: CatalogueResponse) -> [String] {
        let all = items(of: response).flatMap { item in
            // An episode is played by its medias.
            item["mediaList"]?.array ?? [item]
        }
        return all.compactMap { $0["urn"]?.string }.filter { CatalogueURN($0)?.isMedia == true }
    }

    /// The objects that the rows of a response stand for.
    static func items(of response: CatalogueResponse) -> [JSONValue] {
        guard let key = response.listKey, let items = response.items else { return [response.document] }
        return rows(key, items)
    }

    // MARK: - Rows

    private static func rows(_ key: String, _ items: [JSONValue]) -> [JSONValue] {
        guard key == "programGuide" else { return items }
        // A guide has a list for each channel; each row also names its channel.
        return items.flatMap { guide -> [JSONValue] in
            (guide["programList"]?.array ?? []).map { program in
                var members = program.object ?? JSONValue.Object()
                members["channel"] = guide["channel"]
                return .object(members)
            }
        }
    }

    private static func columns(of key: String) -> [Column] {
        let (title, urn) = (Column.text("Title", ["title"]), Column.name("URN", ["urn"]))
        return switch key {
        case "mediaList", "searchResultListMedia":
            [title, .time("Date", ["date"]), .length(), .text("Show", ["show", "title"]), urn]
        case "showList", "searchResultListShow":
            [title, .text("Lead", ["lead"]), .number("Episodes", ["numberOfEpisodes"]), urn]
        case "channelList": [title, .name("ID", ["id"]), .name("Kind", ["transmission"]), urn]
        case "topicList": [title, .count("Subtopics", ["subTopicList"]), .name("ID", ["id"]), urn]
        case "songList": [.time("Time", ["date"]), title, .text("Artist", ["artist", "name"]), .length()]
        case "moduleConfigList":
            [title, .time("From", ["publishStartTimestamp"]), .time("To", ["publishEndTimestamp"]), urn]
        case "programGuide":
            [
                .text("Channel", ["channel", "title"]), .time("Begins", ["startTime"]), title,
                .name("Media", ["mediaUrn"]),
            ]
        case "programList": [.time("Begins", ["startTime"]), title, .name("Media", ["mediaUrn"])]
        case "episodeList":
            [title, .time("Date", ["publishedDate"]), .count("Medias", ["mediaList"]), .name("ID", ["id"])]
        case "sectionList":
            [
                .text("Title", ["representation", "properties", "title"]),
                .name("Representation", ["representation", "name"]), .name("Content", ["sectionType"]),
                .name("ID", ["id"]),
            ]
        case "chapterList":
            [title, .length(), .count("Segments", ["segmentList"]), .count("Streams", ["resourceList"]), urn]
        default: [title, urn]
        }
    }

    /// The members of an object, one in each row; an object or a list within is shown by its title or its length.
    private static func members(of document: JSONValue) -> TextTable {
        let columns = [TextTable.Column(title: "Name"), TextTable.Column(title: "Value")]
        let object = document.object
        return TextTable(
            columns: columns,
            rows: ordered(object?.names ?? []).compactMap { name in
                // A part without a title and a name has no place in a table; --json prints it.
                guard let text = object?[name].map({ member(name, $0) }), !text.isEmpty else { return nil }
                return [name.escapedForDisplay(limit: 60), text]
            }
        )
    }

    /// The names of members with the most important first; an object has no order of its own.
    private static func ordered(_ names: [String]) -> [String] {
        let first = ["title", "urn", "id", "lead", "description", "imageUrl"]
        return first.filter(names.contains) + names.filter { !first.contains($0) }.sorted()
    }

    private static func member(_ name: String, _ value: JSONValue) -> String {
        switch value {
        case .array(let items): return Count.text(items.count, "element", "elements")
        case .object:
            return [text(value["title"]), self.name(of: value)].filter { !$0.isEmpty }.joined(separator: ", ")
        default: return name == "duration" ? length(value) : text(value)
        }
    }

    // MARK: - Cells

    private static func name(of item: JSONValue) -> String {
        let urn = text(item["urn"])
        return urn.isEmpty ? text(item["id"]) : urn
    }

    /// The text of a scalar, which is not shown as it is; empty for anything else.
    static func text(_ value: JSONValue?) -> String {
        switch value {
        case .string(let text): text
        case .integer(let number): String(number)
        case .number(let number): number.text
        case .bool(let bool): bool ? "true" : "false"
        default: ""
        }
    }

    /// The day and time of a date such as `2023-12-30T20:00:00+01:00`, in the zone that the service writes.
    static func time(_ value: JSONValue?) -> String {
        let text = text(value)
        guard let (day, time) = text.cut(at: "T"), day.utf8.count == 10, time.utf8.count >= 5,
            text.utf8.allSatisfy({ $0 < 0x80 })
        else { return text }
        return "\(day) \(time.prefix(5))"
    }

    /// A length in milliseconds as `30:00` or `1:05:00`.
    static func length(_ value: JSONValue?) -> String {
        guard let milliseconds = value?.integer else { return text(value) }
        guard milliseconds > 0 else { return "" }
        let seconds = milliseconds / 1_000
        func two(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }
        let end = "\(two(seconds / 60 % 60)):\(two(seconds % 60))"
        return seconds < 3_600 ? "\(seconds / 60):\(two(seconds % 60))" : "\(seconds / 3_600):\(end)"
    }
}

extension CatalogueTable {
    /// The table of services: how to call each, and which business units offer it.
    ///
    /// - Parameters:
    ///   - services: The services.
    ///   - unit: The business unit that all of them are for; nil to list the units of each.
    /// - Returns: The table.
    static func services(_ services: [CatalogueService], for unit: Catalogue.BusinessUnit? = nil) -> TextTable {
        var table = TextTable(
            columns: [
                TextTable.Column(title: "Service"), TextTable.Column(title: "Pages"), TextTable.Column(title: "Units"),
                TextTable.Column(title: "Arguments", isFlexible: true),
            ],
            rows: services.map { [$0.name, pages(of: $0), units(of: $0), arguments(of: $0)] }
        )
        if unit != nil { table.removeColumn(2) }
        return table
    }

    /// The table of the arguments of a service.
    static func arguments(_ service: CatalogueService) -> TextTable {
        TextTable(
            columns: [
                TextTable.Column(title: "Argument"), TextTable.Column(title: ""), TextTable.Column(title: "Form"),
            ],
            rows: service.arguments.map { argument in
                [argument.name, argument.isRequired ? "required" : "optional", argument.form.description]
            }
        )
    }

    private static func arguments(of service: CatalogueService) -> String {
        service.arguments.map { $0.isRequired ? $0.name : "[\($0.name)]" }.joined(separator: " ")
    }

    private static func units(of service: CatalogueService) -> String {
        guard service.needsBusinessUnit else { return "any" }
        guard !service.units.isEmpty else { return "none" }
        return Catalogue.BusinessUnit.allCases.filter(service.isAvailable).map(\.rawValue).joined(separator: " ")
    }

    private static func pages(of service: CatalogueService) -> String {
        switch service.paging {
        case .none: "–"
        case .pages, .urns: "yes"
        case .unlimited: "unlimited"
        case .unsized: "own size"
        }
    }
}
