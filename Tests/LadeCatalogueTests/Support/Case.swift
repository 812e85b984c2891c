import Testing

/// A row of a table of cases: its number, and what belongs to it.
struct Case<Row: Sendable>: Sendable, CustomTestStringConvertible {
    let number: String
    let row: Row

    init(_ number: String, _ row: Row) {
        self.number = number
        self.row = row
    }

    var testDescription: String { "catalogue \(number)" }
}
