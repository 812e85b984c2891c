public import LadeCore

/// Structured field values (RFC 9651): items, lists and dictionaries of typed values with parameters.
///
/// Parsing is strict, as the RFC demands (§4.2): one error invalidates the whole field. Parsed values can always be
/// serialised. Values made in code can contain what the format cannot represent; serialising those throws.
///
/// ```swift
/// let limits = try StructuredField.Dictionary(parsing: [#""burst";q=100;w=60"#])
/// let priority: StructuredField.Dictionary = ["u": .item(.init(.integer(1))), "i": .item(.init(.boolean(true)))]
/// let text = try priority.serialised()  // u=1, i
/// ```
public enum StructuredField {
    /// How much a field may contain before it is refused; the transport limits the length of the field itself.
    ///
    /// The defaults are what each parser has to support (RFC 9651 §3.1, §3.1.1, §3.1.2, §3.2).
    public struct Limits: Sendable, Hashable {
        /// Members of a list or dictionary; 1,024 by default.
        public var members = 1_024
        /// Items of one inner list; 256 by default.
        public var innerListItems = 256
        /// Parameters of one item or inner list; 256 by default.
        public var parameters = 256

        /// Makes the default limits.
        public init() {}
    }

    /// Parameters by name, in order (§3.1.2).
    public typealias Parameters = KeyedValues<BareItem>

    /// A single value with parameters (§3.3).
    public struct Item: Sendable, Hashable {
        /// The value.
        public var value: BareItem
        /// The parameters of the item.
        public var parameters: Parameters

        /// Makes an item.
        public init(_ value: BareItem, parameters: Parameters = [:]) {
            self.value = value
            self.parameters = parameters
        }
    }

    /// A list within a list or dictionary (§3.1.1).
    public struct InnerList: Sendable, Hashable {
        /// The items in order.
        public var items: [Item]
        /// The parameters of the list.
        public var parameters: Parameters

        /// Makes an inner list.
        public init(_ items: [Item], parameters: Parameters = [:]) {
            self.items = items
            self.parameters = parameters
        }
    }

    /// A member of a list or dictionary.
    public enum Member: Sendable, Hashable {
        /// A single value.
        case item(Item)
        /// Several values.
        case innerList(InnerList)

        /// The parameters of either.
        public var parameters: Parameters {
            switch self {
            case .item(let item): item.parameters
            case .innerList(let list): list.parameters
            }
        }

        /// The item, if it is one.
        public var item: Item? {
            guard case .item(let item) = self else { return nil }
            return item
        }
    }

    /// A list (§3.1).
    ///
    /// An empty list is the same as no field.
    public struct List: Sendable, Hashable {
        /// The members in order.
        public var members: [Member]

        /// Makes a list.
        public init(_ members: [Member]) {
            self.members = members
        }
    }

    /// A dictionary, in order (§3.2).
    ///
    /// An empty dictionary is the same as no field.
    public typealias Dictionary = KeyedValues<Member>
}

// MARK: - Parsing

extension StructuredField.Item {
    /// Reads a field that is defined as an item.
    ///
    /// - Parameters:
    ///   - lines: the values of all field lines of that name; more than one is an error for an item.
    ///   - limits: how much is accepted.
    /// - Throws: `Headers.FieldError` if this is not an item.
    public init(parsing lines: [String], limits: StructuredField.Limits = .init()) throws(Headers.FieldError) {
        try self.init(bytes: lines.map { Array($0.utf8) }, limits: limits)
    }

    /// Reads a field that is defined as an item from bytes as they were received.
    ///
    /// - Throws: `Headers.FieldError` if this is not an item.
    public init(bytes lines: [[UInt8]], limits: StructuredField.Limits = .init()) throws(Headers.FieldError) {
        self = try StructuredFieldParser.parse(lines, limits: limits) { parser throws(Headers.FieldError) in
            try parser.item()
        }
    }
}

extension StructuredField.List {
    /// Reads a field that is defined as a list.
    ///
    /// - Parameters:
    ///   - lines: the values of all field lines of that name.
    ///   - limits: how much is accepted.
    /// - Throws: `Headers.FieldError` if this is not a list.
    public init(parsing lines: [String], limits: StructuredField.Limits = .init()) throws(Headers.FieldError) {
        try self.init(bytes: lines.map { Array($0.utf8) }, limits: limits)
    }

    /// Reads a field that is defined as a list from bytes as they were received.
    ///
    /// - Throws: `Headers.FieldError` if this is not a list.
    public init(bytes lines: [[UInt8]], limits: StructuredField.Limits = .init()) throws(Headers.FieldError) {
        self = try StructuredFieldParser.parse(lines, limits: limits) { parser throws(Headers.FieldError) in
            try parser.list()
        }
    }
}

extension StructuredField.KeyedValues<StructuredField.Member> {
    /// Reads a field that is defined as a dictionary; of members with the same key the last one counts.
    ///
    /// - Parameters:
    ///   - lines: the values of all field lines of that name.
    ///   - limits: how much is accepted.
    /// - Throws: `Headers.FieldError` if this is not a dictionary.
    public init(parsing lines: [String], limits: StructuredField.Limits = .init()) throws(Headers.FieldError) {
        try self.init(bytes: lines.map { Array($0.utf8) }, limits: limits)
    }

    /// Reads a dictionary field from the received bytes of its lines.
    ///
    /// - Throws: `Headers.FieldError` if this is not a dictionary.
    public init(bytes lines: [[UInt8]], limits: StructuredField.Limits = .init()) throws(Headers.FieldError) {
        self = try StructuredFieldParser.parse(lines, limits: limits) { parser throws(Headers.FieldError) in
            try parser.dictionary()
        }
    }
}

// MARK: - Serialising

extension StructuredField.Item {
    /// The field value (§4.1.3).
    ///
    /// - Throws: `Headers.FieldError` for an invalid key or token, a number out of range, and a string with text that is not
    ///   ASCII.
    public func serialised() throws(Headers.FieldError) -> String {
        var serialiser = StructuredFieldSerialiser()
        try serialiser.write(self)
        return serialiser.text
    }
}

extension StructuredField.List {
    /// The field value (§4.1.1); a field whose value is empty must not be sent.
    ///
    /// - Throws: `Headers.FieldError` if a part of it cannot be written; see `Item.serialised()`.
    public func serialised() throws(Headers.FieldError) -> String {
        var serialiser = StructuredFieldSerialiser()
        try serialiser.write(self)
        return serialiser.text
    }
}

extension StructuredField.KeyedValues<StructuredField.Member> {
    /// The field value (§4.1.2); a field whose value is empty must not be sent.
    ///
    /// - Throws: `Headers.FieldError` if a part of it cannot be written; see `Item.serialised()`.
    public func serialised() throws(Headers.FieldError) -> String {
        var serialiser = StructuredFieldSerialiser()
        try serialiser.write(self)
        return serialiser.text
    }
}
