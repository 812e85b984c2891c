#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a truncated body can be resumed: its version, and the number of existing bytes.
///
/// A value that makes the request for the rest (RFC 9110 §13.1.5, §14.2); ``BodyMeaning`` checks the response.
package struct ResumePoint: Sendable, Hashable {
    /// The version of the bytes.
    var version: FileVersion
    /// The number of existing bytes.
    var offset: Int64
    /// The length of the whole body, if known.
    var length: Int64?
    /// The content coding of the existing bytes; nil when they have none.
    var coding: String?

    /// Makes a point; an address of nil is unknown, and an empty validator too.
    init(
        validator: String,
        address: String? = nil,
        offset: Int64,
        length: Int64? = nil,
        coding: String? = nil
    ) {
        version = FileVersion(validator: validator, address: address)
        self.offset = offset
        self.length = length
        self.coding = coding
    }

    /// The request for the rest.
    func asking(_ request: Request) -> Request {
        var asked = request
        asked.headers.set("Range", "bytes=\(offset)-")
        if !version.validator.isEmpty { asked.headers.set("If-Range", version.validator) }
        return asked
    }
}
