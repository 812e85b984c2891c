// Rows for options with a quantity. The name of the option is written once and also used in its errors.
extension OptionRow {
    /// A row for an option with a whole number as its value.
    static func count(
        _ name: String,
        _ section: OptionSection,
        _ summary: String,
        details: String = "",
        isCommon: Bool = true,
        from least: Int = 1,
        to most: Int = .max,
        store: @escaping @Sendable (inout Settings, Int) -> Void
    ) -> OptionRow {
        value(name, "N", section, summary, details: details, isCommon: isCommon) {
            settings,
            value throws(CommandError) in
            store(&settings, try Quantity.count(value, of: "--\(name)", from: least, to: most))
        }
    }

    /// A row for an option with a duration as its value.
    static func duration(
        _ name: String,
        letter: Character? = nil,
        _ section: OptionSection,
        _ summary: String,
        details: String = "",
        isCommon: Bool = true,
        store: @escaping @Sendable (inout Settings, Duration) -> Void
    ) -> OptionRow {
        value(name, letter: letter, "TIME", section, summary, details: details, isCommon: isCommon) {
            settings,
            value throws(CommandError) in
            store(&settings, try Quantity.duration(value, of: "--\(name)"))
        }
    }
}
