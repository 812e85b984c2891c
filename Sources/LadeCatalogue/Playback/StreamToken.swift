#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// Adds the token that a protected stream needs for playback.
///
/// A stream whose ``Resource/tokenType`` is ``TokenType/akamai`` needs a token in its address. A token is valid for
/// about 30 seconds, so request it immediately before playback.
///
/// ```swift
/// let playable = try await StreamToken.url(for: url, loader: loader)
/// ```
public enum StreamToken {
    /// The address of the token service.
    public static let serviceURL = "https://tp.srgssr.ch/akahd/token"

    /// An error of the token service.
    @nonexhaustive
    public enum Fault: Error, Sendable, Hashable, CustomStringConvertible {
        /// The response contains no token.
        case streamCannotBeSecured(url: String)

        /// The error as one clause.
        public var description: String {
            switch self {
            case .streamCannotBeSecured(let url):
                "the stream cannot be secured, because the answer has no token: \(url)"
            }
        }
    }

    /// The playable address of a stream; an address that needs no token is returned unchanged, without a request.
    ///
    /// - Parameters:
    ///   - url: The address of the stream.
    ///   - service: The address of the token service.
    ///   - loader: The loader for the token request.
    /// - Returns: The address with the token appended to its query.
    /// - Throws: `LoadingError.Kind.decoding` with ``Fault`` for a response without a token; otherwise the loader's error.
    public static func url(
        for url: URL,
        service: String = serviceURL,
        loader: Loader
    ) async throws(LoadingError) -> URL {
        guard needsToken(url) else { return url }
        return try await loader.load(endpoint(for: url, service: service))
    }

    /// Whether the host of a stream requires a token.
    public static func needsToken(_ url: URL) -> Bool {
        url.host(percentEncoded: false)?.lowercased().contains("akamai") == true
    }

    /// The endpoint for the token of a stream, whose value is the playable address.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` for an invalid address of the token service.
    public static func endpoint(
        for url: URL,
        service: String = serviceURL
    ) throws(LoadingError) -> Endpoint<URL> {
        var request = try Request(service)
        request.secretQueryNames.insert("hdnts")
        let answer = Endpoint(request).query("acl", accessList(for: url)).decoding(
            Answer.self,
            decoder: CatalogueDecoder()
        )
        return answer.map { answer in
            guard let parameters = answer.parameters, let playable = url.appendingQuery(parameters) else {
                throw Fault.streamCannotBeSecured(url: url.host(percentEncoded: true) ?? "")
            }
            return playable
        }
    }

    /// The access list of the token: all files in the folder of the stream.
    static func accessList(for url: URL) -> String {
        let path = url.path(percentEncoded: false)
        let folder = path.unicodeScalars.lastIndex(of: "/").map { path[..<$0] } ?? ""
        return folder + "/*"
    }

    private struct Answer: Decodable, Sendable {
        /// The parameters to append; from `token.authparams`.
        var parameters: String?

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: MemberName.self)
            // Any other value of the two is not a token.
            let token = try? members.nestedContainer(keyedBy: MemberName.self, forKey: MemberName("token"))
            let text = try? token?.decodeIfPresent(String.self, forKey: MemberName("authparams"))
            parameters = text.flatMap { $0.isEmpty ? nil : $0 }
        }
    }
}

extension Catalogue {
    /// The endpoint whose value is the playable address of a stream, with a token; the same as
    /// ``StreamToken/endpoint(for:service:)``, under the name that data providers give it.
    ///
    /// ```swift
    /// RequestHandle(loader, try Catalogue.tokenizeURL(mediaURL)) { outcome in play(outcome.value) }.resume()
    /// ```
    ///
    /// - Parameters:
    ///   - url: The address of the stream.
    ///   - service: The address of the token service.
    /// - Returns: The endpoint.
    /// - Throws: `LoadingError.Kind.invalidRequest` for an invalid address of the token service.
    public static func tokenizeURL(
        _ url: URL,
        service: String = StreamToken.serviceURL
    ) throws(LoadingError) -> Endpoint<URL> {
        try StreamToken.endpoint(for: url, service: service)
    }
}

extension URL {
    /// The address with query items appended; nil when the result is not a valid address.
    fileprivate func appendingQuery(_ query: String) -> URL? {
        let whole = absoluteString
        let fragment = whole.unicodeScalars.firstIndex(of: "#").map { whole[$0...] } ?? ""
        let base = whole.dropLast(fragment.count)
        let separator = base.contains("?") ? (base.hasSuffix("?") || base.hasSuffix("&") ? "" : "&") : "?"
        // The token is sent unchanged, except for bytes that an address cannot contain.
        let items = query.parts(at: "&", omitsEmpty: true).map { item -> String in
            let parts = item.parts(at: "=", most: 2)
            return parts.map { $0.tokenEncoded }.joined(separator: "=")
        }
        return URL(string: base + separator + items.joined(separator: "&") + fragment)
    }
}

extension Substring {
    fileprivate var tokenEncoded: String { utf8.percentEncoded(keeping: "!$'()*+,;:@/?=%") }
}

extension StreamToken.Fault: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var errorDescription: String? { description.asSentence }
}
