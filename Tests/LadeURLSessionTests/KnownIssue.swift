/// A case of the conformance suite that `URLSession` on Linux cannot pass, and why.
///
/// `WhatURLSessionCannotDo.md` shows the same rows, and a test compares the two. A row whose case passes fails the tests, so
/// that the table stays up to date.
struct KnownIssue: Sendable {
    /// How a case fails.
    enum Manner: Sendable, Hashable {
        /// Each time.
        case always
        /// On some runs only, for a reason that the row gives.
        case sometimes
        /// By ending the process; it runs in a separate one.
        case endsTheProcess
    }

    /// The number of the case.
    let number: String
    /// The reason, as one sentence without a full stop.
    let reason: String
    /// How it fails.
    let manner: Manner

    private init(_ number: String, _ reason: String, _ manner: Manner = .always) {
        self.number = number
        self.reason = reason
        self.manner = manner
    }

    /// The row of a case, if it has one.
    static func of(_ number: String) -> KnownIssue? {
        all.first { $0.number == number }
    }

    /// The row in the documentation.
    var documentation: String {
        let manner =
            switch manner {
            case .always: ""
            case .sometimes: " (sometimes)"
            case .endsTheProcess: " (**ends the process**)"
            }
        return "| \(number)\(manner) | \(reason) |"
    }

    /// Every known issue, in the order of the cases.
    static let all: [KnownIssue] = [
        KnownIssue("TR-02", "The parser takes the protocol name in any case, and hides how it was written"),
        KnownIssue(
            "TR-03",
            "A status line that ends after the code cannot be parsed; one with a space after the code can"
        ),
        KnownIssue("TR-12", "Folded lines arrive unfolded and cannot be distinguished"),
        KnownIssue(
            "TR-19",
            "A connection with bytes after a chunked answer is reused, and its next answer is lost"
        ),
        KnownIssue(
            "TR-23",
            "An incomplete head is not reported, so a reset within it looks like one before it"
        ),
        KnownIssue("TR-32", "Decoding cannot be switched off; the setting is refused"),
        KnownIssue("TR-33", "A body that is coded although the caller requested no coding is decoded"),
        KnownIssue("FH-3", "The platform treats a truncated coded body as complete, and the first gzip member as all"),
        KnownIssue("FT-6", "Only the announced length of a coded body is known, not how much of it arrived"),
        KnownIssue("FT-10", "Reception cannot be suspended: see TR-52"),
        KnownIssue("TR-34", "Field names are sent capitalised: `x-CuStOm` goes out as `X-Custom`"),
        KnownIssue(
            "TR-36",
            "A connection that is replaced may still be closing when its successor is open, one above the limit",
            .sometimes
        ),
        KnownIssue("TR-41", "A chunked body with trailers: see TR-49", .endsTheProcess),
        KnownIssue("TR-44", "Repeated fields are joined by commas under one name, in both directions"),
        KnownIssue("TR-45", "A streamed body is spooled to a file before it is sent: there is no duplex"),
        KnownIssue("TR-46", "A streamed body is spooled to a file before it is sent: there is no duplex"),
        KnownIssue("TR-48", "Dot segments are removed from paths: `/b/./c/../d` goes out as `/b/d`"),
        KnownIssue("TR-49", "FoundationNetworking stops with a fatal error when trailers arrive", .endsTheProcess),
        KnownIssue("TR-50", "Trailers cannot be sent; a body with them is refused"),
        KnownIssue("TR-51", "A body of unknown length is spooled, and sent with its length instead of chunked"),
        KnownIssue(
            "TR-52",
            "Reception cannot be suspended: suspending a task closes its connection and sends the request again"
        ),
        KnownIssue("TR-54", "Only the system's authorities are trusted, so the TLS peer is not"),
        KnownIssue("TR-55", "Only the system's authorities are trusted, so the TLS peer is not"),
        KnownIssue("TR-57", "A proxy is possible only through the environment; one in the settings is refused"),
        KnownIssue("TR-58", "Unix-domain sockets are not supported; the request is refused"),
        KnownIssue(
            "TR-59",
            "Connecting to another host than that of the address is not supported; the request is refused"
        ),
        KnownIssue("TR-60", "Addresses with an IPv6 literal are refused by FoundationNetworking as malformed"),
        KnownIssue("TR-70", "Authorities cannot be set; the setting is refused"),
        KnownIssue(
            "TR-71",
            "Authorities cannot be set, so all certificates of the test's authority are refused because of their issuer"
        ),
        KnownIssue("TR-72", "Keys cannot be pinned; the setting is refused"),
        KnownIssue("TR-73", "Keys cannot be pinned; the setting is refused"),
        KnownIssue("FT-8", "Keys cannot be pinned; the setting is refused"),
        KnownIssue("TR-74", "There are no client certificates; the setting is refused"),
        KnownIssue("TR-75", "Certificates are always checked; the setting is refused"),
        KnownIssue(
            "TR-80",
            "The platform does not report when it has connected, so the connect time-out is not enforced"
        ),
        KnownIssue(
            "TR-81",
            "While bytes arrive faster than they are read, the session's queue does not get to cancelling",
            .sometimes
        ),
        KnownIssue(
            "TR-83",
            "The total number of connections and their idle life cannot be set; the settings are refused"
        ),
        KnownIssue("TR-84", "FoundationNetworking collects no metrics"),
        KnownIssue("TR-85", "A chunked body with trailers: see TR-49", .endsTheProcess),
        KnownIssue("TR-87", "A reset within the head looks like one before it: see TR-23"),
        KnownIssue(
            "TR-90",
            "Cancelling waits for the name look-up, and all other exchanges of the session wait for that"
        ),
        KnownIssue("TR-92", "Only the system's authorities are trusted, so the TLS peer is not"),
        KnownIssue("TR-93", "Only the system's authorities are trusted, so the TLS peer is not"),
        KnownIssue("TR-94", "Only the system's authorities are trusted, so the TLS peer is not"),
        KnownIssue(
            "TR-95",
            "Calls wait for a connection in libcurl, without order or priority"
        ),
    ]
}
