#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The heads of all responses to one call, as they were received.
///
/// Interim responses, responses of a proxy to CONNECT, redirects, challenges and failed attempts are among them.
///
/// A request carries its record to the transport, and redirected and repeated requests carry the same one. Transports
/// record nothing for a request without a record.
package final class HeadRecord: Sendable {
    /// The bounds of a record; the oldest heads are dropped beyond them.
    package struct Limits: Sendable {
        /// The number of heads.
        package var heads = 1_000
        /// The number of bytes in all heads.
        package var bytes = 4 << 20

        package init() {}
    }

    private struct State {
        var heads: [Data] = []
        /// The lines of a head whose end has not arrived.
        var unfinished = Data()
        var bytes = 0
        var dropped = 0
        /// The latest complete response to CONNECT.
        var tunnelHead: Data?
        var localEnd: LocalEnd?
    }

    /// The address and the port that a connection was made from.
    package struct LocalEnd: Sendable, Equatable {
        package var address: String
        package var port: Int

        package init(address: String, port: Int) {
            (self.address, self.port) = (address, port)
        }
    }

    private let keepsTunnels: Bool

    private let limits: Limits
    private let state = Locked(State())

    /// Makes an empty record.
    ///
    /// - Parameters:
    ///   - limits: The bounds.
    ///   - keepsTunnels: Whether the responses to CONNECT are among its heads.
    package init(limits: Limits = Limits(), keepsTunnels: Bool = true) {
        self.limits = limits
        self.keepsTunnels = keepsTunnels
    }

    /// The latest response to CONNECT; nil without a tunnel.
    package var tunnelHead: Data? { state.withLock(\.tunnelHead) }

    /// Where the latest connection was made from, as far as the transport knows.
    package var localEnd: LocalEnd? {
        get { state.withLock(\.localEnd) }
        set { state.withLock { $0.localEnd = newValue } }
    }

    /// Every complete head with its status line, fields and final empty line, the oldest first.
    package var heads: [Data] { state.withLock(\.heads) }

    /// The number of heads that were dropped because of the limits.
    package var dropped: Int { state.withLock(\.dropped) }

    /// Adds a line with its line end; an empty line ends the head.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - isOfTunnel: Whether it belongs to the response to CONNECT.
    package func append(_ line: UnsafeBufferPointer<UInt8>, isOfTunnel: Bool = false) {
        state.withLock { state in
            state.unfinished.append(line)
            let content = line.last == 0x0A ? line.dropLast() : line[...]
            guard content.isEmpty || content.elementsEqual(CollectionOfOne(0x0D)) else { return }
            if isOfTunnel { state.tunnelHead = state.unfinished }
            guard isOfTunnel, !keepsTunnels else { return take(&state) }
            state.unfinished = Data()
        }
    }

    /// Adds a head that a platform delivers as values; it has no reason phrase, because none was received.
    package func append(_ status: Response.Status, _ headers: Headers, _ version: Response.Version?) {
        state.withLock { state in
            state.unfinished = Self.head(status, headers, version)
            take(&state)
        }
    }

    /// Adds a head that no server sent, as of a stored response; `reason` is the phrase of its status line.
    package func append(_ status: Response.Status, _ headers: Headers, _ version: Response.Version?, reason: String) {
        state.withLock { state in
            state.unfinished = Self.head(status, headers, version, reason: reason)
            take(&state)
        }
    }

    /// The number of heads so far, the dropped ones included.
    package var position: Int { state.withLock { $0.dropped + $0.heads.count } }

    /// Discards the heads after a position, whose responses the caller does not get.
    package func discard(after position: Int) {
        state.withLock { state in
            let kept = max(0, position - state.dropped)
            guard kept < state.heads.count else { return }
            state.bytes -= state.heads[kept...].reduce(0) { $0 + $1.count }
            state.heads.removeSubrange(kept...)
        }
    }

    /// Adds a field to the last head.
    package func amendLast(_ name: String, _ value: String) {
        state.withLock { state in
            guard let last = state.heads.last else { return }
            // The empty line ends with LF or CR LF.
            let end = last.last == 0x0A ? last.dropLast() : last[...]
            let lines = end.last == 0x0D ? end.dropLast() : end
            let amended = lines + Data("\(name): \(value)\r\n\r\n".utf8)
            state.bytes += amended.count - last.count
            state.heads[state.heads.count - 1] = Data(amended)
        }
    }

    /// Discards the lines of a head that is not received to its end, because its exchange is sent again.
    package func discardUnfinished() {
        state.withLock { $0.unfinished = Data() }
    }

    private func take(_ state: inout State) {
        state.bytes += state.unfinished.count
        state.heads.append(state.unfinished)
        state.unfinished = Data()
        var first = 0
        // The newest head stays in any case; the transport limits its size.
        while first < state.heads.count - 1, state.heads.count - first > limits.heads || state.bytes > limits.bytes {
            state.bytes -= state.heads[first].count
            first += 1
        }
        state.heads.removeFirst(first)
        state.dropped += first
    }

    /// A head made of a status and fields, without a reason phrase unless one is given.
    package static func head(
        _ status: Response.Status,
        _ headers: Headers,
        _ version: Response.Version?,
        reason: String = ""
    ) -> Data {
        var head = Data("\(version?.rawValue ?? "HTTP") \(status.code) \(reason)\r\n".utf8)
        for field in headers {
            head.append(contentsOf: "\(field.name): ".utf8)
            if let octets = field.unusualOctets {
                head.append(contentsOf: octets)
            } else {
                head.append(contentsOf: field.value.utf8)
            }
            head.append(contentsOf: "\r\n".utf8)
        }
        head.append(contentsOf: "\r\n".utf8)
        return head
    }
}

private enum HeadRecordTag: Request.Tag {
    static let defaultValue: HeadRecord? = nil
}

extension Request {
    /// Where transports record the heads of the call; nil, the default, to record none.
    package var headRecord: HeadRecord? {
        get { self[HeadRecordTag.self] }
        set { self[HeadRecordTag.self] = newValue }
    }
}
