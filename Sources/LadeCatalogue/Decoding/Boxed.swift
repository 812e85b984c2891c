extension Catalogue {
    /// Stores a value by reference, so that a model that contains other models stays small.
    @propertyWrapper
    public struct Boxed<Value: Sendable>: Sendable {
        private final class Box: Sendable {
            let value: Value

            init(_ value: Value) { self.value = value }
        }

        private var box: Box?

        /// Stores nil.
        public init() {}

        /// Stores an optional value.
        public init(wrappedValue: Value?) {
            box = wrappedValue.map(Box.init)
        }

        /// The value.
        public var wrappedValue: Value? {
            get { box?.value }
            set { box = newValue.map(Box.init) }
        }
    }
}

extension Catalogue.Boxed: Equatable where Value: Equatable {
    /// Whether the values are equal.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.wrappedValue == rhs.wrappedValue }
}

extension Catalogue.Boxed: Hashable where Value: Hashable {
    /// Hashes the value.
    public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension Catalogue.Boxed: OptionalValue {
    var wrapped: Any? { wrappedValue }
}
