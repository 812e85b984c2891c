import LadeCore

/// Finds out whether a cookie would shadow a secure one, without visiting all cookies (RFC 6265bis §5.7 step 12).
///
/// Per name and domain it counts the paths of the secure cookies at that domain and below it. The cost of a query is
/// bounded by the labels of a host and the slashes of a path, for any number of cookies.
struct SecureCookieIndex: Sendable {
    private struct Key: Hashable {
        let name: [UInt8]
        let domain: Substring
    }

    /// Cookies of the domain itself and of those below it.
    private var below: [Key: [ArraySlice<UInt8>: Int]] = [:]
    /// Cookies of the domain itself.
    private var own: [Key: [ArraySlice<UInt8>: Int]] = [:]

    mutating func insert(_ cookie: Cookie) { change(cookie, by: 1) }

    mutating func remove(_ cookie: Cookie) { change(cookie, by: -1) }

    private mutating func change(_ cookie: Cookie, by difference: Int) {
        let path = Array(cookie.path.utf8)[...]
        let domains = CookieStorage.domains(of: cookie.domain)
        for domain in domains {
            Self.change(&below, Key(name: cookie.pair.nameOctets, domain: domain), path, difference)
        }
        Self.change(&own, Key(name: cookie.pair.nameOctets, domain: domains[0]), path, difference)
    }

    private static func change(
        _ index: inout [Key: [ArraySlice<UInt8>: Int]],
        _ key: Key,
        _ path: ArraySlice<UInt8>,
        _ difference: Int
    ) {
        let count = (index[key]?[path] ?? 0) + difference
        index[key, default: [:]][path] = count > 0 ? count : nil
        if index[key]?.isEmpty == true { index[key] = nil }
    }

    /// Whether a cookie set without TLS would be sent beside or before a secure one of the same name.
    func isShadowed(by cookie: Cookie) -> Bool {
        guard !below.isEmpty else { return false }
        let name = cookie.pair.nameOctets
        let paths = Self.prefixes(of: Array(cookie.path.utf8))
        let domains = CookieStorage.domains(of: cookie.domain)
        let isBelow = below[Key(name: name, domain: domains[0])].map { known in paths.contains { known[$0] != nil } }
        return isBelow == true
            || domains.dropFirst().contains { domain in
                own[Key(name: name, domain: domain)].map { known in paths.contains { known[$0] != nil } } ?? false
            }
    }

    /// The path itself and all paths above it.
    private static func prefixes(of path: [UInt8]) -> [ArraySlice<UInt8>] {
        var prefixes = [path[...]]
        for (index, byte) in path.enumerated() where byte == UInt8(ascii: "/") {
            prefixes.append(path[..<index])
            prefixes.append(path[...index])
        }
        return prefixes
    }
}

/// A binary heap whose elements may be out of date.
///
/// The user skips those; the heap never has many more elements than are current.
struct LazyHeap<Key: Comparable & Sendable, Value: Sendable>: Sendable {
    private var elements: [(key: Key, value: Value)] = []

    /// The element with the least key.
    var first: (key: Key, value: Value)? { elements.first }

    var count: Int { elements.count }

    mutating func insert(_ key: Key, _ value: Value) {
        elements.append((key, value))
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child].key < elements[parent].key else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() {
        guard let last = elements.popLast(), !elements.isEmpty else { return }
        elements[0] = last
        sink(0)
    }

    /// Keeps the elements that are not out of date.
    mutating func compact(_ isLive: (Key, Value) -> Bool) {
        elements.removeAll { !isLive($0.key, $0.value) }
        for index in stride(from: elements.count / 2 - 1, through: 0, by: -1) { sink(index) }
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < elements.count {
                if elements[child].key < elements[least].key { least = child }
            }
            guard least != parent else { return }
            elements.swapAt(parent, least)
            parent = least
        }
    }
}
