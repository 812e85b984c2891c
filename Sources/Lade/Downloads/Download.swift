#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A downloaded file.
public struct Download: Sendable {
    /// How a file is downloaded.
    public struct Options: Sendable {
        /// Whether the rest of an earlier download is resumed; true by default.
        ///
        /// Within the call, a truncated body is resumed as often as the retry policy of the service allows.
        public var resumes = true
        /// Whether an existing file is replaced; false by default, in which case an existing file is an error.
        ///
        /// The new file has the permissions of the old one. If the old one is a symbolic link, the file that it leads
        /// to is replaced. A pipe or a device is written to and never replaced; a wait for its reader ends with the
        /// task and the loader.
        public var mayOverwrite = false
        /// The most bytes that are accepted; nil, the default, for no limit.
        ///
        /// A larger body fails with `LoadingError.Kind.bodyTooLarge`.
        public var lengthLimit: Int64?
        /// The SHA-256 that the complete file must have; nil, the default, for none that is known.
        ///
        /// It is compared before the file gets its name. With another one the bytes are removed, and the download fails with
        /// ``ProcessingError/digest(field:expected:actual:)``. A pipe or a device is refused, because bytes that were sent to it
        /// cannot be taken back.
        public var expectedDigest: Download.Digest?
        /// Called after each piece with the bytes that are there and, when it is known, their number in all.
        ///
        /// It runs in the task of the download, and must be quick.
        package var onPiece: (@Sendable (_ received: Int64, _ total: Int64?) -> Void)?
        /// The statuses whose bodies become files; 200 and 206 by default, whatever the service accepts.
        ///
        /// They are the acceptable statuses of the call, so they are not retried. A part that was not requested never
        /// becomes a file, nor does the response to a range that does not exist (416). With 304 among them, a response
        /// that confirms a condition of the request is a success that leaves the file as it is. The conditions are
        /// `If-None-Match` and `If-Modified-Since`; see ``Download/isUnchanged``.
        public var acceptableStatuses: Response.StatusSet = [200, 206]
        /// Further statuses whose bodies become new files, and are retried all the same.
        package var otherStatuses = Response.StatusSet.none
        /// Whether these replace an existing file too.
        package var otherStatusesReplace = false
        /// Whether the body of a response is left out, because of a condition that the caller compares itself.
        package var withholds: (@Sendable (Response) -> Bool)?
        /// Whether a name of the server gets a number behind it when a file has it.
        package var numbersNames = false
        /// The files that other downloads of the same caller have written, none of which is written again.
        package var claims: FileClaims?
        /// The bytes in the file before the body; nil for none.
        package var prologue: (@Sendable (Response) -> Data)?
        /// Whether an existing file counts as the beginning of the body, and is completed.
        ///
        /// It is replaced when the body is complete. If the server does not send the rest, the download fails, unless the
        /// file may be overwritten by a whole body.
        package var continuesFile = false
        /// Whether the request is sent without fields of the download's own, and a coded body is stored as it arrives.
        package var asksAsGiven = false
        /// Receives a response with a refused status, and the beginning of its body, before the download fails.
        package var refused: (@Sendable (Response, Data) -> Void)?
        /// Called before the file is hashed; for tests.
        var hashed: (@Sendable () -> Void)?
        /// Whether the bytes of a download that ends early are kept when they can be resumed.
        package var keepsPart = true
        /// Receives the number of kept bytes when a download ends early and can be resumed.
        package var kept: (@Sendable (Int64) -> Void)?

        /// Makes the default options.
        public init() {}
    }

    /// The SHA-256 of a file.
    public struct Digest: Sendable, Hashable, CustomStringConvertible {
        /// Its 32 bytes.
        public let bytes: Data

        /// Makes a digest from its bytes.
        ///
        /// - Throws: `LoadingError.Kind.invalidSetting` when there are not 32 of them.
        public init(_ bytes: Data) throws(LoadingError) {
            guard bytes.count == 32 else {
                let reason = "\(bytes.count) bytes are no SHA-256, which has 32"
                throw LoadingError(.invalidSetting(name: "expectedDigest", reason: reason))
            }
            self.bytes = Data(bytes)
        }

        /// Makes a digest from 64 hexadecimal digits, as `sha256sum` prints them.
        ///
        /// - Throws: `LoadingError.Kind.invalidSetting` for any other text.
        public init(_ hexadecimal: String) throws(LoadingError) {
            let digits = Array(hexadecimal.utf8)
            let values = digits.map { Int(hexadecimalDigit: $0) }
            guard digits.count == 64, !values.contains(nil) else {
                let shown = hexadecimal.escapedForDisplay(limit: 80)
                let reason = "“\(shown)” is no SHA-256, which has 64 hexadecimal digits"
                throw LoadingError(.invalidSetting(name: "expectedDigest", reason: reason))
            }
            let nibbles = values.compactMap(\.self)
            bytes = Data(stride(from: 0, to: 64, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) })
        }

        /// The hexadecimal digits.
        public var description: String { bytes.hexadecimalDigits }
    }

    /// How the reason begins for which an existing file was not completed.
    package static let noRest = "the server does not send the rest of the file"

    /// The reason for which a file of another download of the same caller is not written.
    package static let isWritten = "another response was written to it"

    /// The path of the file.
    public var path: String
    /// Where the file is, as a URL.
    public var fileURL: URL { URL(filePath: path) }
    /// How many bytes the body has.
    public var length: Int64
    /// How many of these bytes came from an earlier download.
    ///
    /// Bytes that this call had received before it resumed a truncated body are not among them.
    public var resumedLength: Int64
    /// The field of the server with the digest that was checked; nil when it sent none.
    public var checkedDigest: String?
    /// The head of the last response.
    public var response: Response
    /// Whether the file was left as it was, or not made, because a condition of the request holds.
    public var isUnchanged = false
}

extension Data {
    /// The bytes as `sha256sum` prints them.
    var hexadecimalDigits: String {
        map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension Int {
    /// The value of a hexadecimal digit of ASCII; nil for any other byte.
    fileprivate init?(hexadecimalDigit byte: UInt8) {
        switch byte {
        case 0x30...0x39: self = Int(byte) - 0x30
        case 0x41...0x46: self = Int(byte) - 0x37
        case 0x61...0x66: self = Int(byte) - 0x57
        default: return nil
        }
    }
}
