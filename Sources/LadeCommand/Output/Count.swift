/// Numbers with the word for the counted things.
enum Count {
    /// `1 page`, `2 pages`.
    static func text(_ number: Int, _ one: String, _ many: String) -> String {
        "\(number) \(number == 1 ? one : many)"
    }
}
