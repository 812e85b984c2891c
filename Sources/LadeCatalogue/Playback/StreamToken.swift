#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// Makes the address of a protected stream playable.
///
/// The address of a stream whose ``Resource/tokenType`` is ``TokenType/akamai`` needs a token, which is good for about 30
/// seconds: ask for it right before playback.
///
/// ```swift
/// let playable = try await StreamToken.url(for: resource.url, loader: loader)
/// ```
public enum StreamToken {
    /// The service that makes tokens.
    public static let serviceURL = "https://tp.srgssr.ch/akahd/token"

    /// Something that a token cannot be made for.
    @nonexhaustive
    public enum Fault: Error, Sendable, Hashable, CustomStringConvertible {
        /// The answer has no token.
        case streamCannotBeSecured(url: String)

        /// One plain clause.
        public var description: String {
            switch self {
            case .streamCannotBeSecured(let url):
                "the stream cannot be secured, because the answer has no token: \(url)"
            }
        }
    }

    /// The playable address of a stream; that of a stream which needs no token is returned as it is, and nothing is sent.
    ///
    /// - Parameters:
    ///   - url: The address of the stream.
    ///   - service: The address of the service that makes tokens.
    ///   - loader: What loads the token.
    /// - Returns: The address with the token behind the query items that it had.
    /// - Throws: `LoadingError.decoding` with ``Fault`` for an answer without a token; otherwise what the loader throws.
    public static func url(
        for url: URL,
        service: String = serviceURL,
        loader: Loader
    ) async throws(LoadingError) -> URL {
        guard needsToken(url) else { return url }
        return try await loader.load(endpoint(for: url, service: service))
    }

    /// Whether the host of a stream wants a token.
    public static func needsToken(_ url: URL) -> Bool {
        url.host(percentEncoded: false)?.lowercased().contains("akamai") == true
    }

    /// Makes the request for the token of a stream, whose value is the playable address.
    ///
    /// - Throws: `LoadingError.invalidRequest` for an address of the service that cannot be used.
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

    /// What a token is good for: everything beside the stream.
    static func accessList(for url: URL) -> String {
        let path = url.path(percentEncoded: false)
        let folder = path.lastIndex(of: "/").map { path[..<$0] } ?? ""
        return folder + "/*"
    }

    private struct Answer: Decodable, Sendable {
        /// From `token.authparams`.
        var parameters: String?

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: MemberName.self)
            // Whatever else the two are, they are no token.
            let token = try? members.nestedContainer(keyedBy: MemberName.self, forKey: MemberName("token"))
            let text = try? token?.decodeIfPresent(String.self, forKey: MemberName("authparams"))
            parameters = text.flatMap { $0.isEmpty ? nil : $0 }
        }
    }
}

extension URL {
    /// The address with the items of a query behind its own; nil when it is none then.
    fileprivate func appendingQuery(_ query: String) -> URL? {
        let whole = absoluteString
        let fragment = whole.firstIndex(of: "#").map { whole[$0...] } ?? ""
        let base = whole.dropLast(fragment.count)
        let separator = base.contains("?") ? (base.hasSuffix("?") || base.hasSuffix("&") ? "" : "&") : "?"
        // The token is sent byte for byte, as far as an address can hold its bytes.
        let items = query.split(separator: "&").map { item -> String in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.map { $0.tokenEncoded }.joined(separator: "=")
        }
        return URL(string: base + separator + items.joined(separator: "&") + fragment)
    }
}

extension Substring {
    fileprivate var tokenEncoded: String {
        let kept = Set("-._~!$'()*+,;:@/?=%".utf8)
        return utf8.reduce(into: "") { result, byte in
            let isPlain =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            if isPlain || kept.contains(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 16 ? "%0" + digits : "%" + digits
            }
        }
    }
}
