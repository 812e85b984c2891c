#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeJSON

extension HAREntry {
    /// Reads an entry.
    ///
    /// - Parameters:
    ///   - json: The entry, as a recording of any program has it.
    ///   - number: The number of the entry, from 1, which a fault names.
    ///   - isLenient: Whether a member that is missing or wrong is replaced by a neutral value where one exists. An entry
    ///     without method or address is refused all the same.
    /// - Throws: The fault with entry and member.
    public init(_ json: JSONValue, number: Int = 1, isLenient: Bool = false) throws(HARFault) {
        let reader = HARMembers(json, entry: number, path: "", isLenient: isLenient)
        try reader.checkIsObject()
        let request = try reader.member("request")
        let method = try request.text("method", needed: true)
        guard let known = try? LadeCore.Request.Method(method) else {
            throw HARFault(entry: number, member: "request.method", reason: "“\(method.prefix(40))” is no method")
        }
        let url = try request.text("url", needed: true)
        guard let parsed = URL(string: url), parsed.scheme != nil else {
            throw HARFault(entry: number, member: "request.url", reason: "it is no absolute address")
        }
        let scheme = parsed.scheme?.asciiLowercased ?? ""
        if scheme == "http" || scheme == "https" || scheme == "ws" || scheme == "wss",
            parsed.host(percentEncoded: true)?.isEmpty ?? true
        {
            throw HARFault(entry: number, member: "request.url", reason: "it has no host")
        }
        var sent = Request(method: known.rawValue, url: url)
        sent.version = try request.text("httpVersion")
        sent.headers = try request.fields("headers")
        sent.headBytes = try request.size("headersSize")
        sent.bodyBytes = try request.size("bodySize")
        if request.value["postData"] != nil, request.value["postData"] != .null {
            sent.content = try request.member("postData").content(encoding: "_encoding", size: "_size")
        }
        let response = try reader.member("response")
        let content = try response.member("content")
        let received = try Response(response, content)
        let start = try reader.text("startedDateTime")
        let date = HARDate.date(start)
        if date == nil, !isLenient {
            throw HARFault(entry: number, member: "startedDateTime", reason: "“\(start.prefix(40))” is no date")
        }
        self.init(started: date ?? Date(timeIntervalSince1970: 0), request: sent, response: received)
        time = try reader.duration("time", needed: true) ?? .zero
        timings = try reader.member("timings").timings()
        serverAddress = reader.value["serverIPAddress"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        connection = reader.value["connection"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        facts = try Facts(reader, host: parsed.host(percentEncoded: true) ?? "")
        if reader.value["_lade"] == nil {
            let known = received.content.bytes?.count ?? 0
            let mark = HAREntry.Response.markOfPart(known, of: received.content.size)
            understandOtherProgram(
                size: try content.size("size"),
                compression: content.value["compression"]?.integer,
                isMarked: content.value["comment"]?.string == mark
            )
        }
    }
}

extension HAREntry.Response {
    fileprivate init(_ response: HARMembers, _ content: HARMembers) throws(HARFault) {
        let status = Int(clamping: try response.integer("status"))
        guard status == 0 || (100...999).contains(status) || status == -1 && response.isLenient else {
            throw response.fault("status", "\(status) is no status")
        }
        self.init(status: max(0, status))
        reason = try response.text("statusText")
        version = try response.text("httpVersion")
        headers = try response.fields("headers")
        headBytes = try response.size("headersSize")
        bodyBytes = try response.size("bodySize")
        self.content = try content.content(encoding: "encoding", size: "size", needsType: status > 0)
    }
}

extension HAREntry.Facts {
    fileprivate init(_ entry: HARMembers, host: String) throws(HARFault) {
        if let json = entry.value["_lade"], json.object != nil {
            let reader = HARMembers(json, entry: entry.entry, path: "_lade.", isLenient: entry.isLenient)
            call = json["call"]?.integer.map { Int(clamping: $0) }
            attempt = json["attempt"]?.integer.map { Int(clamping: $0) }
            hedge = json["hedge"]?.integer.map { Int(clamping: $0) }
            for wait in json["waits"]?.array ?? [] {
                let member = HARMembers(wait, entry: entry.entry, path: "_lade.waits.", isLenient: entry.isLenient)
                waits.append(HAREntry.Wait(try member.text("for"), try member.duration("time") ?? .zero))
            }
            rule = json["rule"]?.string
            delay = try reader.duration("delay")
            limit = try reader.duration("limit")
            cache = json["cache"]?.string
            isReused = json["reused"]?.bool
            isRedacted = json["redacted"]?.bool ?? false
            if let error = json["error"], error.object != nil {
                let sentence = error["sentence"]?.string ?? ""
                fault = HAREntry.Fault(
                    kind: error["kind"]?.string ?? "transport",
                    detail: error["detail"]?.string ?? "",
                    sentence: sentence
                )
            }
        } else {
            // The members of browsers and of the programs that drive them.
            for name in ["_error", "_failureText"] {
                guard let error = entry.value["response"]?[name]?.string, !error.isEmpty else { continue }
                fault = HAREntry.Fault(ofOtherProgram: error, host: host)
            }
        }
    }
}

/// The members of an object of a recording, read with the path that a fault names.
struct HARMembers {
    let value: JSONValue
    let entry: Int
    /// The path of the object, which ends with a dot unless it is empty.
    let path: String
    let isLenient: Bool

    init(_ value: JSONValue, entry: Int, path: String, isLenient: Bool) {
        (self.value, self.entry, self.path, self.isLenient) = (value, entry, path, isLenient)
    }

    func fault(_ name: String, _ reason: String) -> HARFault {
        HARFault(entry: entry, member: path + name, reason: reason)
    }

    func checkIsObject() throws(HARFault) {
        guard value.object == nil else { return }
        let member = path.isEmpty ? "" : String(Substring(path.utf8.dropLast()))
        throw HARFault(entry: entry, member: member, reason: "it is \(value.kind) and no object")
    }

    /// An object; an empty one when it is missing and the reader is lenient.
    func member(_ name: String) throws(HARFault) -> HARMembers {
        guard let member = value[name] else {
            guard isLenient else { throw fault(name, "it is missing") }
            return HARMembers(.object([:]), entry: entry, path: path + name + ".", isLenient: true)
        }
        let members = HARMembers(member, entry: entry, path: path + name + ".", isLenient: isLenient)
        try members.checkIsObject()
        return members
    }

    func text(_ name: String, needed: Bool = false) throws(HARFault) -> String {
        switch value[name] {
        case .string(let text): return text
        case nil where isLenient && !needed: return ""
        case nil: throw fault(name, "it is missing")
        case let other?:
            if isLenient, !needed { return "" }
            throw fault(name, "it is \(other.kind) and no text")
        }
    }

    func integer(_ name: String) throws(HARFault) -> Int64 {
        guard let member = value[name] else {
            guard isLenient else { throw fault(name, "it is missing") }
            return 0
        }
        if let number = member.integer { return number }
        guard isLenient else { throw fault(name, "it is no whole number") }
        return 0
    }

    /// A size in bytes; nil for −1, which stands for an unknown one.
    func size(_ name: String) throws(HARFault) -> Int64? {
        guard let member = value[name], member != .null else { return nil }
        guard let size = member.integer, size >= -1 else {
            if isLenient { return nil }
            throw fault(name, "it is no size in bytes")
        }
        return size < 0 ? nil : size
    }

    /// A number of milliseconds; nil for −1, which stands for a phase that did not happen.
    func duration(_ name: String, needed: Bool = false) throws(HARFault) -> Duration? {
        guard let member = value[name], member != .null else {
            if needed, !isLenient { throw fault(name, "it is missing") }
            return nil
        }
        // Longer than 30 years is no time of an exchange.
        guard let milliseconds = member.number, milliseconds == -1 || (0...1e12).contains(milliseconds) else {
            if isLenient { return nil }
            throw fault(name, "it is no time in milliseconds")
        }
        return milliseconds < 0 ? nil : .nanoseconds(Int64((milliseconds * 1_000).rounded()) * 1_000)
    }

    func fields(_ name: String) throws(HARFault) -> [HAREntry.Field] {
        guard let list = value[name]?.array else {
            if isLenient { return [] }
            throw fault(name, value[name] == nil ? "it is missing" : "it is no list")
        }
        var fields: [HAREntry.Field] = []
        for (index, item) in list.enumerated() {
            guard let name = item["name"]?.string, let value = item["value"]?.string else {
                if isLenient { continue }
                throw fault("\(name)[\(index)]", "it has no name and value")
            }
            fields.append(HAREntry.Field(name, value))
        }
        return fields
    }

    func content(
        encoding: String,
        size: String,
        needsType: Bool = true
    ) throws(HARFault) -> HAREntry.Content {
        let type = value["mimeType"]?.string ?? ""
        // Where no response arrived, other programs write no members.
        if value["mimeType"]?.string == nil, !isLenient, needsType { throw fault("mimeType", "it is missing") }
        var content = HAREntry.Content(nil, type: type == "x-unknown" ? "" : type)
        if let text = value["text"]?.string {
            switch value[encoding]?.string?.asciiLowercased {
            case "base64":
                content.bytes = Data(base64Encoded: text, options: .ignoreUnknownCharacters)
                let letters = text.utf8.count { $0 > 0x20 }
                if content.bytes == nil || !isLenient && letters % 4 != 0 || !isLenient && !Self.isBase64(text) {
                    guard isLenient else { throw fault("text", "it is no base64") }
                    content.bytes = nil
                }
            case nil, "", "utf-8", "utf8": content.bytes = Data(text.utf8)
            default:
                guard isLenient else { throw fault(encoding, "the encoding is not known") }
            }
        } else if value["text"] != nil, value["text"] != .null, !isLenient {
            throw fault("text", "it is no text")
        } else if let parameters = value["params"]?.array, !parameters.isEmpty {
            let pairs = parameters.compactMap { item in item["name"]?.string.map { ($0, item["value"]?.string ?? "") } }
            let form = pairs.map { name, value in
                Array(name.utf8).percentEncoded(where: \.isUnreserved) + [0x3D]
                    + Array(value.utf8).percentEncoded(where: \.isUnreserved)
            }
            content.bytes = Data(form.joined(separator: [0x26]))
        }
        let known = Int64(content.bytes?.count ?? 0)
        content.size = max(try self.size(size) ?? known, known)
        return content
    }

    private static func isBase64(_ text: String) -> Bool {
        text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="),
                0...0x20:
                true
            default: false
            }
        }
    }

    func timings() throws(HARFault) -> HAREntry.Timings {
        var timings = HAREntry.Timings()
        timings.blocked = try duration("blocked")
        timings.nameLookup = try duration("dns")
        timings.connect = try duration("connect")
        timings.secureConnect = try duration("ssl")
        timings.send = try duration("send", needed: true) ?? .zero
        timings.wait = try duration("wait", needed: true) ?? .zero
        timings.receive = try duration("receive", needed: true) ?? .zero
        return timings
    }
}
