import LadeCore

extension CacheWork {
    /// How long a validation in the background may take.
    private static let limit = Duration.seconds(30)

    /// Validates a stale response that was served (RFC 5861 §3), unless that is in progress, or has just failed.
    ///
    /// The validation is a call of its own, without observers. It survives this call, and ends with the account and the
    /// service.
    func revalidate(_ condition: CacheCondition, _ lookup: CacheLookup) {
        guard let key = query.key else { return }
        let now = call.time.now
        let number = cache.state.withLock { state -> UInt64? in
            guard !state.isClosed, state.background.begin(key, now: now) else { return nil }
            let number = state.nextNumber()
            state.tasks[number] = CacheTask(account: call.account, task: nil)
            return number
        }
        guard let number else { return }
        let work = makeBackgroundWork(now)
        let inquiry = Inquiry(work: work, form: .condition(condition), lookup: lookup, rule: .stale)
        // Owned by the cache, which cancels it with the account and the service.
        let task = Task(priority: .utility) {
            // Another process that uses the store is asking already.
            guard work.store.reserveExchange(for: key) else {
                return work.cache.endBackgroundWork(number, key, hasFailed: false, at: work.call.time.now)
            }
            defer { work.store.endExchange(for: key) }
            var hasFailed = true
            // The response is stored, and its error only delays the next validation.
            if let response = try? await work.call.untilDeadline({ (_) async throws(LoadingError) in
                try await work.response(to: inquiry)
            }) {
                hasFailed = response.source == .cache || response.status.code >= 500
            }
            work.cache.endBackgroundWork(number, key, hasFailed: hasFailed, at: work.call.time.now)
        }
        let isLate = cache.state.withLock { state in
            state.tasks[number]?.task = task
            return state.isClosed
        }
        if isLate { task.cancel() }
    }

    /// Sends the requests of the cache until there is a response; they enter below the cache.
    private func response(to inquiry: Inquiry) async throws(LoadingError) -> Response {
        let account = AccountCache(cache, identity)
        var step = send(inquiry)
        while true {
            switch step {
            case .serve(let response): return response
            case .send(let sent, let question): step = try await account.settle(await next.outcome(sent), question)
            }
        }
    }

    private func makeBackgroundWork(_ now: Instant) -> CacheWork {
        var call = Call(account: call.account, time: call.time, random: call.random)
        call.deadline = now.advanced(by: Self.limit)
        var next = next
        next.call = call
        var request = request
        request.priority = .low
        // Its heads do not belong to the caller's response.
        request.headRecord = nil
        request.delivery = .buffered(limit: Request.defaultBufferLimit)
        return CacheWork(cache, request, identity, next, request.headRecord?.position ?? 0)
    }
}

extension ResponseCache {
    fileprivate func endBackgroundWork(_ number: UInt64, _ key: CacheKey, hasFailed: Bool, at now: Instant) {
        let entry = state.withLock { state in
            state.background.end(key, hasFailed: hasFailed, now: now)
            return state.tasks.removeValue(forKey: number)
        }
        withExtendedLifetime(entry) {}
    }
}
