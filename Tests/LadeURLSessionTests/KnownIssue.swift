/// A case of the conformance suite that `URLSession` on Linux cannot pass, and why.
///
/// The one table of them: `WhatURLSessionCannotDo.md` shows the same rows, and a test compares the two. A row whose case
/// passes fails the tests, so that the table stays true.
struct KnownIssue: Sendable {
    /// How a case fails.
    enum Manner: Sendable, Hashable {
        /// Each time.
        case always
        /// On some runs only, for a reason that the row gives.
        case sometimes
        /// By ending the process; it is run in one of its own.
        case endsTheProcess
    }

    /// The number of the case.
    let number: String
    /// Why the platform cannot do better, as one sentence without a full stop.
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

    /// The row as it stands in the documentation.
    var documentation: String {
        let manner =
            switch manner {
            case .always: ""
            case .sometimes: " (sometimes)"
            case .endsTheProcess: " (**ends the process**)"
            }
        return "| \(number)\(manner) | \(reason) |"
    }

    /// Every known issue, in the order of the spec.
    static let all: [KnownIssue] = [
        KnownIssue("TR-02", "The parser takes the protocol name in any case, and hides how it was written"),
        KnownIssue("TR-03", "A status line that ends after the code cannot be parsed; with a space after it, it can"),
        KnownIssue("TR-12", "Folded lines arrive unfolded; nothing tells them from others"),
        KnownIssue(
            "TR-19",
            "A connection with bytes after a chunked answer is used again, and its next answer is lost"
        ),
        KnownIssue(
            "TR-23",
            "Nothing is heard of a head before it is complete, so a break in it looks like one before it"
        ),
        KnownIssue("TR-32", "Decoding cannot be switched off; the setting is refused"),
        KnownIssue("TR-33", "A body that is coded although the caller asked for none is decoded all the same"),
        KnownIssue("FH-3", "The platform takes a truncated coded body for a whole one, and one gzip member for all"),
        KnownIssue("FT-6", "Only the announced length of a coded body is known, not how much of it came"),
        KnownIssue("FT-10", "Reception cannot be paused: see TR-52"),
        KnownIssue("TR-34", "Field names are sent capitalised: `x-CuStOm` goes out as `X-Custom`"),
        KnownIssue(
            "TR-36",
            "A connection that is replaced may still be closing when its successor is open, one above the limit",
            .sometimes
        ),
        KnownIssue("TR-41", "A chunked body with trailers: see TR-49", .endsTheProcess),
        KnownIssue("TR-44", "Repeated fields are joined by commas under one name, in both directions"),
        KnownIssue("TR-45", "A written body is spooled to a file before it is sent: there is no duplex"),
        KnownIssue("TR-46", "A written body is spooled to a file before it is sent: there is no duplex"),
        KnownIssue("TR-48", "Dot segments are taken out of paths: `/b/./c/../d` goes out as `/b/d`"),
        KnownIssue("TR-49", "FoundationNetworking stops with a fatal error when trailers arrive", .endsTheProcess),
        KnownIssue("TR-50", "Trailers cannot be sent; a body with them is refused"),
        KnownIssue("TR-51", "A body of unknown length is spooled, and goes out with its length instead of chunked"),
        KnownIssue("TR-52", "Reception cannot be paused: suspending a task closes its connection and sends it again"),
        KnownIssue("TR-54", "No authority can be given besides the system's, so the TLS peer is not trusted"),
        KnownIssue("TR-55", "No authority can be given besides the system's, so the TLS peer is not trusted"),
        KnownIssue("TR-57", "A proxy can come from the environment only; one in the settings is refused"),
        KnownIssue("TR-58", "There is no way to a Unix-domain socket; the request is refused"),
        KnownIssue("TR-59", "There is no way to dial another host than the address names; the request is refused"),
        KnownIssue("TR-60", "Addresses with an IPv6 literal are refused by FoundationNetworking as malformed"),
        KnownIssue("TR-70", "Authorities cannot be given; the setting is refused"),
        KnownIssue(
            "TR-71",
            "No authority can be given, so certificates of the test's own one are all refused for their issuer"
        ),
        KnownIssue("TR-72", "Keys cannot be pinned; the setting is refused"),
        KnownIssue("TR-73", "Keys cannot be pinned; the setting is refused"),
        KnownIssue("FT-8", "Keys cannot be pinned; the setting is refused"),
        KnownIssue("TR-74", "There are no client certificates; the setting is refused"),
        KnownIssue("TR-75", "Certificates are always checked; the setting is refused"),
        KnownIssue("TR-80", "The platform does not tell when it has connected, so the connect time-out is not kept"),
        KnownIssue(
            "TR-81",
            "While bytes come faster than they are taken, the session's queue never turns to cancelling",
            .sometimes
        ),
        KnownIssue("TR-83", "A limit for all connections and an idle life cannot be set; the settings are refused"),
        KnownIssue("TR-84", "FoundationNetworking collects no metrics"),
        KnownIssue("TR-85", "A chunked body with trailers: see TR-49", .endsTheProcess),
        KnownIssue("TR-87", "A break in the head looks like one before it: see TR-23"),
        KnownIssue("TR-90", "Cancelling waits for the name look-up, and everything else of the session waits for that"),
        KnownIssue("TR-92", "No authority can be given besides the system's, so the TLS peer is not trusted"),
        KnownIssue("TR-93", "No authority can be given besides the system's, so the TLS peer is not trusted"),
        KnownIssue("TR-94", "No authority can be given besides the system's, so the TLS peer is not trusted"),
        KnownIssue(
            "TR-95",
            "Calls wait for a connection in libcurl, which knows neither their order nor their priority"
        ),
    ]
}
