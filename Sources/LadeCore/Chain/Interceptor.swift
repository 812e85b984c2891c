/// A step in the chain between caller and transport.
///
/// An interceptor may change the request, return a response of its own, call `next` more than once, and change the response on
/// the way back. It runs in the caller's task and keeps the state of a call in local variables only.
public protocol Interceptor: Sendable {
    /// Handles one request.
    ///
    /// - Parameters:
    ///   - request: The request from the interceptor above.
    ///   - next: The rest of the chain.
    /// - Returns: The response for the interceptor above.
    /// - Throws: The errors of the rest of the chain, and those of this interceptor.
    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response

    /// Whether everything that the interceptor itself waits for ends when ``Call/scope`` is cancelled; false by
    /// default.
    ///
    /// Return true when the interceptor waits for nothing but `next` and ``Call/wait(until:for:)``. If any interceptor
    /// returns false, the call runs in a child task, which costs some microseconds. The task is cancelled with the
    /// scope, or 100 ms after the deadline of the call. An interceptor that ignores the cancellation of its task delays
    /// the end of its call until it returns.
    var observesScope: Bool { get }

    /// The names of the request's fields that the interceptor may add or change; `*`, the default, stands for any.
    ///
    /// A stored response whose `Vary` names a field that an interceptor below the cache may set is validated before each use.
    /// If such an interceptor adds credentials, the response is stored only for an account with an identifier. Return an empty
    /// list when address and fields of requests are passed on as they are.
    var changedFields: [String] { get }
}

extension Interceptor {
    /// False: the interceptor observes only its task.
    public var observesScope: Bool { false }

    /// `*`: the interceptor may change any field.
    public var changedFields: [String] { ["*"] }
}

extension Chain {
    /// The rest of the chain below an interceptor.
    ///
    /// It may be called several times, and from a child task.
    public struct Next: Sendable {
        @usableFromInline let parts: Chain.Parts
        @usableFromInline let index: Int
        /// The call in progress.
        ///
        /// An interceptor may change its copy for the interceptors below it.
        public var call: Call

        @inlinable
        init(parts: Chain.Parts, index: Int, call: Call) {
            self.parts = parts
            self.index = index
            self.call = call
        }

        /// Whether all interceptors of the chain, and its transport, observe the call's scope and its deadline.
        package var observesScope: Bool { parts.observeScope }

        // Inlined into the interceptors, which saves each of them a frame.
        /// Sends a request down the rest of the chain.
        @inlinable
        @inline(__always)
        public func callAsFunction(_ request: Request) async throws(LoadingError) -> Response {
            guard index < parts.interceptors.count else {
                return try await parts.transport.send(request, call: call.isObserved ? call.carrying(request) : call)
            }
            let below = Chain.Next(parts: parts, index: index + 1, call: call)
            return try await parts.interceptors[index].intercept(request, next: below)
        }

        /// Sends a request down the rest of the chain, and returns its outcome, whatever it is.
        @inlinable
        package func outcome(_ request: Request) async -> Result<Response, LoadingError> {
            do throws(LoadingError) {
                return .success(try await self(request))
            } catch {
                return .failure(error)
            }
        }
    }
}

/// An ordered list of interceptors, outermost first, with a transport at its end.
///
/// The chain is a value that can be printed and changed.
public struct Chain: Sendable {
    // Shared by every `Chain.Next` of every call, so that a step down the chain copies one reference.
    @usableFromInline
    final class Parts: Sendable {
        @usableFromInline let interceptors: [any Interceptor]
        @usableFromInline let transport: any Transport
        let observeScope: Bool

        init(_ interceptors: [any Interceptor], _ transport: any Transport) {
            self.interceptors = interceptors
            self.transport = transport
            observeScope = transport.observesScope && interceptors.allSatisfy(\.observesScope)
        }
    }

    private var parts: Parts

    /// Makes a chain.
    public init(_ interceptors: [any Interceptor] = [], transport: any Transport) {
        parts = Parts(interceptors, transport)
    }

    /// The interceptors, outermost first.
    public var interceptors: [any Interceptor] {
        get { parts.interceptors }
        set { parts = Parts(newValue, transport) }
    }

    /// The transport at the end of the chain.
    public var transport: any Transport {
        get { parts.transport }
        set { parts = Parts(interceptors, newValue) }
    }

    /// Sends a request through all interceptors.
    ///
    /// - Throws: The errors of the interceptors and the transport; `LoadingError.Kind.cancelled` when the task or the call's
    ///   scope is cancelled.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        do throws(LoadingError) {
            guard call.scope == nil || parts.observeScope else {
                return try await call.inTask { [parts] (call) async throws(LoadingError) in
                    try await Chain.Next(parts: parts, index: 0, call: call)(request)
                }
            }
            return try await Chain.Next(parts: parts, index: 0, call: call)(request)
        } catch {
            throw error.completed(with: request)
        }
    }
}

extension Chain: CustomStringConvertible {
    /// The names of the interceptors and the transport, outermost first.
    public var description: String {
        (interceptors.map { String(describing: type(of: $0)) } + [String(describing: type(of: transport))])
            .joined(separator: " → ")
    }
}
