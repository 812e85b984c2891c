import Lade

#if os(Linux)
    import LadeWire
#endif

/// The version of the program, and its capabilities.
enum Version {
    /// The version of the program and its libraries.
    static let number = UserAgent.LibraryVersion.number

    /// Version, transport, TLS, codings and HTTP versions as a line of JSON.
    static func json() -> String {
        #if os(Linux)
            let description = WireTransport.description
            let transport = object(("name", "LadeWire"), ("version", number), ("http2", description.http2))
            let tls = JSONQuoting.string(description.tls)
            let codings = description.codings
            let versions = description.httpVersions
        #else
            // The system's own client reports no more about itself.
            let transport = object(("name", "URLSession"))
            let tls = JSONQuoting.string("Network.framework")
            let codings = ["gzip", "deflate", "br"]
            let versions = ["HTTP/1.1", "HTTP/2", "HTTP/3"]
        #endif
        let members = [
            ("name", JSONQuoting.string("lade")), ("version", JSONQuoting.string(number)), ("transport", transport),
            ("tls", tls), ("codings", list(codings)), ("httpVersions", list(versions)),
        ]
        return JSONQuoting.object(members.map { (name: $0.0, value: $0.1) }) + "\n"
    }

    private static func object(_ members: (String, String)...) -> String {
        JSONQuoting.object(members.map { (name: $0.0, value: JSONQuoting.string($0.1)) })
    }

    private static func list(_ texts: [String]) -> String {
        "[" + texts.map(JSONQuoting.string).joined(separator: ",") + "]"
    }
}
