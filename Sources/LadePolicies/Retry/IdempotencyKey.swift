public import LadeCore

/// How a request says that carrying it out twice is to have the effect of carrying it out once.
///
/// The server must know the field; the draft of the IETF calls it `Idempotency-Key`. Source: policies PL-16.
public enum IdempotencyKey: Sendable, Hashable {
    /// A key of the library's, new for each call and the same on each of its attempts.
    case generated
    /// A key of the app's, sent as it is written here.
    case value(String)
}

private enum IdempotencyTag: RequestTag {
    static let defaultValue: IdempotencyKey? = nil
}

private enum AttemptsTag: RequestTag {
    static let defaultValue = 1
}

extension Request {
    /// The key that lets a server recognise a repetition; nil, the default, for none.
    ///
    /// With a key any method is repeated after a failure. A field of that name among the headers does the same.
    public var idempotencyKey: IdempotencyKey? {
        get { self[IdempotencyTag.self] }
        set { self[IdempotencyTag.self] = newValue }
    }
}

extension Response {
    /// How many attempts it took to get this answer.
    public internal(set) var attempts: Int {
        get { request[AttemptsTag.self] }
        set { request[AttemptsTag.self] = newValue }
    }
}

/// Makes the idempotency keys of one service.
struct IdempotencyKeys: Sendable {
    private let high: UInt64
    private let low: UInt64

    init(_ random: some RandomSource) {
        high = random.next()
        low = random.next()
    }

    /// A key in the quotes that the field's grammar wants (a structured string, RFC 9651 §3.3.3).
    ///
    /// Made from the number of the call, so that every hop of a redirected call has the same; a call without a number of
    /// its own gets a new one each time.
    func key(for call: Call) -> String {
        var (first, second) = (high, low)
        if call.id.number == 0 {
            (first, second) = (call.random.next(), call.random.next())
        } else {
            second ^= call.id.number
        }
        let digits = Self.hexadecimal(first) + Self.hexadecimal(second)
        return "\"\(digits)\""
    }

    private static func hexadecimal(_ value: UInt64) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
