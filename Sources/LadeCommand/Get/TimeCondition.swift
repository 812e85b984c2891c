#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A condition on the date of the resource, as `--time-cond` writes it.
struct TimeCondition: Equatable, Sendable {
    var date: HTTPDate
    /// Whether the resource must be older instead of newer.
    var isReversed: Bool

    /// Parses a date or the name of a file, behind a dash for the reverse.
    ///
    /// - Throws: A usage error for a text that is neither.
    init(_ argument: String) throws(CommandError) {
        isReversed = argument.utf8.first == UInt8(ascii: "-")
        let text = isReversed ? String(decoding: argument.utf8.dropFirst(), as: UTF8.self) : argument
        if let date = Self.date(text) {
            self.date = HTTPDate(date)
            return
        }
        var status = stat()
        guard stat(text, &status) == 0 else {
            throw .usage(
                "--time-cond: “\(text.asArgument)” is neither a date nor a file",
                advice: "Write it as 'Sun, 06 Nov 1994 08:49:37 GMT' or 1994-11-06."
            )
        }
        #if canImport(Darwin)
            let seconds = status.st_mtimespec.tv_sec
        #else
            let seconds = status.st_mtim.tv_sec
        #endif
        date = HTTPDate(Date(timeIntervalSince1970: Double(seconds)))
    }

    /// The field that states the condition.
    var field: HeaderEdit { .set(isReversed ? "If-Unmodified-Since" : "If-Modified-Since", date.description) }

    /// Whether a response was to be withheld by the server; one that ignores the condition sends it.
    func withholds(_ response: Response, now: Date) -> Bool {
        guard response.status == 200, let text = response.headers["Last-Modified"],
            let modified = try? HTTPDate(text, now: now)
        else { return false }
        return isReversed ? modified > date : modified <= date
    }

    private static func date(_ text: String) -> Date? {
        // The reference matters to two-digit years alone.
        if let date = try? HTTPDate(text, now: Date()) { return date.date }
        let digits = Array(text.utf8)
        guard digits.count == 10 || digits.count == 8 else { return nil }
        let plain = digits.filter { $0 != UInt8(ascii: "-") }
        guard plain.count == 8, plain.allSatisfy({ (0x30...0x39).contains($0) }),
            digits.count == 8 || (digits[4] == 0x2D && digits[7] == 0x2D)
        else { return nil }
        let text = String(decoding: plain, as: UTF8.self)
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard let month = Int(text.dropFirst(4).prefix(2)), (1...12).contains(month) else { return nil }
        let written = "Mon, \(text.suffix(2)) \(months[month - 1]) \(text.prefix(4)) 00:00:00 GMT"
        return (try? HTTPDate(written, now: Date()))?.date
    }
}
