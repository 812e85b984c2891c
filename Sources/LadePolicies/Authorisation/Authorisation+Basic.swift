#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

extension Authorisation {
    /// Adds a user name and a password to every request, in UTF-8 (RFC 7617).
    public struct Basic: Authoriser {
        /// The name in events and errors; `Basic` by default.
        public let identifier: String
        private let scope: Authorisation.Scope
        private let credentials: Secret

        /// Makes an authoriser.
        ///
        /// - Parameters:
        ///   - user: The user name; it cannot have a colon.
        ///   - password: The password.
        ///   - scope: Where the credentials may be sent.
        ///   - identifier: The name in events and errors.
        /// - Throws: `LoadingError.Kind.invalidSetting` for a user name with a colon, which the server would take for the
        ///   separator.
        public init(
            user: String,
            password: Secret,
            scope: Authorisation.Scope,
            identifier: String = "Basic"
        ) throws(LoadingError) {
            guard !user.contains(":") else {
                throw LoadingError(.invalidSetting(name: "user", reason: "a user name for Basic cannot have a colon"))
            }
            self.identifier = identifier
            self.scope = scope
            credentials = Self.field(user: user, password: password)
        }

        /// The value of `Authorization`.
        static func field(user: String, password: Secret) -> Secret {
            Secret("Basic " + Data("\(user):\(password.reveal())".utf8).base64EncodedString())
        }

        /// True: it waits for nothing.
        public var observesScope: Bool { true }

        /// User name and password.
        public var owner: Authorisation.Owner? { Authorisation.Owner(credentials) }

        /// `Authorization`.
        public var changedFields: [String] { ["Authorization"] }

        /// Whether the scope of the credentials contains the request.
        public func claims(_ request: Request) -> Bool { scope.contains(request) }

        /// Adds `Authorization`.
        public func authorise(
            _ request: Request,
            in context: Authorisation.Context
        ) async throws(LoadingError) -> Request {
            try scope.check(request, for: identifier)
            var request = request
            request.headers.set("Authorization", secret: credentials)
            return request
        }
    }
}
