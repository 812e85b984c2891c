/// Makes the keyed containers of scopes, with a table of their types in memory that belongs to one document.
///
/// A container is generic over its keys. Without the table, the runtime would look up the metadata of its type and its
/// conformance for each object. The look-up takes longer than decoding a small object.
struct KeyedContainers {
    /// In a structure, a closure can be kept with other keys in its type without a thunk around it.
    private struct Maker<Key: CodingKey> {
        var make: (Scope) -> KeyedDecodingContainer<Key>

        /// The closure holds the metadata of the container's type, which a specialised one would look up each time.
        @_semantics("optimize.sil.specialize.generic.never")
        @inline(never)
        static func maker<Container: ScopeContainer>(of type: Container.Type) -> Self where Container.Key == Key {
            Self { KeyedDecodingContainer(type.init(scope: $0)) }
        }
    }

    private struct Entry {
        var key: ObjectIdentifier?
        /// A maker for the keys of the entry, whatever its type says.
        var maker: Maker<ElementKey>
    }

    private static let size = 128
    private let entries: UnsafeMutablePointer<Entry>

    init() {
        entries = .allocate(capacity: Self.size)
        entries.initialize(
            repeating: Entry(maker: .maker(of: KeyedContainer<ElementKey>.self)),
            count: Self.size
        )
    }

    func deallocate() {
        entries.deinitialize(count: Self.size)
        entries.deallocate()
    }

    /// The container of a scope whose members are prepared.
    @inline(__always)
    func container<Key: CodingKey>(keyedBy type: Key.Type, of scope: Scope) -> KeyedDecodingContainer<Key> {
        let key = ObjectIdentifier(type)
        let mixed = UInt64(UInt(bitPattern: key)) &* 0x9E37_79B9_7F4A_7C15
        var place = entries + Int(truncatingIfNeeded: mixed >> 57)
        // Each type has a second place. Types that share both replace each other.
        if place.pointee.key != key {
            place = entries + (Int(truncatingIfNeeded: mixed >> 57) ^ 1)
            if place.pointee.key != key { place = fill(place, type) }
        }
        return unsafeBitCast(place.pointee.maker, to: Maker<Key>.self).make(scope)
    }

    @inline(never)
    private func fill<Key: CodingKey>(
        _ second: UnsafeMutablePointer<Entry>,
        _ type: Key.Type
    ) -> UnsafeMutablePointer<Entry> {
        let first = entries + ((second - entries) ^ 1)
        let place = first.pointee.key == nil ? first : second
        let maker = Maker<Key>.maker(of: KeyedContainer<Key>.self)
        place.pointee = Entry(key: ObjectIdentifier(type), maker: unsafeBitCast(maker, to: Maker<ElementKey>.self))
        return place
    }
}

/// A container that ``KeyedContainers`` makes.
protocol ScopeContainer: KeyedDecodingContainerProtocol {
    init(scope: Scope)
}
