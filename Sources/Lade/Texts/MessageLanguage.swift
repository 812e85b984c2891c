/// The languages of the texts for users.
public enum MessageLanguage: String, Sendable, Hashable, CaseIterable {
    /// English.
    case english = "en"
    /// German.
    case german = "de"
    /// French.
    case french = "fr"
    /// Italian.
    case italian = "it"
    /// Romansh.
    case romansh = "rm"

    /// Finds the language of a tag such as `de-CH`; nil when there are no texts in that language.
    public init?(tag: String) {
        self.init(rawValue: String(tag.prefix { $0 != "-" && $0 != "_" }).lowercased())
    }

    /// The first of the user's languages with texts; English if there is none.
    public static var preferred: MessageLanguage {
        Service.PreferredLanguages.system.tags.lazy.compactMap { MessageLanguage(tag: $0) }.first ?? .english
    }
}

/// Texts in every language, one per line: a number, then the texts in the order of ``MessageLanguage/allCases``,
/// separated by bars.
package struct MessageTable: Sendable {
    private let rows: [Int: [String]]

    /// Makes a table from its lines.
    package init(_ lines: String) {
        var rows: [Int: [String]] = [:]
        for line in lines.split(separator: "\n") {
            let columns = line.split(separator: "|").map { String($0.drop { $0 == " " }.trimmingBlanksAtEnd) }
            guard let number = columns.first.flatMap({ Int($0) }) else { continue }
            rows[number] = Array(columns.dropFirst())
        }
        self.rows = rows
    }

    /// The numbers in the table.
    package var numbers: [Int] { rows.keys.sorted() }

    /// The text of a number in a language.
    package func text(_ number: Int, in language: MessageLanguage) -> String? {
        guard let row = rows[number], let column = MessageLanguage.allCases.firstIndex(of: language) else { return nil }
        return row.indices.contains(column) ? row[column] : nil
    }
}

extension Substring {
    fileprivate var trimmingBlanksAtEnd: Substring {
        lastIndex { $0 != " " }.map { self[...$0] } ?? ""
    }
}
