import Foundation

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
    /// Parts of the text of its findings, each of which occurs; a finding without any of them fails the tests.
    ///
    /// One that excuses a hang contains `hang: `.
    let findings: [String]
    /// Parts of the text of findings that do not occur each time.
    let occasional: [String]

    private init(
        _ number: String,
        _ reason: String,
        _ manner: Manner = .always,
        findings: [String] = [],
        occasional: [String] = []
    ) {
        self.number = number
        self.reason = reason
        self.manner = manner
        self.findings = findings
        self.occasional = occasional
    }

    /// The transport's response to a setting about certificates.
    private static let trust = "on Linux does not allow changing how it trusts"
    /// The transport's response to a destination.
    private static let dialling = "no way to dial another destination"

    /// The row of a case, if it has one.
    static func of(_ number: String) -> KnownIssue? {
        all.first { $0.number == number }
    }

    /// The findings that occur each time; under a sanitizer memory is not measured.
    var certain: [String] {
        guard manner == .always else { return [] }
        return findings.filter { !Self.isSanitized || $0 != "the process grew" }
    }

    /// Whether Scripts/sanitize runs the tests, which takes several times as long.
    static let isSanitized = ProcessInfo.processInfo.environment["LADE_SANITIZER"] != nil

    /// The entries that name hangs; they need no patience.
    var hangs: [String] { (findings + occasional).filter { $0.contains("hang: ") } }

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
        KnownIssue(
            "TR-02",
            "The parser takes the protocol name in any case, and hides how it was written",
            findings: [
                "expected a malformed response, got 200", "a head was delivered", "a head was reported as an event",
            ]
        ),
        KnownIssue(
            "TR-03",
            "A status line that ends after the code cannot be parsed; one with a space after the code can",
            findings: ["no space: "]
        ),
        KnownIssue(
            "TR-12",
            "Folded lines arrive unfolded and cannot be distinguished",
            findings: [
                "expected a malformed response, got 200", "a head was delivered", "a head was reported as an event",
            ]
        ),
        KnownIssue(
            "TR-16",
            "A head counts as its fields, because its bytes are not visible",
            findings: ["a head 1 bytes above the limit"]
        ),
        KnownIssue(
            "TR-19",
            "A connection with bytes after a chunked response is reused, and its next response is lost",
            findings: ["chunked: "],
            occasional: ["chunked: hang: GET / "]
        ),
        KnownIssue(
            "TR-23",
            "An incomplete head is not reported, so a reset within it looks like one before it",
            findings: ["in the head: "]
        ),
        KnownIssue(
            "TR-32",
            "Decoding cannot be switched off; the setting is refused",
            findings: ["decodesContent cannot be used"]
        ),
        KnownIssue(
            "TR-33",
            "A body that is coded although the caller requested no coding is decoded",
            findings: ["it was changed", "Content-Encoding", "Content-Length"]
        ),
        KnownIssue(
            "FH-3",
            "The platform treats a truncated coded body as complete, and the first gzip member as all",
            findings: [
                "expected an incomplete body, got 200", "with a byte more", "labelled", "two members",
                "a second member cut", "zeros", "in the wrong order", "a hundred codings", "an empty redirect",
            ]
        ),
        KnownIssue(
            "FT-6",
            "Only the announced length of a coded body is known, not how much of it arrived",
            findings: ["buffered: hang: GET / ", "streamed: hang: GET / "]
        ),
        KnownIssue("FT-10", "Reception cannot be suspended: see TR-52", findings: ["the process grew"]),
        KnownIssue(
            "TR-34",
            "Field names are sent capitalised: `x-CuStOm` goes out as `X-Custom`",
            findings: ["did not arrive as it was given"]
        ),
        KnownIssue(
            "TR-36",
            "A connection that is replaced may still be closing when its successor is open, one above the limit",
            .sometimes,
            findings: ["connections were open at the same time"]
        ),
        KnownIssue("TR-41", "A chunked body with trailers: see TR-49", .endsTheProcess),
        KnownIssue(
            "TR-44",
            "Repeated fields are joined by commas under one name, in both directions",
            findings: ["values in the request", "names in the request"],
            // In the order of a dictionary, which is sometimes the right one.
            occasional: ["values in the response"]
        ),
        KnownIssue(
            "TR-45",
            "A streamed body is spooled to a file before it is sent: there is no duplex",
            findings: ["hang: 1,000 echoes did"]
        ),
        KnownIssue(
            "TR-46",
            "A streamed body is spooled to a file before it is sent: there is no duplex",
            findings: ["hang: 1,000 responses did"]
        ),
        KnownIssue(
            "TR-48",
            "Dot segments are removed from paths: `/b/./c/../d` goes out as `/b/d`",
            findings: ["target at the server"]
        ),
        KnownIssue("TR-49", "FoundationNetworking stops with a fatal error when trailers arrive", .endsTheProcess),
        KnownIssue(
            "TR-50",
            "Trailers cannot be sent; a body with them is refused",
            findings: ["no request trailers", "hang: the request did"]
        ),
        KnownIssue(
            "TR-51",
            "A body of unknown length is spooled, and sent with its length instead of chunked",
            findings: ["sequence: Content-Length", "bytes ahead of the server"]
        ),
        KnownIssue(
            "TR-52",
            "Reception cannot be suspended: suspending a task closes its connection and sends the request again",
            findings: ["were taken from the server", "the process grew"]
        ),
        KnownIssue("TR-54", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
        KnownIssue("TR-55", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
        KnownIssue(
            "TR-57",
            "A proxy is possible only through the environment; one in the settings is refused",
            findings: [
                trust, "takes a proxy from the environment only", "no way past the environment's proxy", dialling,
            ]
        ),
        KnownIssue("TR-58", "Unix-domain sockets are not supported; the request is refused", findings: [dialling]),
        KnownIssue(
            "TR-59",
            "Connecting to another host than that of the address is not supported; the request is refused",
            findings: [dialling, trust]
        ),
        KnownIssue(
            "TR-60",
            "Addresses with an IPv6 literal are refused by FoundationNetworking as malformed",
            findings: ["literal: "]
        ),
        KnownIssue("TR-70", "Authorities cannot be set; the setting is refused", findings: [trust]),
        KnownIssue(
            "TR-71",
            "Authorities cannot be set, so all certificates of the test's authority are refused because of their issuer",
            findings: [trust, "takes no revocation lists"]
        ),
        KnownIssue("TR-72", "Keys cannot be pinned; the setting is refused", findings: [trust]),
        KnownIssue("TR-73", "Keys cannot be pinned; the setting is refused", findings: [trust]),
        KnownIssue("FT-8", "Keys cannot be pinned; the setting is refused", findings: [trust]),
        KnownIssue(
            "TR-74",
            "There are no client certificates; the setting is refused",
            findings: [trust, "takes no identity from PEM files"]
        ),
        KnownIssue("TR-75", "Certificates are always checked; the setting is refused", findings: [trust]),
        KnownIssue(
            "TR-80",
            "The platform does not report when it has connected, so the connect time-out is not enforced",
            findings: ["connect: hang: GET / ", trust],
            occasional: [
                "whole in a body that moves, buffered: hang: ", "whole in a body that moves, streamed: hang: ",
                // After a time-out the session sometimes never sends the next request.
                "nothing later arrives: ", "no limit at all: ",
            ]
        ),
        KnownIssue(
            "TR-81",
            "While bytes arrive faster than they are read, the session's queue does not get to cancelling",
            .sometimes,
            findings: ["not announced: hang: "]
        ),
        KnownIssue(
            "TR-83",
            "The total number of connections and their idle life cannot be set; the settings are refused",
            findings: ["connections.total cannot be used", "connections.idleLife cannot be used"]
        ),
        KnownIssue(
            "TR-84",
            "FoundationNetworking collects no metrics",
            findings: [
                "reported as reused", "no time of connect", "no time of request", "bytes of the request's head",
                "bytes of the response's heads", "version: ", "remote address", "remote port",
                "no time of the name look-up", trust,
            ]
        ),
        KnownIssue("TR-85", "A chunked body with trailers: see TR-49", .endsTheProcess),
        KnownIssue(
            "TR-87",
            "A reset within the head looks like one before it: see TR-23. On a busy machine, a reset is sometimes noticed "
                + "only at the end of the idle time-out",
            findings: ["/resetInHead/"],
            occasional: ["Nothing was sent or received within 30 s"]
        ),
        KnownIssue(
            "TR-90",
            "Cancelling waits for the name look-up, and all other exchanges of the session wait for that",
            findings: ["hang: reading on while a look-up hangs did"],
            // On a busy machine all others have ended before.
            occasional: ["The call was cancelled"]
        ),
        KnownIssue("TR-92", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
        KnownIssue("TR-93", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
        KnownIssue("TR-94", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
        KnownIssue("TR-95", "Calls wait for a connection in libcurl, without order or priority", findings: ["order: "]),
        KnownIssue("FT-1", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
        KnownIssue(
            "FT-4",
            "Calls wait for a connection in libcurl, and a wait cannot be distinguished from a slow server",
            findings: ["expected 200, “ok”"],
            occasional: ["requests: ", "whether an exchange was in progress"]
        ),
        KnownIssue(
            "FH-1",
            "The platform reads what arrived before a request as the beginning of its response",
            findings: ["hang: GET /next ", "hang: closing the connection did", trust],
            // It depends on when the bytes are read, which is later on a busy machine.
            occasional: ["“evil”", "times the next request arrived", "connections: expected 2, got 1"]
        ),
        KnownIssue(
            "FT-9",
            "A connection with bytes after a response is used again",
            findings: ["hang: GET / ", "Received HTTP/0.9", "connections: expected 2, got 1"]
        ),
        KnownIssue("FH-4", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
        KnownIssue("FH-5", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
        KnownIssue("FH-11", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
        KnownIssue("FH-13T", "A chunked body with trailers: see TR-49", .endsTheProcess),
        KnownIssue(
            "FH-13",
            "The platform parses the chunks, and accepts some that RFC 9112 does not allow",
            findings: [
                "bare LF", "text after a size", "a comma", "0x: ", "data that is too short",
                "a folded line after the status line",
            ]
        ),
        KnownIssue(
            "FH-14",
            "The TLS peer is not trusted, and a chunked response is incomplete when the body of its request was not read",
            findings: [trust],
            occasional: ["a response (chunked) to"]
        ),
        KnownIssue(
            "FT-13",
            "A body with HEAD is refused",
            findings: ["no body for a HEAD request", "X-A: expected Optional(\"1\"), got nil"]
        ),
        KnownIssue("FH-2", "Only the system's authorities are trusted, not the TLS peer's", findings: [trust]),
    ]
}
