extension API {
    /// The description of an error by the server, in the form of RFC 9457 (`application/problem+json`).
    ///
    /// ```swift
    /// let api = try API("https://api.example.com").failure(as: API.Problem.self)
    /// ```
    ///
    /// A member that is missing, or has another type than RFC 9457 §3.1 specifies, is nil: the RFC requires consumers to
    /// ignore it. To read extension members, decode a type of your own.
    public struct Problem: Codable, Sendable, Hashable {
        /// A URI reference that identifies the kind of problem; `about:blank` when the server sends none (RFC 9457 §4.2.1).
        public var type = "about:blank"
        /// A short summary of the kind of problem.
        public var title: String?
        /// The status code that the origin server generated for this occurrence.
        public var status: Int?
        /// An explanation of this occurrence.
        public var detail: String?
        /// A URI reference that identifies this occurrence.
        public var instance: String?

        /// Makes a problem.
        public init(
            type: String = "about:blank",
            title: String? = nil,
            status: Int? = nil,
            detail: String? = nil,
            instance: String? = nil
        ) {
            self.type = type
            self.title = title
            self.status = status
            self.detail = detail
            self.instance = instance
        }

        /// Decodes a problem.
        ///
        /// - Throws: `DecodingError` when the document is not an object.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            // A member of another type counts as missing (RFC 9457 §3.1).
            type = (try? members.decode(String.self, forKey: .type)) ?? "about:blank"
            title = try? members.decode(String.self, forKey: .title)
            status = try? members.decode(Int.self, forKey: .status)
            detail = try? members.decode(String.self, forKey: .detail)
            instance = try? members.decode(String.self, forKey: .instance)
        }
    }
}
