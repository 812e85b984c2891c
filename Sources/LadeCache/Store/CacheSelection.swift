#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeCore

extension ResponseCache {
    /// The entries of a store that are listed, invalidated or removed.
    public struct Selection: Sendable, Hashable {
        package enum Kind: Sendable, Hashable {
            case all
            case ids(Set<UInt64>)
            case places(Set<CachePlace>)
            case address(String)
            case prefix(String)
            case origin(String, scopes: Set<CacheScope>)
            case host(String)
            case account(String)
            case tag(String)
            case before(Date)
        }

        package let kind: Kind

        package init(_ kind: Kind) {
            self.kind = kind
        }

        /// Every entry.
        public static var all: ResponseCache.Selection { ResponseCache.Selection(.all) }

        /// The entries of an address, of all accounts.
        ///
        /// Selects nothing for an address that is not one of HTTP.
        public static func address(_ url: URL) -> ResponseCache.Selection {
            ResponseCache.Selection(CacheAddress(url).map { .address($0.text) } ?? .ids([]))
        }

        /// The entries whose address in normal form begins with a text, such as `https://example.org/images/`.
        public static func prefix(_ text: String) -> ResponseCache.Selection { ResponseCache.Selection(.prefix(text)) }

        /// The entries of a host, with all its ports.
        public static func host(_ name: String) -> ResponseCache.Selection {
            ResponseCache.Selection(.host(name.asciiLowercased))
        }

        /// The entries of an account.
        public static func account(_ identifier: String) -> ResponseCache.Selection {
            ResponseCache.Selection(.account(identifier))
        }

        /// The entries whose request had a tag.
        public static func tag(_ name: String) -> ResponseCache.Selection { ResponseCache.Selection(.tag(name)) }

        /// The entries that were received before a date.
        public static func received(before date: Date) -> ResponseCache.Selection {
            ResponseCache.Selection(.before(date))
        }

        /// Whether an entry is selected; `id` is nil for one that is not visible yet.
        package func contains(_ key: CacheKey, _ head: StoredHead, id: UInt64?) -> Bool {
            switch kind {
            case .all: true
            case .ids(let ids): id.map(ids.contains) ?? false
            case .places(let places): places.contains(key.place)
            case .address(let text): key.place.address.text.isSpelled(like: text)
            case .prefix(let text): key.place.address.text.begins(with: text)
            case .origin(let origin, let scopes):
                key.place.address.origin == origin && scopes.contains(key.place.scope)
            case .host(let name): key.place.address.host.isSpelled(like: name)
            case .account(let identifier): key.place.scope == .account(identifier)
            case .tag(let name): head.tags.contains(name)
            case .before(let date): head.times.received.date < date
            }
        }

        /// Whether readers of removed entries are ended: the account has signed out.
        package var endsReaders: Bool { if case .account = kind { true } else { false } }
    }
}
