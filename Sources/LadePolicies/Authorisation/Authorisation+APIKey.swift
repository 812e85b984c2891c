#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

extension Authorisation {
    /// Adds a fixed key to every request, in a header field or in the query.
    public struct APIKey: Authoriser {
        /// The part of a request that carries the key.
        public enum Place: Sendable, Hashable {
            /// A header field of that name.
            case header(String)
            /// A query item of that name.
            ///
            /// Errors and events hide its value.
            case query(String)
        }

        /// The name in events and errors; `API key` by default.
        public let identifier: String
        /// The part of a request that carries the key.
        public let place: Place
        private let key: Secret
        private let scope: Authorisation.Scope

        /// Makes an authoriser.
        public init(_ place: Place, key: Secret, scope: Authorisation.Scope, identifier: String = "API key") {
            self.identifier = identifier
            self.place = place
            self.key = key
            self.scope = scope
        }

        /// True: it waits for nothing.
        public var observesScope: Bool { true }

        /// The key.
        public var owner: Authorisation.Owner? { Authorisation.Owner(key) }

        /// The field of the key; empty for a query item.
        public var changedFields: [String] { if case .header(let name) = place { [name] } else { [] } }

        /// Whether the scope of the key contains the request.
        public func claims(_ request: Request) -> Bool { scope.contains(request) }

        /// Adds the key.
        public func authorise(
            _ request: Request,
            in context: Authorisation.Context
        ) async throws(LoadingError) -> Request {
            try scope.check(request, for: identifier)
            var request = request
            switch place {
            case .header(let name):
                request.headers.set(name, secret: key)
            case .query(let name):
                request.url = Self.adding(name, key.reveal(), to: request.url)
                request.secretQueryNames.insert(name)
            }
            return request
        }

        /// Adds an item to the query, replacing one of the same name; everything else stays as written.
        private static func adding(_ name: String, _ value: String, to url: URL) -> URL {
            let text = url.absoluteString
            let fragment = text.unicodeScalars.firstIndex(of: "#").map { String(text[$0...]) } ?? ""
            let address = text.prefix { $0 != "#" }
            let base = address.prefix { $0 != "?" }
            let query = base.endIndex < address.endIndex ? address[address.index(after: base.endIndex)...] : ""
            // Empty items are kept too: the query may be signed as it is written.
            let written = query.isEmpty ? [] : query.parts(at: "&")
            let kept = written.filter { item in
                item.isEmpty || !item.prefix { $0 != "=" }.percentDecodedBytes.elementsEqual(name.utf8)
            }
            let items = kept.map(String.init) + ["\(name.formEncoded)=\(value.formEncoded)"]
            return URL(string: base + "?" + items.joined(separator: "&") + fragment) ?? url
        }
    }
}

extension String {
    /// The text with everything but letters, digits and `-._~` percent-encoded: safe in queries, forms and Basic.
    var formEncoded: String { utf8.percentEncoded() }
}
