/// Operations that build the table of a command from the tables of its parts.
extension Array {
    /// The rows with these names.
    func only<Settings>(_ names: String...) -> [OptionRow<Settings>] where Element == OptionRow<Settings> {
        filter { names.contains($0.info.name) }
    }

    /// The rows, except for the rows with these names.
    func except<Settings>(_ names: String...) -> [OptionRow<Settings>] where Element == OptionRow<Settings> {
        filter { !names.contains($0.info.name) }
    }

    /// The rows, for settings that contain these settings.
    func lifted<Outer, Settings>(
        _ part: any WritableKeyPath<Outer, Settings> & Sendable
    ) -> [OptionRow<Outer>] where Element == OptionRow<Settings> {
        map { $0.lifted(part) }
    }

    /// The rows, without lines of their own on the help page.
    func rare<Settings>() -> [OptionRow<Settings>] where Element == OptionRow<Settings> {
        map(\.rare)
    }
}
