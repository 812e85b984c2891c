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
        /// The new file has the permissions of the old one. Of a symbolic link, the file that it leads to is replaced. A
        /// pipe or a device is written to and never replaced; a wait for its reader ends with the task and the loader.
        public var mayOverwrite = false
        /// The most bytes that are accepted; nil, the default, for no limit.
        ///
        /// A larger body fails with `LoadingError.Kind.bodyTooLarge`.
        public var lengthLimit: Int64?
        /// Called after each piece with the bytes that are there and, when it is known, their number in all; quick, in
        /// the task of the download.
        package var onPiece: (@Sendable (_ received: Int64, _ total: Int64?) -> Void)?
        /// The statuses whose bodies become files; 200 and 206 by default, whatever the service accepts.
        ///
        /// They are the acceptable statuses of the call, so they are not retried.
        /// A part that was not requested never becomes a file, nor the response to a range that does not exist (416).
        public var acceptableStatuses: StatusSet = [200, 206]
        /// Whether the body of any status becomes the file; the status is retried all the same.
        package var storesEveryStatus = false
        /// What stands in the file before the body; nil for nothing.
        package var prologue: (@Sendable (Response) -> Data)?
        /// Whether an existing file counts as the beginning of the body, and is completed.
        ///
        /// It is replaced when the body is complete. If the server does not send the rest, the download fails, unless the
        /// file may be overwritten.
        package var continuesFile = false
        /// Whether the request is sent without fields of the download's own, and a coded body is stored as it arrives.
        package var asksAsGiven = false
        /// Receives a response with a refused status, and the beginning of its body, before the download fails.
        package var refused: (@Sendable (Response, Data) -> Void)?
        /// Called before the file is hashed; for tests.
        var hashed: (@Sendable () -> Void)?
        /// Receives the number of kept bytes when a download ends early and can be resumed.
        package var kept: (@Sendable (Int64) -> Void)?

        /// Makes the default options.
        public init() {}
    }

    /// How the reason begins for which an existing file was not completed.
    package static let noRest = "the server does not send the rest of the file"

    /// The path of the file.
    public var path: String
    /// Where the file is, as a URL.
    public var fileURL: URL { URL(filePath: path) }
    /// How many bytes the body has.
    public var length: Int64
    /// How many of these bytes came from an earlier download.
    public var resumedLength: Int64
    /// The field with the digest that was checked; nil when the server sent none.
    public var checkedDigest: String?
    /// The head of the last response.
    public var response: Response
}
