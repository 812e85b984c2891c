/// What a server says about an error, in the form of RFC 9457 (`application/problem+json`).
///
/// ```swift
/// let api = try API("https://api.example.com").failure(as: Problem.self)
/// ```
///
/// Members that are missing or of another type than RFC 9457 §3.1 gives them are nil: a consumer ignores them there.
/// Extension members are the server's own; decode a type of your own to read them.
public struct Problem: Codable, Sendable, Hashable {
    /// A URI reference that identifies the kind of problem; `about:blank` without one (RFC 9457 §4.2.1).
    public var type = "about:blank"
    /// A short summary of the kind of problem.
    public var title: String?
    /// The status code, as the server that made the problem saw it.
    public var status: Int?
    /// What went wrong this time.
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
    /// - Throws: `DecodingError` when the document is no object.
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
