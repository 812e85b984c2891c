import LadeCallbacks
import LadeCore
import LadePolicies
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RetryPolicyTests {
    private func action(
        _ outcome: RetryPolicy.Attempt.Ending,
        _ method: Request.Method = .get,
        policy: RetryPolicy = RetryPolicy(),
        change: (inout RetryPolicy.Attempt) -> Void = { _ in }
    ) throws -> RetryPolicy.Decision {
        var attempt = RetryPolicy.Attempt(try Request(method, "https://svc.example.com/thing"), outcome)
        change(&attempt)
        return policy.decision(attempt)
    }

    @Test(
        "policies PL-12 service RS-02 service RS-03 service RS-12 service D-04 decides by status",
        arguments: [
            (200, false), (204, false), (304, false), (0, false), (400, false), (401, false), (404, false),
            (409, false),
            (415, false), (501, false), (505, false), (408, true), (425, true), (429, true), (500, true), (502, true),
            (503, true), (504, true), (413, false),
        ]
    )
    func decidesByStatus(code: Int, isRepeated: Bool) throws {
        let decision = try action(.response(Response.Status(code), delay: nil))
        #expect((decision.action == .retry(after: .zero)) == isRepeated)
    }

    @Test("policies PL-12 retries 413 only when the answer says when")
    func repeats413WithPause() throws {
        #expect(try action(.response(413, delay: .seconds(2))).action == .retry(after: .seconds(2)))
        #expect(try action(.response(413, delay: nil)).rule == .finalStatus(413))
    }

    @Test(
        "policies PL-13 a delay may end with the deadline and with the allowed pause, and not later",
        arguments: [2, 3, 4]
    )
    func delaysAtTheirLimits(seconds: Int) throws {
        let pause = Duration.seconds(seconds)
        var policy = RetryPolicy()
        policy.delayLimit = .seconds(3)

        let allowed = try action(.response(503, delay: pause), policy: policy)
        let inTime = try action(.response(503, delay: pause)) { $0.remaining = .seconds(3) }

        #expect(allowed.action == (seconds <= 3 ? .retry(after: pause) : .refuseDelay(pause)))
        #expect(inTime.action == (seconds <= 3 ? .retry(after: pause) : .exceedDeadline(pause)))
    }

    private static let context = LoadingError.Context()

    @Test(
        "policies PL-12 service RS-04 service RS-05 service RS-06 service RS-13 service D-23 decides by failure",
        arguments: [
            (LoadingError(.timedOut(.idle), context), true), (LoadingError(.timedOut(.whole), context), true),
            (LoadingError(.timedOut(.connect), context), true),
            (LoadingError(.nameNotResolved(host: "h"), context), true),
            (LoadingError(.cannotConnect(host: "h", reason: .refused), context), true),
            (LoadingError(.connectionLost(.nothing, isSafeToRepeat: false), context), true),
            (LoadingError(.connectionLost(.body(received: 3), isSafeToRepeat: false), context), true),
            (LoadingError(.incompleteBody(received: 1, expected: 2), context), true),
            (LoadingError(.cancelled, context), false), (LoadingError(.clientCertificateRequired, context), false),
            (LoadingError(.untrustedServer(LoadingError.TrustCause(host: "h", cause: .expired)), context), false),
            (LoadingError(.pinMismatch(host: "h"), context), false),
            (LoadingError(.malformedResponse(.init(.chunk)), context), false),
            (LoadingError(.bodyTooLarge(limit: 1, announced: nil), context), false),
            (LoadingError(.notStored, context), false),
            (LoadingError(.redirectRefused(.tooMany(limit: 10)), context), false),
            (LoadingError(.transport(code: 1, message: ""), context), false),
            (LoadingError(.decoding, context, underlyingError: LoadingError(.cancelled, context)), false),
        ] as [(LoadingError, Bool)]
    )
    func decidesByFailure(error: LoadingError, isRepeated: Bool) throws {
        let decision = try action(.failure(error))
        #expect((decision.action == .retry(after: .zero)) == isRepeated)
    }

    @Test(
        "policies PL-11 service D-43 retries only idempotent methods, unless the request was never sent",
        arguments: [
            (Request.Method.get, true), (.head, true), (.put, true), (.delete, true), (.post, false), (.patch, false),
        ]
    )
    func repeatsIdempotentMethods(method: Request.Method, isRepeated: Bool) throws {
        let lost = LoadingError(.connectionLost(.nothing, isSafeToRepeat: false))
        let refused = LoadingError(.cannotConnect(host: "h", reason: .refused))
        #expect((try action(.failure(lost), method).action == .retry(after: .zero)) == isRepeated)
        #expect((try action(.response(503, delay: nil), method).action == .retry(after: .zero)) == isRepeated)
        #expect(try action(.failure(refused), method).rule == .neverSent)
        #expect(try action(.failure(lost), method) { $0.hasIdempotencyKey = true }.rule == .transportFailure)
        var everything = RetryPolicy()
        everything.methods = .all
        #expect(try action(.failure(lost), method, policy: everything).rule == .transportFailure)
    }

    @Test("policies PL-10 makes two further tries unless the request says otherwise")
    func limitsTries() throws {
        let answer = RetryPolicy.Attempt.Ending.response(503, delay: nil)
        #expect(try action(answer) { $0.number = 2 }.action == .retry(after: .zero))
        #expect(try action(answer) { $0.number = 3 }.rule == .limitReached(2))
        #expect(try action(answer) { $0.request.retryLimit = 0 }.rule == .limitReached(0))
        #expect(try action(answer) { ($0.request.retryLimit, $0.number) = (5, 5) }.action == .retry(after: .zero))
    }

    @Test("policies PL-13 service D-09 uses Retry-After as the minimum, and refuses to wait too long")
    func respectsPauses() throws {
        let decision = try action(.response(503, delay: .seconds(30))) { $0.delay = .seconds(1) }
        #expect(decision.action == .retry(after: .seconds(31)))
        #expect(try action(.response(429, delay: .seconds(61))).action == .refuseDelay(.seconds(61)))
        #expect(
            try action(.response(429, delay: .seconds(61)), policy: .dataLoader) { $0.request.retryLimit = 1 }.action
                == .retry(after: .seconds(61))
        )
    }

    @Test(
        "a hook decides which attempts are sent again",
        arguments: [
            (404, Request.Method.get, true, "retry"), (503, .get, false, "the program's hook refuses it"),
            (503, .post, true, "retry"), (503, .post, false, "POST is not idempotent"), (503, .get, true, "retry"),
            (404, .get, false, "status 404 is final"), (200, .get, true, "status 200 is accepted"),
        ]
    )
    func asksHook(code: Int, method: Request.Method, wish: Bool, outcome: String) throws {
        var policy = RetryPolicy()
        policy.hook = RetryPolicy.Hook(shouldRetry: { _, _ in wish })
        let decision = try action(.response(Response.Status(code), delay: nil), method, policy: policy)
        #expect((decision.action == .retry(after: .zero) ? "retry" : decision.rule.description) == outcome)
    }

    @Test("a hook cannot pass the limit, a spent body, a cancellation or a server that is not trusted")
    func limitsHook() throws {
        var policy = RetryPolicy()
        policy.hook = RetryPolicy.Hook(shouldRetry: { _, _ in true }, delay: { _, _ in .seconds(1) })
        let answer = RetryPolicy.Attempt.Ending.response(404, delay: nil)
        #expect(try action(answer, policy: policy).rule == .hookWantsIt)
        #expect(try action(answer, policy: policy) { $0.number = 3 }.rule == .limitReached(2))
        #expect(try action(answer, policy: policy) { $0.isBodySpent = true }.rule == .bodyNotReplayable)
        #expect(try action(answer, policy: policy) { $0.remaining = .zero }.action == .exceedDeadline(.seconds(1)))
        let untrusted = LoadingError(.untrustedServer(LoadingError.TrustCause(host: "h", cause: .expired)))
        for error in [untrusted, LoadingError(.pinMismatch(host: "h")), LoadingError(.cancelled)] {
            #expect(try action(.failure(error), policy: policy).rule == .finalFailure)
        }
    }

    @Test("a hook sets the delay, and Retry-After stays its floor")
    func delaysByHook() throws {
        var policy = RetryPolicy()
        policy.hook = RetryPolicy.Hook(delay: { attempt, delay in delay * 2 + .seconds(attempt.number) })
        let answer = RetryPolicy.Attempt.Ending.response(503, delay: nil)
        #expect(try action(answer, policy: policy) { $0.delay = .seconds(3) }.action == .retry(after: .seconds(7)))
        policy.hook = RetryPolicy.Hook(delay: { _, _ in .zero })
        #expect(try action(.response(503, delay: .seconds(5)), policy: policy).action == .retry(after: .seconds(5)))
        #expect(policy == policy && policy != RetryPolicy())
    }

    @Test("policies PL-02 fails instead of a delay that cannot end before the deadline")
    func observesDeadline() throws {
        let decision = try action(.response(503, delay: .seconds(30))) { $0.remaining = .seconds(29) }
        #expect(decision.action == .exceedDeadline(.seconds(30)))
    }

    @Test("policies PL-11 never retries a spent body")
    func observesBodies() throws {
        #expect(try action(.response(503, delay: nil), .put) { $0.isBodySpent = true }.rule == .bodyNotReplayable)
    }

    @Test("policies PL-12 treats a status that the request accepts as an answer")
    func acceptsStatuses() throws {
        #expect(
            try action(.response(503, delay: nil)) { $0.request.acceptableStatuses = .codes(200..<600) }.action
                == .accept
        )
    }

    @Test(
        "finding FP-7 sends a request again that the server certainly did not process, whatever its method",
        arguments: [Request.Method.get, .post, .patch]
    )
    func heedsSafety(method: Request.Method) throws {
        let unprocessed = LoadingError(.connectionLost(.nothing, isSafeToRepeat: true))
        #expect(try action(.failure(unprocessed), method).rule == .neverProcessed)
        #expect(try action(.failure(unprocessed), method).action == .retry(after: .zero))
        #expect(try action(.failure(unprocessed), method) { $0.isBodySpent = true }.rule == .bodyNotReplayable)
        #expect(try action(.failure(unprocessed), method) { $0.number = 3 }.rule == .limitReached(2))
    }
}
