#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The serialising algorithms of RFC 9651 §4.1.
struct StructuredFieldSerialiser {
    private(set) var text = ""

    /// §4.1.1.
    mutating func write(_ list: StructuredField.List) throws(Headers.FieldError) {
        for (index, member) in list.members.enumerated() {
            if index > 0 { text += ", " }
            try write(member)
        }
    }

    /// §4.1.2: a member that is true is written as only its key and parameters.
    mutating func write(_ dictionary: StructuredField.Dictionary) throws(Headers.FieldError) {
        for (index, entry) in dictionary.entries.enumerated() {
            if index > 0 { text += ", " }
            try writeKey(entry.key)
            if case .item(let item) = entry.value, item.value == .boolean(true) {
                try write(item.parameters)
            } else {
                text += "="
                try write(entry.value)
            }
        }
    }

    /// §4.1.3.
    mutating func write(_ item: StructuredField.Item) throws(Headers.FieldError) {
        try write(item.value)
        try write(item.parameters)
    }

    private mutating func write(_ member: StructuredField.Member) throws(Headers.FieldError) {
        switch member {
        case .item(let item): try write(item)
        case .innerList(let list): try write(list)
        }
    }

    /// §4.1.1.1.
    private mutating func write(_ list: StructuredField.InnerList) throws(Headers.FieldError) {
        text += "("
        for (index, item) in list.items.enumerated() {
            if index > 0 { text += " " }
            try write(item)
        }
        text += ")"
        try write(list.parameters)
    }

    /// §4.1.1.2.
    private mutating func write(_ parameters: StructuredField.Parameters) throws(Headers.FieldError) {
        for entry in parameters.entries {
            text += ";"
            try writeKey(entry.key)
            if entry.value != .boolean(true) {
                text += "="
                try write(entry.value)
            }
        }
    }

    /// §4.1.1.3.
    private mutating func writeKey(_ key: String) throws(Headers.FieldError) {
        guard let first = key.utf8.first, first.isLowercaseLetter || first == UInt8(ascii: "*"),
            key.utf8.allSatisfy(\.isStructuredKeyByte)
        else { throw Self.notWritable("the key") }
        text += key
    }

    /// §4.1.3.1.
    private mutating func write(_ value: StructuredField.BareItem) throws(Headers.FieldError) {
        switch value {
        case .integer(let integer):
            guard integer.magnitude < 1_000_000_000_000_000 else { throw Self.notWritable("the integer") }
            text += String(integer)
        case .decimal(let decimal):
            text += decimal.description
        case .string(let string):
            guard string.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw Self.notWritable("the string") }
            text += string.quoted
        case .token(let token):
            guard let first = token.utf8.first, first.isLetter || first == UInt8(ascii: "*"),
                token.utf8.allSatisfy(\.isStructuredTokenByte)
            else { throw Self.notWritable("the token") }
            text += token
        case .byteSequence(let bytes):
            text += ":\(Data(bytes).base64EncodedString()):"
        case .boolean(let boolean):
            text += boolean ? "?1" : "?0"
        case .date(let date):
            // A time between two seconds is written as the earlier one.
            let seconds = date.timeIntervalSince1970.rounded(.down)
            guard seconds.magnitude < 1e15 else { throw Self.notWritable("the date") }
            text += "@\(Int64(seconds))"
        case .displayString(let string):
            write(displayString: string)
        }
    }

    /// §4.1.11.
    private mutating func write(displayString string: String) {
        let encoded = Array(string.utf8).percentEncoded(isLowercase: true) { byte in
            (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "%") && byte != UInt8(ascii: "\"")
        }
        text += "%\"" + String(decoding: encoded, as: UTF8.self) + "\""
    }

    private static func notWritable(_ what: String) -> Headers.FieldError {
        Headers.FieldError(field: "structured field", reason: .notWritable(what), offset: 0)
    }
}
