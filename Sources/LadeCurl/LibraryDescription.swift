import CCurl

/// What the libraries at hand can do: libcurl, and zlib, Brotli and Zstandard, by which bodies are decoded.
public struct LibraryDescription: Sendable, Hashable {
    /// The version of libcurl, `8.14.1`.
    public var version: String
    /// The TLS library and its version, `OpenSSL/3.5.1`; nil without TLS.
    public var tls: String?
    /// The content codings that are asked for and decoded, best known first.
    public var codings: [String]
    /// The versions of HTTP it speaks, oldest first.
    public var httpVersions: [String]
}

extension CurlTransport {
    /// What the libcurl that this program runs with can do; it may be newer than the one it was built with.
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
