/// A key of the terminal's keyboard.
enum Key: Equatable {
    case up, down, pageUp, pageDown, home, end
    case enter, escape, tab, backspace
    /// Ctrl-C, which sends no signal while the terminal is raw.
    case interrupt
    case character(Character)
}

/// Turns the bytes that a terminal sends into keys.
///
/// A character or a sequence may be divided between two reads. An escape at the end of a read is the key of that name:
/// a terminal sends the bytes of a sequence together.
struct KeyParser {
    private var pending: [UInt8] = []

    /// The keys in the next bytes.
    mutating func keys(in bytes: [UInt8]) -> [Key] {
        pending += bytes
        var keys: [Key] = []
        while let byte = pending.first {
            let taken: (key: Key?, length: Int)?
            switch byte {
            case 0x1B: taken = sequence()
            case 0x03: taken = (.interrupt, 1)
            case 0x09: taken = (.tab, 1)
            case 0x0A, 0x0D: taken = (.enter, 1)
            case 0x08, 0x7F: taken = (.backspace, 1)
            case ..<0x20: taken = (nil, 1)
            default: taken = character()
            }
            // The rest arrives with the next read.
            guard let taken else { break }
            if let key = taken.key { keys.append(key) }
            pending.removeFirst(taken.length)
        }
        return keys
    }

    /// The key of an escape sequence; nil for a sequence that is not complete.
    private func sequence() -> (Key?, Int)? {
        guard pending.count > 1 else { return (.escape, 1) }
        // Application mode sends SS3 (ESC O) instead of CSI (ESC [).
        guard pending[1] == UInt8(ascii: "[") || pending[1] == UInt8(ascii: "O") else { return (.escape, 1) }
        guard let last = pending.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
            // A longer sequence without an end comes from no keyboard.
            return pending.count < 16 ? nil : (nil, pending.count)
        }
        return (Self.sequences[String(decoding: pending[2...last], as: UTF8.self)], last + 1)
    }

    private static let sequences: [String: Key] = [
        "A": .up, "B": .down, "H": .home, "F": .end, "1~": .home, "4~": .end, "7~": .home, "8~": .end,
        "5~": .pageUp, "6~": .pageDown,
    ]

    /// The next character; nil for one that is not complete.
    private func character() -> (Key?, Int)? {
        let first = pending[0]
        let length =
            switch first {
            case 0xF0..<0xF8: 4
            case 0xE0..<0xF0: 3
            case 0xC0..<0xE0: 2
            default: 1
            }
        guard pending.count >= length else { return nil }
        guard let text = String(validating: pending[..<length], as: UTF8.self), let character = text.first else {
            return (nil, 1)
        }
        return (.character(character), length)
    }
}

/// A request of the user to the screen that is shown.
enum Action: Equatable {
    /// Moves by a number of rows.
    case move(Int)
    /// Moves by a number of pages.
    case page(Int)
    case top, bottom
    case open, back, search, retry, quit
    /// Shows the next list.
    case nextList
    /// Adds a character to the text.
    case type(Character)
    /// Removes the last character of the text.
    case erase

    /// The action of a key; nil for a key without one.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - isTyping: Whether letters belong to a text.
    init?(_ key: Key, isTyping: Bool) {
        switch key {
        case .up: self = .move(-1)
        case .down: self = .move(1)
        case .pageUp: self = .page(-1)
        case .pageDown: self = .page(1)
        case .home: self = .top
        case .end: self = .bottom
        case .enter: self = .open
        case .escape: self = .back
        case .tab: self = .nextList
        case .interrupt: self = .quit
        case .backspace: self = isTyping ? .erase : .back
        case .character(let character) where isTyping: self = .type(character)
        case .character("k"): self = .move(-1)
        case .character("j"): self = .move(1)
        case .character(" "): self = .page(1)
        case .character("g"): self = .top
        case .character("G"): self = .bottom
        case .character("/"): self = .search
        case .character("r"): self = .retry
        case .character("q"): self = .quit
        case .character: return nil
        }
    }
}
