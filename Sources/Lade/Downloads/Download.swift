/// A file that was downloaded.
public struct Download: Sendable {
    /// How a file is downloaded.
    public struct Options: Sendable {
        /// Whether what an interrupted download has left is gone on with, also within the call; true by default.
        public var resumes = true
        /// How many times a broken body is gone on with within the call; 3 by default.
        public var resumeLimit = 3
        /// Whether a file of that name is replaced; false by default, which fails when there is one.
        public var mayOverwrite = false
        /// Called after each piece with the bytes that are there and, when it is known, their number in all; quick, in
        /// the task of the download.
        public var progress: (@Sendable (_ received: Int64, _ total: Int64?) -> Void)?

        /// Makes the default options.
        public init() {}
    }

    /// Where the file is.
    public var path: String
    /// How many bytes it has.
    public var length: Int64
    /// How many of them were there before.
    public var resumedLength: Int64
    /// The field that named the digest that was checked; nil when the server named none.
    public var checkedDigest: String?
    /// The head of the last answer.
    public var response: Response
}
