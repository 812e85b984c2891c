#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

extension StoredHead {
    /// The head as bytes for a store outside of this process; number, version and monotonic instants are not part of it.
    package var encoded: [UInt8] {
        var writer = OctetWriter(capacity: cost + 64)
        writer.writeNumber(Self.format)
        writer.writeNumber(UInt64(status.code))
        Self.write(headers, to: &writer)
        Self.write(trailers, to: &writer)
        for date in [times.requested.date, times.received.date] {
            writer.writeNumber(date.timeIntervalSinceReferenceDate.bitPattern)
        }
        writer.writeNumber(UInt64(selecting.count))
        for value in selecting {
            writer.write(value.name.utf8)
            switch value.form {
            case .absent: writer.writeNumber(0)
            case .value(let bytes):
                writer.writeNumber(1)
                writer.write(bytes)
            case .digest(let bytes):
                writer.writeNumber(2)
                writer.write(bytes)
            case .authorised: writer.writeNumber(3)
            }
        }
        Self.write(unseen, to: &writer)
        Self.write(tags.sorted(), to: &writer)
        switch extent {
        case .whole(let length):
            writer.writeNumber(0)
            writer.writeNumber(UInt64(length))
        case .parts(let spans, let total):
            writer.writeNumber(UInt64(spans.count) + 1)
            writer.writeNumber(UInt64(total))
            for span in spans {
                writer.writeNumber(UInt64(span.lowerBound))
                writer.writeNumber(UInt64(span.upperBound))
            }
        }
        writer.writeNumber((isDecoded ? 1 : 0) | (mustValidate ? 2 : 0) | (isRaw ? 4 : 0))
        return writer.octets
    }

    /// Reads a head; nil for bytes that are no head, and for fields that could not have been received.
    package init?(encoded octets: [UInt8]) {
        var reader = OctetReader(octets)
        guard reader.readNumber() == Self.format, let code = reader.readNumber(), (100...999).contains(code),
            let headers = Self.readHeaders(&reader), let trailers = Self.readHeaders(&reader),
            let requested = Self.readDate(&reader), let received = Self.readDate(&reader),
            let selecting = Self.readSelecting(&reader), let unseen = Self.readTexts(&reader),
            let tags = Self.readTexts(&reader), let extent = Self.readExtent(&reader),
            let flags = reader.readNumber(), flags < 8, reader.isAtEnd
        else { return nil }
        let times = ExchangeTimes(
            requested: Moment(date: requested, instant: nil),
            received: Moment(date: received, instant: nil)
        )
        self.init(status: Response.Status(Int(code)), headers: headers, times: times, extent: extent)
        self.trailers = trailers
        self.selecting = selecting
        self.unseen = unseen
        self.tags = Set(tags)
        isDecoded = flags & 1 == 1
        mustValidate = flags & 2 == 2
        isRaw = flags & 4 == 4
    }

    /// Counted up when the bytes change their meaning.
    private static let format: UInt64 = 2

    // MARK: - Parts

    private static func write(_ headers: Headers, to writer: inout OctetWriter) {
        writer.writeNumber(UInt64(headers.count))
        for field in headers {
            writer.write(field.name.utf8)
            writer.write(field.octets)
        }
    }

    private static func readHeaders(_ reader: inout OctetReader) -> Headers? {
        readList(&reader) { reader -> Headers.Field? in
            let name = reader.withPart { name -> String? in
                let isToken = !name.isEmpty && name.allSatisfy(\.isTokenCharacter)
                return isToken ? String(decoding: name, as: UTF8.self) : nil
            }
            guard let name else { return nil }
            return reader.withPart { octets -> Headers.Field? in
                guard octets.allSatisfy(\.isFieldContent) else { return nil }
                if let text = String(validating: octets, as: UTF8.self) {
                    return Headers.Field(uncheckedName: name, value: text)
                }
                let text = String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) }))
                return Headers.Field(uncheckedName: name, value: text, octets: Array(octets))
            }
        }.map { Headers(checked: $0) }
    }

    private static func readDate(_ reader: inout OctetReader) -> Date? {
        guard let bits = reader.readNumber() else { return nil }
        let seconds = Double(bitPattern: bits)
        return seconds.isFinite ? Date(timeIntervalSinceReferenceDate: seconds) : nil
    }

    private static func readSelecting(_ reader: inout OctetReader) -> [SelectingValue]? {
        readList(&reader) { reader -> SelectingValue? in
            guard let name = reader.read() ?? nil, name.isToken, let kind = reader.readNumber() else { return nil }
            let text = String(decoding: name, as: UTF8.self)
            if kind == 0 { return SelectingValue(name: text, form: .absent) }
            if kind == 3 { return SelectingValue(name: text, form: .authorised) }
            guard kind < 3, let bytes = reader.read() ?? nil else { return nil }
            return SelectingValue(name: text, form: kind == 1 ? .value(bytes) : .digest(bytes))
        }
    }

    private static func write(_ texts: [String], to writer: inout OctetWriter) {
        writer.writeNumber(UInt64(texts.count))
        for text in texts { writer.write(text.utf8) }
    }

    private static func readTexts(_ reader: inout OctetReader) -> [String]? {
        readList(&reader) { reader in (reader.read() ?? nil).flatMap { String(validating: $0, as: UTF8.self) } }
    }

    private static func readExtent(_ reader: inout OctetReader) -> Extent? {
        guard let kind = reader.readNumber(), let length = reader.readNumber(), length < 1 << 62 else { return nil }
        guard kind > 0 else { return .whole(Int64(length)) }
        guard kind < 1 << 20 else { return nil }
        var spans: [Range<Int64>] = []
        for _ in 1..<kind {
            guard let lower = reader.readNumber(), let upper = reader.readNumber(), lower < upper, upper <= length,
                UInt64(spans.last?.upperBound ?? 0) <= lower
            else { return nil }
            spans.append(Int64(lower)..<Int64(upper))
        }
        return .parts(spans, total: Int64(length))
    }

    /// Reads a count and as many members; the count is not trusted with memory.
    private static func readList<Member>(
        _ reader: inout OctetReader,
        _ member: (inout OctetReader) -> Member?
    ) -> [Member]? {
        guard let count = reader.readNumber(), count < 1 << 20 else { return nil }
        guard count > 0 else { return [] }
        var members: [Member] = []
        members.reserveCapacity(Int(min(count, 64)))
        for _ in 0..<count {
            guard let next = member(&reader) else { return nil }
            members.append(next)
        }
        return members
    }
}
