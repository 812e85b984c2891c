/// A link of the chain between caller and transport.
///
/// It may change the request, answer by itself, call `next` more than once, and change the response on the way back. It
/// keeps no state of a call but its local variables, and runs in the caller's task.
public protocol Interceptor: Sendable {
    /// Handles one request.
    ///
    /// - Parameters:
    ///   - request: What came from the link above.
    ///   - next: The rest of the chain.
    /// - Returns: What goes to the link above.
    /// - Throws: What the rest of the chain throws, or what this link finds wrong.
    func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response

    /// Whether all that the link itself waits for ends with ``Call/scope`` as it does with its task; false unless said
    /// otherwise.
    ///
    /// True for a link that waits for nothing but `next`. A call through a link that does not say so runs in a task of its
    /// own, which costs some microseconds.
    var observesScope: Bool { get }
}

extension Interceptor {
    /// False: only the task is looked at.
    public var observesScope: Bool { false }
}

/// The rest of the chain below a link: callable again, and from a child task.
public struct Next: Sendable {
    @usableFromInline let links: Chain.Links
    @usableFromInline let index: Int
    /// The call that is being made; a link may change its copy for those below.
    public var call: Call

    @inlinable
    init(links: Chain.Links, index: Int, call: Call) {
        self.links = links
        self.index = index
        self.call = call
    }

    // Inlined into the links, which saves each of them a frame.
    /// Sends a request down the rest of the chain.
    @inlinable
    public func callAsFunction(_ request: Request) async throws(LoadingError) -> Response {
        guard index < links.interceptors.count else {
            return try await links.transport.send(request, call: call.carrying(request))
        }
        let below = Next(links: links, index: index + 1, call: call)
        return try await links.interceptors[index].intercept(request, next: below)
    }
}

/// An ordered list of links with a transport at its end, outermost first.
///
/// A value that can be printed and changed.
public struct Chain: Sendable {
    // Shared by every `Next` of every call, so that a step down the chain copies one reference.
    @usableFromInline
    final class Links: Sendable {
        @usableFromInline let interceptors: [any Interceptor]
        @usableFromInline let transport: any Transport
        let observeScope: Bool

        init(_ interceptors: [any Interceptor], _ transport: any Transport) {
            self.interceptors = interceptors
            self.transport = transport
            observeScope = transport.observesScope && interceptors.allSatisfy(\.observesScope)
        }
    }

    private var links: Links

    /// Makes a chain.
    public init(_ interceptors: [any Interceptor] = [], transport: any Transport) {
        links = Links(interceptors, transport)
    }

    /// The links, outermost first.
    public var interceptors: [any Interceptor] {
        get { links.interceptors }
        set { links = Links(newValue, transport) }
    }

    /// The end of the chain.
    public var transport: any Transport {
        get { links.transport }
        set { links = Links(interceptors, newValue) }
    }

    /// Sends a request through all links.
    ///
    /// - Throws: What the links and the transport throw; `LoadingError.cancelled` when the task is cancelled or the call
    ///   is given up by its scope.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        guard call.scope == nil || links.observeScope else {
            return try await call.inTask { [links] (call) async throws(LoadingError) in
                try await Next(links: links, index: 0, call: call)(request)
            }
        }
        return try await Next(links: links, index: 0, call: call)(request)
    }
}

extension Chain: CustomStringConvertible {
    /// The names of the links and the transport, outermost first.
    public var description: String {
        (interceptors.map { String(describing: type(of: $0)) } + [String(describing: type(of: transport))])
            .joined(separator: " → ")
    }
}
