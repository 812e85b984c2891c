public import LadeCore

extension Request {
    /// Declares that processing the request twice must have the effect of processing it once.
    ///
    /// The server must know the field; the IETF draft calls it `Idempotency-Key`.
    public enum IdempotencyKey: Sendable, Hashable {
        /// A key made by the library, new for each call and the same on each of its attempts.
        case generated
        /// A key of the app, sent as written.
        case value(String)
    }
}

private enum IdempotencyTag: Request.Tag {
    static let defaultValue: Request.IdempotencyKey? = nil
}

private enum AttemptsTag: Request.Tag {
    static let defaultValue = 1
}

private enum RetryRefusalTag: Request.Tag {
    static let defaultValue: String? = nil
}

extension Request {
    /// The key that lets a server recognise a request that is sent again; nil, the default, for none.
    ///
    /// With a key any method is retried after a failure. A header field of that name has the same effect.
    public var idempotencyKey: Request.IdempotencyKey? {
        get { self[IdempotencyTag.self] }
        set { self[IdempotencyTag.self] = newValue }
    }
}

extension Response {
    /// The number of attempts that it took to get this response.
    public internal(set) var attempts: Int {
        get { request[AttemptsTag.self] }
        set { request[AttemptsTag.self] = newValue }
    }

    /// Why the request was not sent again although the settings allow it; the error of a refused status states it.
    package internal(set) var retryRefusal: String? {
        get { request[RetryRefusalTag.self] }
        set { request[RetryRefusalTag.self] = newValue }
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

    /// A key in quotes, as the field's grammar requires (a structured string, RFC 9651 §3.3.3).
    ///
    /// Made from the number of the call, so that every hop of a redirected call has the same key. A call without a
    /// number gets a new one each time.
    func key(for call: Call) -> String {
        var (first, second) = (high, low)
        if call.id.number == 0 {
            (first, second) = (call.random.next(), call.random.next())
        } else {
            second ^= call.id.number
        }
        return Self.text(first, second)
    }

    fileprivate static func text(_ first: UInt64, _ second: UInt64) -> String {
        "\"\(hexadecimal(first) + hexadecimal(second))\""
    }

    private static func hexadecimal(_ value: UInt64) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}

extension Request.IdempotencyKey {
    /// A new key in quotes, for calls that share one.
    package static func make(_ random: some RandomSource) -> String {
        IdempotencyKeys.text(random.next(), random.next())
    }
}
