#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeJSON

/// JSON text that grows byte by byte, for entries that are written once.
struct HARText {
    private(set) var bytes: [UInt8]
    private var needsComma = false

    /// Begins a text behind some bytes.
    init(after bytes: [UInt8] = []) {
        self.bytes = bytes
        // An entry without bodies has about this length.
        self.bytes.reserveCapacity(2 << 10)
    }

    /// An object whose members `body` writes.
    mutating func object(_ body: (inout HARText) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// An array whose elements `body` writes.
    mutating func array(_ body: (inout HARText) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// The name of a member, whose value follows.
    mutating func name(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func member(_ name: StaticString, _ text: String) {
        self.name(name)
        string(text)
    }

    mutating func member(_ name: StaticString, _ number: Int64) {
        self.name(name)
        bytes.append(decimal: number)
        needsComma = true
    }

    mutating func member(_ name: StaticString, _ flag: Bool) {
        self.name(name)
        raw(flag ? "true" : "false")
    }

    mutating func member(_ name: StaticString, milliseconds duration: Duration?) {
        self.name(name)
        guard let duration else { return raw("-1") }
        bytes.append(milliseconds: duration)
        needsComma = true
    }

    mutating func member(_ name: StaticString, _ date: Date) {
        self.name(name)
        bytes.append(UInt8(ascii: "\""))
        HARDate.append(date, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// A text that is JSON already.
    mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    /// A string, in which characters that control a terminal are escaped.
    mutating func string(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { escape($0) }
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = false
    }

    private mutating func escape(_ text: UnsafeBufferPointer<UInt8>) {
        var copied = 0
        var position = 0
        while position < text.count {
            let byte = text[position]
            if byte >= 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C {
                position += 1
                continue
            }
            // Only these first bytes begin a character that controls the display.
            if byte > 0x7F && byte != 0xC2 && byte != 0xD8 && byte != 0xE2 {
                position += 1
                continue
            }
            let length = byte < 0x80 ? 1 : byte == 0xE2 ? 3 : 2
            let end = min(position + length, text.count)
            let scalar = String(decoding: text[position..<end], as: UTF8.self).unicodeScalars.first ?? "\u{FFFD}"
            if byte < 0x80 || scalar.rewritesDisplay {
                bytes.append(contentsOf: text[copied..<position])
                switch byte {
                case 0x22, 0x5C: bytes += [0x5C, byte]
                case 0x0A: bytes += [0x5C, UInt8(ascii: "n")]
                case 0x0D: bytes += [0x5C, UInt8(ascii: "r")]
                case 0x09: bytes += [0x5C, UInt8(ascii: "t")]
                default: bytes += JSONQuoting.escaped(scalar).utf8
                }
                copied = end
            }
            position = end
        }
        bytes.append(contentsOf: text[copied...])
    }
}

extension HAREntry {
    /// The entry as JSON on one line.
    public var json: Data {
        var text = HARText()
        text.object { write(to: &$0) }
        return Data(text.bytes)
    }

    func write(to text: inout HARText) {
        text.member("startedDateTime", started)
        text.member("time", milliseconds: time)
        text.name("request")
        text.object { request.write(to: &$0) }
        text.name("response")
        text.object { response.write(to: &$0, fault: facts.fault) }
        text.name("cache")
        text.object { _ in }
        text.name("timings")
        text.object { timings.write(to: &$0) }
        if let serverAddress { text.member("serverIPAddress", serverAddress) }
        if let connection { text.member("connection", connection) }
        guard facts != Facts() else { return }
        // Programs that know the members of browsers expect this one beside any other member of an own name.
        text.member("_resourceType", "fetch")
        text.name("_lade")
        text.object { facts.write(to: &$0) }
    }

    fileprivate static func write(_ fields: [Field], to text: inout HARText) {
        text.array { text in
            for field in fields {
                text.object {
                    $0.member("name", field.name)
                    $0.member("value", field.value)
                }
            }
        }
    }
}

extension HAREntry.Request {
    fileprivate func write(to text: inout HARText) {
        text.member("method", method)
        text.member("url", url)
        text.member("httpVersion", version.isEmpty ? "unknown" : version)
        text.name("cookies")
        HAREntry.write(HAREntry.cookies(headers, "Cookie"), to: &text)
        text.name("headers")
        HAREntry.write(headers, to: &text)
        text.name("queryString")
        HAREntry.write(HAREntry.query(url), to: &text)
        text.member("headersSize", headBytes ?? -1)
        text.member("bodySize", bodyBytes ?? -1)
        guard let content else { return }
        text.name("postData")
        text.object { text in
            text.member("mimeType", content.type)
            if let bytes = content.bytes {
                if let readable = String(validating: bytes, as: UTF8.self) {
                    text.member("text", readable)
                } else {
                    // The format has no place for a body that is no text.
                    text.member("text", bytes.base64EncodedString())
                    text.member("_encoding", "base64")
                }
            } else {
                text.member("text", "")
            }
            if content.isTruncated { text.member("_size", content.size) }
        }
    }
}

extension HAREntry.Response {
    fileprivate func write(to text: inout HARText, fault: HAREntry.Fault?) {
        text.member("status", Int64(status))
        text.member("statusText", reason)
        text.member("httpVersion", version.isEmpty ? "unknown" : version)
        text.name("cookies")
        HAREntry.write(HAREntry.cookies(headers, "Set-Cookie"), to: &text)
        text.name("headers")
        HAREntry.write(headers, to: &text)
        text.name("content")
        text.object { text in
            text.member("size", content.size)
            text.member("mimeType", content.type.isEmpty ? "x-unknown" : content.type)
            if let bodyBytes, content.size > bodyBytes, bodyBytes > 0 {
                text.member("compression", content.size - bodyBytes)
            }
            if let bytes = content.bytes {
                if let readable = String(validating: bytes, as: UTF8.self) {
                    text.member("text", readable)
                } else {
                    text.member("text", bytes.base64EncodedString())
                    text.member("encoding", "base64")
                }
                if content.isTruncated {
                    text.member("comment", Self.markOfPart(bytes.count, of: content.size))
                }
            }
        }
        text.member("redirectURL", (300..<400).contains(status) ? location : "")
        text.member("headersSize", headBytes ?? -1)
        text.member("bodySize", bodyBytes ?? -1)
        if let fault { text.member("_error", fault.sentence) }
    }

    /// The comment of a content that the recording has in part.
    static func markOfPart(_ count: Int, of size: Int64) -> String { "the first \(count) of \(size) bytes" }

    private var location: String { headers.first { $0.name.equalsIgnoringASCIICase("Location") }?.value ?? "" }
}

extension HAREntry.Timings {
    fileprivate func write(to text: inout HARText) {
        text.member("blocked", milliseconds: blocked)
        text.member("dns", milliseconds: nameLookup)
        text.member("connect", milliseconds: connect)
        text.member("ssl", milliseconds: secureConnect)
        text.member("send", milliseconds: send)
        text.member("wait", milliseconds: wait)
        text.member("receive", milliseconds: receive)
    }
}

extension HAREntry.Facts {
    fileprivate func write(to text: inout HARText) {
        if let call { text.member("call", Int64(call)) }
        if let attempt { text.member("attempt", Int64(attempt)) }
        if let hedge { text.member("hedge", Int64(hedge)) }
        if !waits.isEmpty {
            text.name("waits")
            text.array { text in
                for wait in waits {
                    text.object {
                        $0.member("for", wait.reason)
                        $0.member("time", milliseconds: wait.duration)
                    }
                }
            }
        }
        if let rule { text.member("rule", rule) }
        if let delay { text.member("delay", milliseconds: delay) }
        if let limit { text.member("limit", milliseconds: limit) }
        if let cache { text.member("cache", cache) }
        if let isReused { text.member("reused", isReused) }
        if let fault {
            text.name("error")
            text.object {
                $0.member("kind", fault.kind)
                if !fault.detail.isEmpty { $0.member("detail", fault.detail) }
                $0.member("sentence", fault.sentence)
            }
        }
        if isRedacted { text.member("redacted", true) }
    }
}

extension HAREntry {
    /// The cookies of a header section, with their names and values alone.
    static func cookies(_ headers: [Field], _ name: String) -> [Field] {
        let isSet = name == "Set-Cookie"
        var found: [Field] = []
        for field in headers where field.name.equalsIgnoringASCIICase(name) {
            let pairs = field.value.utf8.split(separator: UInt8(ascii: ";"))
            for pair in isSet ? pairs.prefix(1) : pairs[...] {
                let text = pair.drop { $0 == 0x20 }
                guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { continue }
                found.append(
                    Field(
                        String(decoding: text[..<equals], as: UTF8.self),
                        String(decoding: text[equals...].dropFirst(), as: UTF8.self)
                    )
                )
            }
        }
        return found
    }

    /// The items of the query of an address, percent-decoded.
    static func query(_ url: String) -> [Field] {
        let bytes = url.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        return bytes[mark...].dropFirst().split(separator: UInt8(ascii: "&")).map { item in
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            func decoded(_ part: Substring.UTF8View) -> String {
                String(decoding: String(decoding: part, as: UTF8.self).percentDecodedBytes, as: UTF8.self)
            }
            return Field(decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
        }
    }
}
