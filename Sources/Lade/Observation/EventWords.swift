import LadeCore
import LadePolicies

/// Short descriptions of events for timelines, without secrets.
enum EventWords {
    /// The description of an event; nil for an event that a timeline shows in another way.
    static func text(of event: CallEvent) -> String? {
        switch event {
        case .callStarted, .waitStarted, .waitEnded: nil
        case .exchangeStarted(let method, let url): "\(method) \(url)"
        case .interimResponse(let status, _): "interim answer \(status)"
        case .headReceived(let status, let headers, let version): head(status, headers, version)
        case .exchangeFinished(let metrics): "complete: " + volume(metrics)
        case .exchangeFailed(let error, _): error.isCancellation ? "cancelled" : "failed: \(error)"
        case .exchangeRepeated: "sent again on a fresh connection"
        case .certificateCheckSkipped(let host): "the certificate of \(host) was NOT checked"
        case .malformationTolerated(let fault): "tolerated: \(fault)"
        case .attemptStarted(let number): "attempt \(number)"
        case .retryScheduled(let record):
            "attempt \(record.attempt): \(record.rule); next in \(record.delay.shortText)"
        case .retryRefused(let record):
            // No retry was allowed, so its refusal is not shown.
            record.rule == RetryPolicy.Rule.limitReached(0).description
                ? nil : "attempt \(record.attempt): \(record.rule); not repeated"
        case .redirectFollowed(let status, _, let to, let method): "\(status) leads to \(method) \(to)"
        case .gateClosed(let key, let duration, _): "\(key) requests a delay of \(duration.shortText)"
        case .rateAdjusted(let key, let rate):
            rate.map { "\(key) receives at most \(perSecond($0)) requests a second" }
                ?? "\(key) has its configured rate again"
        case .hostChosen(let host, let address): "\(host) is reached at \(address)"
        case .hostMoved(let host, let from, let to):
            "\(host) is reached at \(to), because \(from) did not serve the request"
        case .valueIgnored(let name, let value):
            "\(name) has no effect, because it is not understood: \(value.escapedForDisplay(limit: 80))"
        case .hostMarked(_, let address, let reason, let duration):
            "\(address) is not used for \(duration.shortText): \(reason)"
        case .hostRecovered(_, let address): "\(address) can be used again"
        case .refreshStarted(let authoriser): "\(authoriser) is getting credentials"
        case .refreshFinished(let authoriser, _): "\(authoriser) has credentials"
        case .refreshFailed(let authoriser, let error): "\(authoriser) could not get credentials: \(error)"
        case .requestReplayed(let authoriser): "refused; sent again with other credentials of \(authoriser)"
        case .pageRuleSkipped(let rule, let reason): "the paging rule “\(rule)” is skipped: \(reason)"
        case .cacheServed(let rule, let age, let lifetime):
            "served from the cache: \(rule.rawValue), \(age.shortText) old, fresh for \(lifetime.shortText)"
        case .cacheMissed(let rule): "not served from the cache: \(rule.rawValue)"
        case .cacheValidating(let rule): "the server is asked whether the stored response is current: \(rule.rawValue)"
        case .cacheValidated: "the stored response is current"
        case .cacheStored(let bytes, let lifetime): "stored: \(bytes) bytes, fresh for \(lifetime.shortText)"
        case .cacheNotStored(let rule): "not stored: \(rule.rawValue)"
        case .cacheInvalidated(let count): "\(count) stored responses must be validated"
        case .cacheEvicted(let count, let bytes): "\(count) stored responses of \(bytes) bytes were evicted"
        case .cacheJoined(let call): "shares the response to the equal call \(call)"
        case .cacheStoreUsed: nil
        case .cacheFault(let reason): "the cache failed: \(reason.escapedForDisplay(limit: 200))"
        case .callFinished(let status): "the caller has the answer: \(status)"
        case .bodyFinished(let record):
            switch record.outcome {
            case .whole: nil
            case .failed(let error): "the body failed after \(record.bytes) bytes: \(error)"
            default: "the body was \(record.outcome) after \(record.bytes) bytes"
            }
        case .callFailed(let error): error.isCancellation ? "cancelled" : "the caller has the error: \(error)"
        }
    }

    private static func head(_ status: HTTPStatus, _ headers: Headers, _ version: HTTPVersion?) -> String {
        var text = "answer \(status)" + (version.map { ", \($0.rawValue)" } ?? "")
        if let pause = headers["Retry-After"] { text += ", Retry-After: \(pause.escapedForDisplay(limit: 40))" }
        return text
    }

    private static func volume(_ metrics: Response.Metrics) -> String {
        var text = "\(metrics.bytesSent) bytes up, \(metrics.bytesReceived) down"
        if let address = metrics.remoteAddress {
            let kind = metrics.isReusedConnection == true ? "open" : "new"
            text += ", \(kind) connection to \(address)" + (metrics.remotePort.map { " port \($0)" } ?? "")
        }
        return text
    }

    /// The rate with at most one decimal.
    private static func perSecond(_ rate: Double) -> String {
        let tenths = Int(min(max(rate, 0), 1e15) * 10)
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
