/// Tables that are made from those of the parts of a command's settings.
extension Array {
    /// The rows of these names.
    func only<Settings>(_ names: String...) -> [OptionRow<Settings>] where Element == OptionRow<Settings> {
        filter { names.contains($0.info.name) }
    }

    /// The rows but those of these names.
    func except<Settings>(_ names: String...) -> [OptionRow<Settings>] where Element == OptionRow<Settings> {
        filter { !names.contains($0.info.name) }
    }

    /// The rows for settings that contain these.
    func lifted<Outer, Settings>(
        _ part: any WritableKeyPath<Outer, Settings> & Sendable
    ) -> [OptionRow<Outer>] where Element == OptionRow<Settings> {
        map { $0.lifted(part) }
    }

    /// The rows, named in the help without lines of their own.
    func rare<Settings>() -> [OptionRow<Settings>] where Element == OptionRow<Settings> {
        map(\.rare)
    }
}
