/// The parts of a request's head of HTTP/1 that differ from those of other requests, for the options of the command.
///
/// Only transports that write heads themselves observe it.
package struct HeadForm: Sendable, Hashable {
    /// Whether the head names HTTP/1.0 as its version; a body must have a length then.
    package var isHTTP1_0 = false
    /// Whether requests for a tunnel name HTTP/1.0.
    package var asksProxyByHTTP1_0 = false
    /// The request target, in place of path and query; nil for those of the address.
    package var target: String?
    /// The value of `Proxy-Authorization`; nil makes it of the credentials of the proxy.
    package var proxyAuthorization: Secret?
    /// The fields for the proxy alone.
    package var proxyFields = Headers()

    package init() {}
}

private enum HeadFormTag: Request.Tag {
    static let defaultValue = HeadForm()
}

extension Request {
    /// How its head is written.
    package var headForm: HeadForm {
        get { self[HeadFormTag.self] }
        set { self[HeadFormTag.self] = newValue }
    }
}
