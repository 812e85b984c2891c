import Lade
import LadeTesting
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct EventRecordTests {
    @Test("command CM-04 writes an event as one line of JSON without secrets")
    func line() {
        let headers: Headers = ["Content-Type": "a\"b", "Set-Cookie": "s=secret"]
        let record = EventRecord(.headReceived(status: 200, headers: headers, version: .http1_1))
        let line = record.line(at: .microseconds(1_500), of: Call(id: Call.ID(7)))
        #expect(
            line == #"{"seconds":0.0015,"call":7,"attempt":1,"event":"headReceived","status":200,"version":"HTTP/1.1","#
                + #""headers":[["Content-Type","a\"b"],["Set-Cookie","<redacted>"]]}"# + "\n"
        )
    }

    @Test("writes the rule of a retry by its name, with its words beside it")
    func rules() {
        let rules: [Call.RetryRule] = [
            .status(503), .transportFailure, .neverSent, .neverProcessed, .finalStatus(404), .finalFailure,
            .acceptedStatus(200), .hookWantsIt, .hookRefuses, .limitReached(2), .notIdempotent(.post),
            .bodyNotReplayable,
            .budgetEmpty, .delayTooLong(.seconds(5)), .deadline, .malformedBody, .noVersion,
            .otherBody("another range"),
        ]
        #expect(Set(rules.map(\.name)).count == rules.count)
        #expect(Set(rules.map(\.description)).count == rules.count)
        for rule in rules { #expect(rule.name.utf8.allSatisfy { $0 == 0x2D || (0x61...0x7A).contains($0) }) }
        let record = EventRecord(.retryRefused(Call.Event.Retry(attempt: 2, status: 503, rule: .notIdempotent(.post))))
        #expect(
            record.line(at: .zero, of: Call(id: Call.ID(7)))
                == #"{"seconds":0.0,"call":7,"attempt":1,"event":"retryRefused","failedAttempt":2,"status":503,"#
                + #""rule":"not-idempotent","reason":"POST is not idempotent","delay":0.0,"budget":null}"# + "\n"
        )
    }

    @Test("policies PL-77 the line of an event of a hedge has its number")
    func hedge() {
        let call = Call(id: Call.ID(7)).racing(Call.Race(), hedge: 1, reportingTo: EventRecorder())
        let line = EventRecord(.hedgeFinished(used: 1)).line(at: .zero, of: call)
        #expect(line == #"{"seconds":0.0,"call":7,"attempt":1,"hedge":1,"event":"hedgeFinished","used":1}"# + "\n")
    }

    @Test("writes every kind of event as valid JSON")
    func kinds() {
        var metrics = Response.Metrics()
        metrics.connect = .milliseconds(2)
        metrics.remoteAddress = "::1"
        let error = LoadingError(.timedOut(.idle))
        let events: [Call.Event] = [
            .callStarted(method: .get, url: "u"), .exchangeStarted(method: .get, url: "u"),
            .waitStarted(.connection(host: "h")), .waitEnded(.connection(host: "h"), after: .seconds(1)),
            .interimResponse(status: 103, headers: [:]), .headReceived(status: 200, headers: [:], version: .http2),
            .exchangeFinished(metrics), .exchangeFailed(error, metrics), .exchangeRepeated(onFreshConnection: true),
            .certificateCheckSkipped(host: "h"), .malformationTolerated(LoadingError.MalformedResponse(.lineEnd)),
            .hedgeStarted(1, after: .seconds(1)), .hedgeRefused(1, reason: "r"), .hedgeFinished(used: 1),
            .callFinished(status: 200), .callFailed(error),
            .bodyFinished(Call.Event.Body(.failed(error), bytes: 5, duration: .seconds(1), attempts: 2)),
        ]
        let records = events.map { EventRecord($0) }
        #expect(Set(records.map(\.name)).count == events.count)
        for record in records {
            let line = record.line(at: .zero, of: Call())
            #expect(line.hasSuffix("}\n"), "\(line)")
            #expect(JSONValue.isValid(line), "\(line)")
        }
    }
}
