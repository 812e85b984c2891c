/// The words for generated titles.
enum StockWords {
    static let places = [
        "le lac", "la montagne", "la vallée", "la gare", "le vieux port", "la forêt", "le marché", "l'île", "le col",
        "la rivière", "le glacier", "la place", "le jardin", "le phare", "la ruelle", "le moulin",
    ]
    static let times = [
        "au matin", "à midi", "le soir", "en hiver", "au printemps", "sous la pluie", "un dimanche", "après l'orage",
    ]
    static let kinds = [
        "Promenade", "Portrait", "Rencontre", "Enquête", "Concert", "Atelier", "Voyage", "Débat",
    ]
    static let themes = ["Nature", "Histoire", "Musique", "Sport", "Science", "Cuisine", "Cinéma", "Société"]
    static let colours = ["YELLOW", "GREEN", "RED"]
    static let tags = ["nature", "ville", "eau", "neige"]
}

/// A sequence of numbers that depends only on the seed (splitmix64).
struct SeededBits {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next(below limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
    }

    mutating func pick(_ words: [String]) -> String { words[next(below: words.count)] }
}

/// A day in the Gregorian calendar, as the number of days since 1 January 1970.
struct CatalogueDay: Hashable, Comparable {
    /// The last day with publications: 31 December 2023.
    static let newest = CatalogueDay(number: 19_722)

    let number: Int

    init(number: Int) { self.number = number }

    /// Parses `yyyy-MM-dd`; nil for any other text.
    init?(_ text: some StringProtocol) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [4, 2, 2] else { return nil }
        let values = parts.map { part in part.reduce(0) { $0 * 10 + (Int($1) - 48) } }
        let isDigits = parts.allSatisfy { $0.allSatisfy { (48...57).contains($0) } }
        guard isDigits, (1...12).contains(values[1]), (1...31).contains(values[2]) else { return nil }
        // The civil date is computed by eras of 400 years, which begin in March.
        let year = values[1] <= 2 ? values[0] - 1 : values[0]
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let month = (values[1] + 9) % 12
        let dayOfYear = (153 * month + 2) / 5 + values[2] - 1
        number = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        guard text == self.text else { return nil }
    }

    static func < (lhs: CatalogueDay, rhs: CatalogueDay) -> Bool { lhs.number < rhs.number }

    /// The day as `yyyy-MM-dd`.
    var text: String {
        let days = number + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfYear - (153 * shifted + 2) / 5 + 1, 2))"
    }

    /// A time of the day, in Swiss winter time.
    func at(_ hour: Int, _ minute: Int = 0) -> String {
        "\(text)T\(padded(hour, 2)):\(padded(minute, 2)):00+01:00"
    }
}

private func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
