import Foundation
import LadeCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Starts the platform's tasks and forwards their callbacks to the exchanges.
final class SessionDriver: NSObject, Sendable {
    #if canImport(FoundationNetworking)
        /// Suspending a task of FoundationNetworking closes its connection.
        ///
        /// Resuming it sends the request again and delivers the response from its beginning, so tasks must never be
        /// suspended.
        static let canPause = false
    #else
        static let canPause = true
    #endif

    /// The sessions that last as long as the driver, for all requests that can share connections.
    enum Lane: CaseIterable {
        /// Fails immediately without a network.
        case prompt
        /// Waits for a network.
        case patient
    }

    private struct Sessions {
        /// The lasting sessions; empty after the end.
        var lasting: [Lane: URLSession] = [:]
        /// How many sessions are not invalid yet.
        var liveCount = 0
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    // Making and controlling tasks waits for the queue of their session. That must block neither callers nor, because
    // of the shared session, the other sessions.
    private let sharedControl = DispatchQueue(label: "LadeURLSession.control")
    private let freshControl = DispatchQueue(label: "LadeURLSession.control.fresh", attributes: .concurrent)
    /// The serial queue of the platform's callbacks, so that the data of an exchange has a single writer.
    let callbacks: OperationQueue
    private let configuration: URLSessionConfiguration
    private let transfers = Locked<[ObjectIdentifier: Transfer]>([:])
    private let sessions = Locked(Sessions())
    #if canImport(Security)
        private let trust: ServerTrust
        private let trustQueue = TrustQueue()
        private let proxy: TransportSettings.ProxyChoice
    #endif

    /// Makes the driver and its shared session.
    ///
    /// - Throws: ``LoadingError/Kind/invalidSetting(name:reason:)`` for authorities that cannot be read.
    init(_ configuration: URLSessionConfiguration, settings: TransportSettings) throws(LoadingError) {
        self.configuration = configuration
        callbacks = OperationQueue()
        callbacks.maxConcurrentOperationCount = 1
        #if canImport(Security)
            trust = try ServerTrust(settings.tls)
            proxy = settings.proxy
        #endif
        super.init()
        let lasting = makeLastingSessions()
        sessions.withLock { $0.lasting = lasting }
    }

    /// The number of sessions that the platform has not invalidated yet.
    var sessionCount: Int { sessions.withLock(\.liveCount) }

    /// The queue on which the task of an exchange is controlled.
    func control(of transfer: Transfer) -> DispatchQueue {
        transfer.platform.needsFreshConnection ? freshControl : sharedControl
    }

    /// Starts the platform's part of an exchange.
    func start(_ transfer: Transfer, upload: Upload) {
        control(of: transfer).async { [self] in
            let lane = Lane.of(transfer.platform)
            guard let shared = sessions.withLock({ $0.lasting[lane] }) else { return transfer.cancel() }
            let fresh = transfer.platform.needsFreshConnection ? makeSession(lane) : nil
            let task = makeTask(in: fresh ?? shared, for: transfer, upload)
            if adopt(task, for: transfer, attach: transfer.attach) { task.resume() } else { task.cancel() }
            fresh?.finishTasksAndInvalidate()
        }
    }

    /// Registers the task of an exchange; false when the exchange has ended meanwhile.
    ///
    /// The task is registered first and attached afterwards. As soon as the exchange has the task it may cancel it on
    /// another thread. The platform's report of the end must find the registration then, because nothing else removes
    /// it.
    func adopt(_ task: URLSessionTask, for transfer: Transfer, attach: (URLSessionTask) -> Bool) -> Bool {
        transfers.withLock { $0[ObjectIdentifier(task)] = transfer }
        if attach(task) { return true }
        transfers.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(task)) }
        return false
    }

    /// The number of registered tasks.
    var taskCount: Int { transfers.withLock(\.count) }

    private func makeLastingSessions() -> [Lane: URLSession] {
        // Where no session can wait for a network, the first one serves all requests.
        let lanes = Lane.canWait ? Lane.allCases : [.prompt]
        return Dictionary(uniqueKeysWithValues: lanes.map { ($0, makeSession($0)) })
    }

    private func makeSession(_ lane: Lane) -> URLSession {
        sessions.withLock { $0.liveCount += 1 }
        return URLSession(configuration: lane.configuration(configuration), delegate: self, delegateQueue: callbacks)
    }

    /// Makes the platform's task for an exchange, with the exchange's priority.
    func makeTask(in session: URLSession, for transfer: Transfer, _ upload: Upload) -> URLSessionTask {
        let task = makeTask(in: session, transfer.platform.urlRequest, upload)
        task.priority = transfer.request.priority.taskPriority
        return task
    }

    private func makeTask(in session: URLSession, _ request: URLRequest, _ upload: Upload) -> URLSessionTask {
        switch upload {
        case .none: return session.dataTask(with: request)
        case .bytes(let bytes): return session.uploadTask(with: request, from: bytes)
        case .file(let url): return session.uploadTask(with: request, fromFile: url)
        case .spooled(let file): return session.uploadTask(with: request, fromFile: file.url)
        #if canImport(Darwin)
            case .stream(let stream):
                var request = request
                request.httpBodyStream = stream.input
                return session.dataTask(with: request)
        #endif
        }
    }

    /// Lets the exchanges in the lasting sessions finish, and starts later ones in new sessions with new connections.
    ///
    /// The platform cannot close a single connection that it considers intact.
    func abandonConnections() {
        sharedControl.async { [self] in
            let fresh = makeLastingSessions()
            let spare = sessions.withLock { sessions in
                let old = sessions.lasting
                if !old.isEmpty { sessions.lasting = fresh }
                return old.isEmpty ? fresh : old
            }
            for session in spare.values { session.finishTasksAndInvalidate() }
        }
    }

    /// Cancels every exchange, and ends every session.
    func shutDown() {
        let lasting = sessions.withLock { sessions in
            defer { sessions.lasting = [:] }
            return sessions.lasting
        }
        for transfer in transfers.withLock({ Array($0.values) }) { transfer.cancel() }
        sharedControl.async { for session in lasting.values { session.invalidateAndCancel() } }
    }

    /// Waits until the platform has invalidated every session.
    func ended() async {
        await withCheckedContinuation { continuation in
            let isOver = sessions.withLock { sessions in
                if sessions.liveCount > 0 { sessions.waitingForEnd.append(continuation) }
                return sessions.liveCount == 0
            }
            if isOver { continuation.resume() }
        }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        let waiting = sessions.withLock { sessions in
            sessions.liveCount -= 1
            guard sessions.liveCount == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { sessions.waitingForEnd = [] }
            return sessions.waitingForEnd
        }
        for continuation in waiting { continuation.resume() }
    }

    private func transfer(of task: URLSessionTask) -> Transfer? {
        transfers.withLock { $0[ObjectIdentifier(task)] }
    }
}

extension SessionDriver: URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        // A task without an exchange is not needed.
        guard let transfer = transfer(of: dataTask) else { return completionHandler(.cancel) }
        if let response = response as? HTTPURLResponse { transfer.headArrived(PlatformHead(response)) }
        completionHandler(.allow)
    }

    /// Called on Apple platforms for tasks in a session that waits for a network.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        transfer(of: task)?.waitsForConnectivity()
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(of: dataTask)?.bytesArrived(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        transfer(of: task)?.bytesSent(bytesSent)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let transfer = transfers.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
        transfer?.finished(error.map(PlatformFailure.init), lateHead: lateHead(of: task))
    }

    /// A redirect is a response like any other: an interceptor of the chain follows it.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// Called when the platform wants to send a body again, which is never done; on Linux also for a request without a
    /// body.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        transfer(of: task)?.measured { $0.fill(from: metrics) }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(Security)
            guard let transfer = transfer(of: task) else {
                return completionHandler(.cancelAuthenticationChallenge, nil)
            }
            answer(challenge, for: transfer, completionHandler)
        #else
            // FoundationNetworking calls this after it has delivered the whole 401. It makes no further callback unless
            // it receives credentials or a cancellation, so the response is complete here.
            transfer(of: task)?.finished(nil, lateHead: lateHead(of: task))
            completionHandler(.cancelAuthenticationChallenge, nil)
        #endif
    }

    private func lateHead(of task: URLSessionTask) -> PlatformHead? {
        (task.response as? HTTPURLResponse).map(PlatformHead.init)
    }
}

extension SessionDriver.Lane {
    #if canImport(Security)
        /// Whether the platform has sessions that wait for a network.
        static let canWait = true
    #else
        /// Whether the platform has sessions that wait for a network: FoundationNetworking does not support it.
        static let canWait = false
    #endif

    /// The lane of a request.
    static func of(_ request: PlatformRequest) -> Self { canWait && request.waitsForConnectivity ? .patient : .prompt }

    fileprivate func configuration(_ shared: URLSessionConfiguration) -> URLSessionConfiguration {
        #if canImport(Security)
            guard self == .patient, let copy = shared.copy() as? URLSessionConfiguration else { return shared }
            copy.waitsForConnectivity = true
            return copy
        #else
            return shared
        #endif
    }
}

#if canImport(Security)
    extension SessionDriver {
        private func answer(
            _ challenge: URLAuthenticationChallenge,
            for transfer: Transfer,
            _ completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            if space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let presented = space.serverTrust {
                let host = space.host
                // Used by nothing else until the platform has its response.
                nonisolated(unsafe) let presented = presented
                trustQueue.check { [self] in check(presented, of: host, for: transfer, completionHandler) }
                return
            }
            if space.isProxy(), case .proxy(let proxy) = proxy, let credentials = proxy.credentials,
                challenge.previousFailureCount == 0
            {
                let credential = URLCredential(
                    user: credentials.user,
                    password: credentials.password.reveal(),
                    persistence: .none
                )
                return completionHandler(.useCredential, credential)
            }
            // Without a credential the platform delivers the 401, or continues without a client certificate.
            completionHandler(.performDefaultHandling, nil)
        }

        private func check(
            _ presented: SecTrust,
            of host: String,
            for transfer: Transfer,
            _ completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            switch trust.evaluate(presented, host: host) {
            case .asThePlatformDoes: completionHandler(.performDefaultHandling, nil)
            case .accepted: completionHandler(.useCredential, URLCredential(trust: presented))
            case .acceptedUnchecked:
                transfer.record(.certificateCheckSkipped(host: host))
                completionHandler(.useCredential, URLCredential(trust: presented))
            case .pinMismatch:
                transfer.fail(LoadingError(.pinMismatch(host: host), LoadingError.Context(transfer.request)))
                completionHandler(.cancelAuthenticationChallenge, nil)
            case .refused(let fault):
                transfer.fail(LoadingError(.untrustedServer(fault), LoadingError.Context(transfer.request)))
                completionHandler(.cancelAuthenticationChallenge, nil)
            }
        }
    }
#endif
