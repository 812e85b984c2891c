package import LadeCore

/// The names in `Vary` (RFC 9110 §12.5.5).
package struct Vary: Sendable, Hashable {
    /// The names in lower case, each once, sorted.
    package let names: [String]
    /// Whether no later request can be known to match: `*`, or a member that is no token.
    package let isUnmatchable: Bool

    /// More names than any server needs count as `*`, so that comparing requests stays bounded.
    package static let limit = 64

    /// No name.
    package static let none = Vary([:])

    /// Reads all fields of that name.
    package init(_ headers: Headers) {
        guard headers.contains("Vary") else {
            names = []
            isUnmatchable = false
            return
        }
        let members = FieldMembers.list(headers.octets("Vary"))
        let all = Set(members.map(\.lowercasedASCII))
        isUnmatchable = all.count > Self.limit || all.contains { !$0.isToken || $0.elementsEqual("*".utf8) }
        names = isUnmatchable ? [] : all.map { String(decoding: $0, as: UTF8.self) }.sorted()
    }
}
