/// A script that the store carries out atomically, by its own clock.
///
/// Instants are whole microseconds of the store's `TIME`. All versions with `lade:1:` in their keys have the same fields.
/// A limit has `tat iv iw it seen top name`, a quota `left early limit rest last got seen w name`, the marker `born seen least gs`, a
/// member its score, and a delay `end seq key`. Among the delays, `q` and `x` before the digest of a quota say that it has been
/// read, and that it is used up.
package enum StoreScript: String, CaseIterable, Sendable {
    case ask
    case giveBack
    case gate
    case quota
    case beat
    case leave
    case credentials
    case board

    /// The text of the script.
    package var text: String {
        switch self {
        case .ask: Self.clock + Self.census + Self.askText
        case .giveBack: Self.clock + Self.giveBackText
        case .gate: Self.clock + Self.notice + Self.gateText
        case .quota: Self.clock + Self.notice + Self.quotaText
        case .beat: Self.clock + Self.census + Self.beatText
        case .leave: Self.leaveText
        case .credentials: Self.clock + Self.credentialsText
        case .board: Self.clock + Self.boardText
        }
    }

    /// The clock, and a text of a whole number: Lua's own would keep 14 digits.
    private static let clock = """
        local t = redis.call('TIME')
        local now = t[1] * 1000000 + t[2]
        local function s(x) return string.format('%.0f', x) end
        local function fields(key, ...)
          local f = redis.pcall('HMGET', key, ...)
          if f.err then redis.call('DEL', key) return {} end
          return f
        end

        """
}
