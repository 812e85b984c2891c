import Foundation
import LadeCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Starts the platform's tasks and passes what they say on to the exchange each belongs to.
final class SessionDriver: NSObject, Sendable {
    #if canImport(FoundationNetworking)
        /// Suspending a task of FoundationNetworking closes its connection, and resuming it sends the request again and
        /// delivers the answer from its beginning: it must never be done.
        static let canPause = false
    #else
        static let canPause = true
    #endif

    /// The sessions that last as long as the driver, for all requests that need no connection of their own.
    enum Lane: CaseIterable {
        /// Fails at once without a network.
        case prompt
        /// Waits for a network.
        case patient
    }

    private struct Sessions {
        /// The lasting ones; empty after the end.
        var lasting: [Lane: URLSession] = [:]
        /// How many are not invalid yet.
        var liveCount = 0
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    // Making tasks and telling them what to do waits for their session's own queue: that must hold no caller up, nor
    // must the shared session hold up the others.
    private let sharedControl = DispatchQueue(label: "LadeURLSession.control")
    private let freshControl = DispatchQueue(label: "LadeURLSession.control.fresh", attributes: .concurrent)
    /// Where the platform calls back, one call after the other, so that what an exchange gathers has one writer (D-15).
    let callbacks: OperationQueue
    private let configuration: URLSessionConfiguration
    private let transfers = Locked<[ObjectIdentifier: Transfer]>([:])
    private let sessions = Locked(Sessions())
    #if canImport(Security)
        private let trust: ServerTrust
        /// Where certificates are checked: a look-up of a revocation must not hold up the callbacks of other exchanges.
        private let trustQueue = DispatchQueue(label: "LadeURLSession.trust", attributes: .concurrent)
        private let proxy: ProxySettings
    #endif

    /// Makes the driver and its shared session.
    ///
    /// - Throws: ``LoadingError/invalidSetting(name:reason:_:)`` for authorities that cannot be read.
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

    /// How many sessions there are that the platform has not let go of.
    var sessionCount: Int { sessions.withLock(\.liveCount) }

    /// Where the task of an exchange is told what to do.
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

    /// Makes a task known as the exchange's; false when the exchange has ended meanwhile.
    ///
    /// Known first, attached then: from the moment the exchange has the task it may cancel it on another thread, and the
    /// end that the platform reports must find the entry, which nothing else removes.
    func adopt(_ task: URLSessionTask, for transfer: Transfer, attach: (URLSessionTask) -> Bool) -> Bool {
        transfers.withLock { $0[ObjectIdentifier(task)] = transfer }
        if attach(task) { return true }
        transfers.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(task)) }
        return false
    }

    /// How many tasks are known to be an exchange's.
    var taskCount: Int { transfers.withLock(\.count) }

    private func makeLastingSessions() -> [Lane: URLSession] {
        // Where no session can wait for a network, the first one serves all.
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

    /// Lets what runs in the lasting sessions end, and starts what comes next in others, on connections of their own.
    ///
    /// The platform has no way to close a single connection that it believes to be sound.
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

    /// Ends every exchange as cancelled, and every session.
    func shutDown() {
        let lasting = sessions.withLock { sessions in
            defer { sessions.lasting = [:] }
            return sessions.lasting
        }
        for transfer in transfers.withLock({ Array($0.values) }) { transfer.cancel() }
        sharedControl.async { for session in lasting.values { session.invalidateAndCancel() } }
    }

    /// Waits until the platform has let go of every session.
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
        // A task that no exchange knows is of no use to anybody.
        guard let transfer = transfer(of: dataTask) else { return completionHandler(.cancel) }
        if let response = response as? HTTPURLResponse { transfer.headArrived(PlatformHead(response)) }
        completionHandler(.allow)
    }

    /// Told on Apple platforms, of tasks in a session that waits for a network.
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

    /// A redirect is an answer like any other: following it is the business of a link of the chain.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// Asked when the platform wants to send a body again, which is never done, and on Linux for a request without one.
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
            // FoundationNetworking asks after it has delivered the whole 401, and then says nothing more unless it is
            // given credentials or an end: the answer is complete here.
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
        /// Whether the platform has sessions that wait for a network: FoundationNetworking cannot switch it on.
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
                // Used by nothing else until the platform has its answer.
                nonisolated(unsafe) let presented = presented
                trustQueue.async { [self] in check(presented, of: host, for: transfer, completionHandler) }
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
            // Without a credential the platform delivers the 401, or goes on without a client certificate.
            completionHandler(.performDefaultHandling, nil)
        }

        private func check(
            _ presented: SecTrust,
            of host: String,
            for transfer: Transfer,
            _ completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            switch trust.judge(presented, host: host) {
            case .asThePlatformDoes: completionHandler(.performDefaultHandling, nil)
            case .accepted: completionHandler(.useCredential, URLCredential(trust: presented))
            case .acceptedUnchecked:
                transfer.record(.certificateCheckSkipped(host: host))
                completionHandler(.useCredential, URLCredential(trust: presented))
            case .pinMismatch:
                transfer.fail(.pinMismatch(host: host, ErrorContext(transfer.request)))
                completionHandler(.cancelAuthenticationChallenge, nil)
            case .refused(let fault):
                transfer.fail(.untrustedServer(fault, ErrorContext(transfer.request)))
                completionHandler(.cancelAuthenticationChallenge, nil)
            }
        }
    }
#endif
