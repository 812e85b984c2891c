#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

extension Catalogue {
    /// The address of the token service.
    public static let tokenServiceURL = "https://tp.srgssr.ch/akahd/token"

    /// The playable address of a stream; an address that needs no token is returned unchanged, without a request.
    ///
    /// ```swift
    /// let playable = try await Catalogue.playableURL(for: url, loader: loader)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The address of the stream.
    ///   - service: The address of the token service.
    ///   - loader: The loader for the token request.
    /// - Returns: The address with the token of ``tokenizeURL(_:service:)``.
    /// - Throws: `LoadingError.Kind.decoding` with ``CatalogueError/noStreamToken(host:)`` for a response without a
    ///   token; otherwise the loader's error.
    public static func playableURL(
        for url: URL,
        service: String = tokenServiceURL,
        loader: Loader
    ) async throws(LoadingError) -> URL {
        needsToken(url) ? try await loader.load(tokenizeURL(url, service: service)) : url
    }

    /// Whether the host of a stream requires a token.
    public static func needsToken(_ url: URL) -> Bool {
        url.host(percentEncoded: false)?.lowercased().contains("akamai") == true
    }

    /// The endpoint whose value is the playable address of a stream, with the token appended to its query.
    ///
    /// A stream whose ``Catalogue/Resource/tokenType`` is ``Catalogue/Resource/TokenType/akamai`` needs a token in its
    /// address. A token is valid for about 30 seconds, so request it immediately before playback.
    ///
    /// ```swift
    /// RequestHandle(loader, try Catalogue.tokenizeURL(mediaURL)) { outcome in play(outcome.value) }.resume()
    /// ```
    ///
    /// A response without a token is a `LoadingError.Kind.decoding` with ``CatalogueError/noStreamToken(host:)``.
    ///
    /// - Parameters:
    ///   - url: The address of the stream.
    ///   - service: The address of the token service.
    /// - Returns: The endpoint.
    /// - Throws: `LoadingError.Kind.invalidRequest` for an invalid address of the token service.
    public static func tokenizeURL(
        _ url: URL,
        service: String = tokenServiceURL
    ) throws(LoadingError) -> Endpoint<URL> {
        var request = try Request(service)
        request.secretQueryNames.insert("hdnts")
        let response = Endpoint(request).query("acl", accessList(for: url)).decoding(
            TokenResponse.self,
            decoder: CatalogueDecoder()
        )
        return response.map { response in
            guard let parameters = response.parameters, let playable = url.appendingQuery(parameters) else {
                throw CatalogueError.noStreamToken(host: url.host(percentEncoded: true) ?? "")
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

    private struct TokenResponse: Decodable, Sendable {
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
