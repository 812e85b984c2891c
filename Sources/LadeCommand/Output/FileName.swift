#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The name of a file that a server may choose (CM-06).
enum FileName {
    /// The name that an answer suggests in `Content-Disposition` or, failing that, at the end of its address.
    static func suggested(by response: Response) -> String {
        // A field that cannot be read suggests nothing.
        let disposition = response.headers["Content-Disposition"].flatMap { try? ContentDisposition($0) }
        if let name = disposition?.safeFilename { return name }
        let path = String(decoding: response.request.url.path(percentEncoded: true).percentDecodedBytes, as: UTF8.self)
        return ContentDisposition.safeFilename(from: path) ?? "download"
    }
}
