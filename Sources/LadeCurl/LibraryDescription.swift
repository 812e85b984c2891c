import CCurl
import LadeExchange

/// The versions and features of libcurl, and the content codings that can be decoded.
public struct LibraryDescription: Sendable, Hashable {
    /// The version of libcurl, for example `8.14.1`.
    public var version: String
    /// The TLS library and its version, for example `OpenSSL/3.5.1`; nil without TLS.
    public var tls: String?
    /// The content codings that are requested and decoded, the preferred one first.
    public var codings: [String]
    /// The versions of HTTP that libcurl supports, oldest first.
    public var httpVersions: [String]
}

extension CurlTransport {
    /// The description of the libcurl in use, which may be newer than the one this program was built with.
    public static var library: LibraryDescription {
        // The first version of the structure has all the fields that are read here.
        guard let info = curl_version_info(CURLVERSION_FIRST)?.pointee else {
            preconditionFailure("libcurl does not know its own version")
        }
        let has = { (feature: Int32) in info.features & feature != 0 }
        return LibraryDescription(
            version: info.version.map { String(cString: $0) } ?? "",
            tls: info.ssl_version.map { String(cString: $0) },
            codings: ContentCoding.allCases.map(\.rawValue),
            httpVersions: ["HTTP/1.0", "HTTP/1.1"] + (has(CURL_VERSION_HTTP2) ? ["HTTP/2"] : [])
        )
    }
}
