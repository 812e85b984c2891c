import LadeCore

extension StructuredField {
    /// Values by key, in order: a dictionary (RFC 9651 §3.2) or parameters (§3.1.2).
    ///
    /// Two values are equal only if the order is the same too. Looking up a key takes time proportional to the number
    /// of keys.
    public struct KeyedValues<Value: Sendable & Hashable>: Sendable, Hashable {
        /// A key and its value.
        public struct Entry: Sendable, Hashable {
            /// The key: it starts with `a`…`z` or `*`; digits and `_ - .` may follow.
            public let key: String
            /// The value.
            public var value: Value
        }

        /// The entries in order; no key occurs twice.
        public private(set) var entries: [Entry]

        /// Makes values from entries whose keys are known to differ.
        init(distinct entries: [Entry]) {
            self.entries = entries
        }

        /// The value of a key.
        ///
        /// Setting an existing key keeps its position, a new key is appended, and `nil` removes the key.
        public subscript(key: String) -> Value? {
            get { entries.first { $0.key == key }?.value }
            set {
                let index = entries.firstIndex { $0.key == key }
                switch (index, newValue) {
                case (let index?, let value?): entries[index].value = value
                case (let index?, nil): entries.remove(at: index)
                case (nil, let value?): entries.append(Entry(key: key, value: value))
                case (nil, nil): break
                }
            }
        }
    }
}

extension StructuredField.KeyedValues: ExpressibleByDictionaryLiteral {
    /// Makes values by key; of equal keys the last value counts, in the position of the first.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(distinct: [])
        for (key, value) in elements { self[key] = value }
    }
}

extension StructuredField.KeyedValues: RandomAccessCollection {
    /// The position of the first entry.
    public var startIndex: Int { entries.startIndex }
    /// The position after the last entry.
    public var endIndex: Int { entries.endIndex }
    /// The entry at a position.
    public subscript(position: Int) -> Entry { entries[position] }
}
