/// The fields of a header or trailer section: ordered, repeatable, case-insensitive by name, case-preserving.
///
/// Names must be tokens, and values must not contain CR, LF, NUL or other control characters except the tab (RFC 9110
/// §5.1, §5.5). A field that breaks this rule is never stored, so it cannot be sent. ``fault`` keeps what was wrong
/// with the first such field, and a request whose headers have a fault is refused before anything is sent. Leading and
/// trailing spaces and tabs are not part of a value and are removed.
public struct Headers: Sendable, Hashable {
    /// One field: a name and a value.
    public struct Field: Sendable, Hashable {
        /// The name in the case it was written in.
        public let name: String
        /// The value without surrounding white space.
        public let value: String
        // Set for a value that is a secret independently of its name.
        fileprivate var isMarkedSecret = false
        // The value as it is sent, if it is not UTF-8.
        fileprivate var sentOctets: [UInt8]?
        /// The octets of the value if they are not UTF-8, in which case ``value`` differs from what is sent.
        package var unusualOctets: [UInt8]? { sentOctets }

        /// The octets of the value, as they are sent; those of ``value`` unless they are not UTF-8.
        public var octets: [UInt8] { sentOctets ?? Array(value.utf8) }

        /// Whether name and value are the same octets.
        public static func == (lhs: Field, rhs: Field) -> Bool {
            lhs.name.isSpelled(like: rhs.name) && lhs.value.isSpelled(like: rhs.value)
                && lhs.isMarkedSecret == rhs.isMarkedSecret && lhs.sentOctets == rhs.sentOctets
        }

        /// Feeds name and value into a hasher.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            hasher.combine(value)
        }

        /// Makes a field from parts known to be valid.
        package init(uncheckedName name: String, value: String, octets: [UInt8]? = nil) {
            self.name = name
            self.value = value
            sentOctets = octets
        }

        /// Makes a field from octets known to be valid.
        init(uncheckedName name: String, octets: [UInt8]) {
            let text = String(validating: octets, as: UTF8.self)
            self.init(uncheckedName: name, value: text ?? FieldCursor.text(octets), octets: text == nil ? octets : nil)
        }

        /// Whether the values are the same octets.
        func hasValue(of other: Field) -> Bool {
            value.isSpelled(like: other.value) && sentOctets == other.sentOctets
        }
    }

    // One reference in every case, because headers are copied with each request and response.
    private enum Storage: Sendable {
        case fields([Field])
        case block(HeaderBlock)
        case refused(Refused)
    }

    /// A list from which a field was refused.
    private final class Refused: Sendable {
        let fields: [Field]
        let fault: Headers.FieldError

        init(_ fields: [Field], _ fault: Headers.FieldError) {
            self.fields = fields
            self.fault = fault
        }
    }

    private var storage: Storage

    /// The fault of the first refused field; nil when none was refused.
    public var fault: Headers.FieldError? {
        if case .refused(let refused) = storage { refused.fault } else { nil }
    }

    /// Makes an empty list.
    public init() {
        storage = .fields([])
    }

    /// Makes a list from name/value pairs, in order.
    public init(_ pairs: some Sequence<(String, String)>) {
        storage = .fields([])
        for (name, value) in pairs { add(name, value) }
    }

    /// Makes a list from a received section whose fields were validated already.
    package init(checked block: HeaderBlock) {
        storage = .block(block)
    }

    /// Makes a list from fields that were validated already, such as some of another list.
    package init(checked fields: [Field]) {
        storage = .fields(fields)
    }

    private var fields: [Field] {
        switch storage {
        case .fields(let fields): fields
        case .block(let block): (0..<block.count).map(block.field)
        case .refused(let refused): refused.fields
        }
    }

    private mutating func change(_ body: (inout [Field]) -> Void) {
        let fault = fault
        var fields = fields
        // The list must be uniquely referenced while it changes, or it would be copied.
        storage = .fields([])
        body(&fields)
        storage = fault.map { .refused(Refused(fields, $0)) } ?? .fields(fields)
    }

    /// Keeps the first fault.
    private mutating func refuse(_ fault: Headers.FieldError) {
        if self.fault == nil { storage = .refused(Refused(fields, fault)) }
    }

    // MARK: - Reading

    /// The value of the first field of that name, or nil; setting replaces every field of that name, nil removes them.
    public subscript(name: String) -> String? {
        get {
            switch storage {
            case .fields(let fields): fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value
            case .block(let block):
                block.mayContain(name)
                    ? (0..<block.count).first { block.isNamed(name, at: $0) }.map(block.value) : nil
            case .refused(let refused): refused.fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value
            }
        }
        set {
            guard let newValue else { return remove(name) }
            set(name, newValue)
        }
    }

    /// The values of every field of that name, in order.
    public func all(_ name: String) -> [String] {
        switch storage {
        case .fields(let fields): fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
        case .block(let block): block.positions(of: name).map(block.value)
        case .refused(let refused): refused.fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
        }
    }

    /// The values of every field of that name as the octets that were received, in order.
    package func octets(_ name: String) -> [[UInt8]] {
        switch storage {
        case .fields(let fields): fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.octets)
        case .block(let block): block.positions(of: name).map(block.octets)
        case .refused(let refused): refused.fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.octets)
        }
    }

    /// Passes each field of that name on, in order.
    func forEach(named name: String, _ body: (Field) -> Void) {
        switch storage {
        case .fields(let fields): for field in fields where field.name.equalsIgnoringASCIICase(name) { body(field) }
        case .block(let block):
            for index in 0..<block.count where block.isNamed(name, at: index) { body(block.field(at: index)) }
        case .refused(let refused):
            for field in refused.fields where field.name.equalsIgnoringASCIICase(name) { body(field) }
        }
    }

    /// The values of every field of that name joined by a comma and a space (RFC 9110 §5.2), or nil without any.
    ///
    /// `Set-Cookie` must not be joined (RFC 9110 §5.3); use ``all(_:)`` for it.
    public func joined(_ name: String) -> String? {
        let values = all(name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Whether a field of that name exists.
    public func contains(_ name: String) -> Bool {
        switch storage {
        case .fields(let fields): fields.contains { $0.name.equalsIgnoringASCIICase(name) }
        case .block(let block):
            block.mayContain(name) && (0..<block.count).contains { block.isNamed(name, at: $0) }
        case .refused(let refused): refused.fields.contains { $0.name.equalsIgnoringASCIICase(name) }
        }
    }

    /// Whether the name of some field begins with one of the given texts, which are in lower case.
    package func containsName(startingWithOneOf prefixes: [StaticString]) -> Bool {
        switch storage {
        case .fields(let fields): fields.contains { Self.begins($0.name.utf8, withOneOf: prefixes) }
        case .block(let block): block.containsName(startingWithOneOf: prefixes)
        case .refused(let refused): refused.fields.contains { Self.begins($0.name.utf8, withOneOf: prefixes) }
        }
    }

    private static func begins(_ name: String.UTF8View, withOneOf prefixes: [StaticString]) -> Bool {
        prefixes.contains { prefix in
            prefix.withUTF8Buffer { prefix in
                name.count >= prefix.count && zip(name, prefix).allSatisfy { $0.lowercasedASCII == $1 }
            }
        }
    }

    /// Calls a closure with the position and the bytes of each name, in order.
    ///
    /// One pass over a section finds what several searches by name would find.
    package func forEachName(_ body: (Int, UnsafeBufferPointer<UInt8>) -> Void) {
        if case .block(let block) = storage { return block.forEachName(body) }
        let fields = fields
        for position in fields.indices {
            var name = fields[position].name
            name.withUTF8 { body(position, $0) }
        }
    }

    /// The value of the field at a position, which must exist, as it was received.
    package func octets(at position: Int) -> [UInt8] {
        if case .block(let block) = storage { return block.octets(at: position) }
        return fields[position].octets
    }

    /// The same as a list, of which copies with another field cost least.
    package var listed: Headers {
        if case .block = storage { Headers(checked: fields) } else { self }
    }

    /// The list with a field that was validated already: in the place of another one, or at its end.
    package func placing(_ field: Field, at position: Int?) -> Headers {
        var placed: [Field] = []
        let fields = fields
        placed.reserveCapacity(fields.count + 1)
        placed += fields
        if let position { placed[position] = field } else { placed.append(field) }
        return Headers(checked: placed)
    }

    /// Whether both have the same fields byte by byte.
    ///
    /// `==` also accepts texts that Unicode calls equivalent.
    package func areSpelled(like other: Headers) -> Bool {
        count == other.count
            && zip(fields, other.fields).allSatisfy { mine, theirs in
                mine.name.isSpelled(like: theirs.name) && mine.value.isSpelled(like: theirs.value)
                    && mine.sentOctets == theirs.sentOctets
            }
    }

    // MARK: - Changing

    /// Appends a field.
    ///
    /// An invalid field is not stored and sets ``fault``.
    public mutating func add(_ name: String, _ value: String) {
        guard let field = checked(name, value) else { return }
        change { $0.append(field) }
    }

    /// Replaces every field of that name by one, in the position of the first, or appends it.
    public mutating func set(_ name: String, _ value: String) {
        guard let field = checked(name, value) else { return }
        change { fields in
            guard let first = fields.firstIndex(where: { $0.name.equalsIgnoringASCIICase(name) }) else {
                fields.append(field)
                return
            }
            fields[first] = field
            let rest = fields[(first + 1)...].filter { !$0.name.equalsIgnoringASCIICase(name) }
            fields.replaceSubrange((first + 1)..., with: rest)
        }
    }

    /// Replaces every field of that name by one whose value is a secret.
    ///
    /// The value is shown as `<redacted>` and does not follow a redirect to another origin, independently of the name.
    public mutating func set(_ name: String, secret: Secret) {
        // A fault contains only the name of the field, so it cannot show the secret either.
        guard var field = checked(name, secret.reveal()) else { return }
        field.isMarkedSecret = true
        remove(name)
        change { $0.append(field) }
    }

    /// Replaces every field of that name by one whose value is a secret, sent octet by octet.
    package mutating func set(_ name: String, secretOctets octets: [UInt8]) {
        if let text = String(validating: octets, as: UTF8.self) { return set(name, secret: Secret(text)) }
        let text = octets.reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar($1)) }
        guard var field = checked(name, text) else { return }
        field.isMarkedSecret = true
        field.sentOctets = octets
        remove(name)
        change { $0.append(field) }
    }

    /// Joins several `Cookie` fields into the only one that a request may have (RFC 6265 §5.4).
    package mutating func joinCookies() {
        guard contains("Cookie") else { return }
        let fields = octets("Cookie")
        guard fields.count > 1 else { return }
        set("Cookie", secretOctets: Array(fields.filter { !$0.isEmpty }.joined(separator: "; ".utf8)))
    }

    /// Removes every field that carries credentials, by its name or because it was set as a secret.
    package mutating func removeCredentials() {
        guard contains(where: \.carriesCredentials) else { return }
        change { $0.removeAll(where: \.carriesCredentials) }
    }

    /// Removes every field of that name.
    public mutating func remove(_ name: String) {
        guard contains(name) else { return }
        change { $0.removeAll { $0.name.equalsIgnoringASCIICase(name) } }
    }

    /// Appends every field of `other`, and its fault if this list has none.
    public mutating func add(contentsOf other: Headers) {
        if case .fields(let own) = storage, own.isEmpty {
            // Shares the list: nothing is copied.
            storage = other.storage
            return
        }
        change { $0.append(contentsOf: other.fields) }
        if let fault = other.fault { refuse(fault) }
    }

    private mutating func checked(_ name: String, _ value: String) -> Field? {
        if let offset = Self.nameFault(name) {
            let reason: Headers.FieldError.Reason = name.isEmpty ? .emptyName : .invalidName
            refuse(Headers.FieldError(field: name.escapedForDisplay(limit: 64), reason: reason, offset: offset))
            return nil
        }
        if let offset = Self.valueFault(value) {
            refuse(Headers.FieldError(field: name, reason: .invalidValue, offset: offset))
            return nil
        }
        return Field(uncheckedName: name, value: Self.trimmed(value))
    }

    private static func nameFault(_ name: String) -> Int? {
        guard !name.isEmpty else { return 0 }
        for (offset, byte) in name.utf8.enumerated() where !byte.isTokenCharacter {
            return offset
        }
        return nil
    }

    private static func valueFault(_ value: String) -> Int? {
        for (offset, byte) in value.utf8.enumerated() where !byte.isFieldContent {
            return offset
        }
        return nil
    }

    private static func trimmed(_ value: String) -> String {
        let utf8 = value.utf8
        guard let first = utf8.first, let last = utf8.last else { return value }
        guard first == 0x20 || first == 0x09 || last == 0x20 || last == 0x09 else { return value }
        let start = utf8.firstIndex { $0 != 0x20 && $0 != 0x09 } ?? utf8.endIndex
        let end = utf8.lastIndex { $0 != 0x20 && $0 != 0x09 }.map(utf8.index(after:)) ?? start
        return String(value[start..<end])
    }
}

extension Headers: RandomAccessCollection {
    /// The position of the first field.
    public var startIndex: Int { 0 }

    /// The position after the last field.
    public var endIndex: Int {
        switch storage {
        case .fields(let fields): fields.count
        case .block(let block): block.count
        case .refused(let refused): refused.fields.count
        }
    }

    /// The field at a position.
    public subscript(position: Int) -> Field {
        switch storage {
        case .fields(let fields): fields[position]
        case .block(let block): block.field(at: position)
        case .refused(let refused): refused.fields[position]
        }
    }
}

extension Headers {
    /// Whether both have the same fields in the same order, and the same fault.
    public static func == (lhs: Headers, rhs: Headers) -> Bool {
        lhs.fields == rhs.fields && lhs.fault == rhs.fault
    }

    /// Feeds the fields and the fault into a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fields)
        hasher.combine(fault)
    }
}

extension Headers: ExpressibleByDictionaryLiteral {
    /// Makes a list from a literal; names may repeat and keep their order.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements)
    }
}

extension Headers: CustomStringConvertible {
    /// One line per field; credentials are shown as `<redacted>`, addresses without their secrets.
    public var description: String {
        fields.map(\.description).joined(separator: "\n")
    }
}

extension Headers: CustomReflectable, CustomDebugStringConvertible {
    /// The same as ``description``.
    public var debugDescription: String { description }

    /// A mirror that shows no credentials.
    public var customMirror: Mirror { Mirror(self, children: ["fields": description]) }
}

extension Headers.Field {
    /// Whether the field's value is a credential: logs, errors and events do not show it, and it is sent to no other
    /// origin.
    ///
    /// True for a value that was set as a `Secret`, and for the names of common credentials: `Authorization`, `Cookie`,
    /// `X-Api-Key`. Names with an ending such as `-Token`, `-Key`, `-Secret`, `-Password` or `-Signature` are among
    /// them.
    public var carriesCredentials: Bool { isMarkedSecret || CredentialNames.contains(field: name) }

    /// The value as logs may show it: `<redacted>` for a credential; addresses in it lose user names and secret query
    /// items.
    public var redactedValue: String { Redaction.standard.value(of: self) }
}

extension Headers.Field: CustomStringConvertible, CustomReflectable {
    /// The field as a line, with ``redactedValue``.
    public var description: String { "\(name): \(redactedValue)" }

    /// A mirror that shows no credentials.
    public var customMirror: Mirror { Mirror(self, children: ["field": description]) }
}
