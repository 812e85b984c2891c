import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("CallStory", .timeLimit(.minutes(5)))
struct CallStoryTests {
    private let time = VirtualTime()
    private let story = Service.CallStory()
    private var call: Call { Call(id: Call.ID(1), time: time) }

    private func record(_ event: Call.Event, after pause: Duration = .zero) {
        time.advance(by: pause)
        story.record(event, of: call)
    }

    private func metrics(_ change: (inout Response.Metrics) -> Void = { _ in }) -> Response.Metrics {
        var metrics = Response.Metrics()
        change(&metrics)
        return metrics
    }

    @Test("policies PL-60 attributes every millisecond of a call, from the name to the last byte")
    func exchange() {
        record(.callStarted(method: .get, url: "https://h.example/x"))
        record(.exchangeStarted(method: .get, url: "https://h.example/x"), after: .milliseconds(1))
        record(.headReceived(status: 200, headers: ["Retry-After": "3"], version: .http2), after: .milliseconds(60))
        let metrics = metrics {
            $0.nameLookup = .milliseconds(5)
            $0.connect = .milliseconds(15)
            $0.secureConnect = .milliseconds(35)
            $0.firstByte = .milliseconds(59)
            $0.responseBodyBytes = 70
        }
        record(.exchangeFinished(metrics), after: .milliseconds(39))
        record(.callFinished(status: 200), after: .milliseconds(1))

        let timeline = story.timeline

        #expect(
            timeline.description == """
                GET https://h.example/x

                  at/ms   took/ms
                    0.0       1.0  █···················  the program itself
                    1.0                                  GET https://h.example/x
                    1.0       5.0  ██··················  name look-up
                    6.0      10.0  ·███················  connecting
                   16.0      20.0  ···█████············  TLS handshake
                   36.0      24.0  ·······█████········  request sent, first byte awaited
                   60.0       1.0  ···········██·······  receiving the response
                   61.0                                  response 200, HTTP/2, Retry-After: 3
                   61.0      39.0  ············████████  receiving the response
                  100.0                                  complete: 0 bytes up, 70 down
                  100.0       1.0  ···················█  the program itself
                  101.0                                  the caller has the response: 200

                took/ms   share
                   40.0    40 %  receiving the response
                   24.0    24 %  request sent, first byte awaited
                   20.0    20 %  TLS handshake
                   10.0    10 %  connecting
                    5.0     5 %  name look-up
                    2.0     2 %  the program itself
                  101.0   100 %  in all

                """
        )
    }

    @Test("policies PL-60 policies PL-77 gives each exchange of a hedged attempt its own head, end and stages")
    func hedged() {
        let hedge = call.racing(Call.Race(), hedge: 1, reportingTo: story)
        func record(_ event: Call.Event, of call: Call, at milliseconds: Int64) {
            time.advance(to: Instant(nanoseconds: milliseconds * 1_000_000))
            story.record(event, of: call)
        }
        record(.exchangeStarted(method: .get, url: "http://h/x"), of: call, at: 0)
        record(.exchangeStarted(method: .get, url: "http://h/x"), of: hedge, at: 200)
        record(.headReceived(status: 200, headers: [:], version: .http2), of: call, at: 250)
        record(.exchangeFinished(metrics { $0.firstByte = .milliseconds(250) }), of: call, at: 260)
        record(.exchangeFailed(LoadingError(.cancelled), metrics()), of: hedge, at: 270)

        let totals = story.timeline.totals

        // The hedge is the innermost activity, and was still connecting.
        #expect(totals.map(\.stage) == [.firstByte, .connect])
        #expect(totals.map(\.duration) == [.milliseconds(200), .milliseconds(70)])
    }

    @Test("finding DC-5 tells the sending of a body from the wait for the response", arguments: [false, true])
    func sending(isSent: Bool) {
        record(.exchangeStarted(method: .put, url: "http://h/"))
        let metrics = metrics {
            $0.connect = .milliseconds(10)
            $0.requestStarted = .milliseconds(10)
            $0.requestSent = isSent ? .milliseconds(50) : nil
            $0.requestBodyBytes = 1_000
        }
        record(.exchangeFailed(LoadingError(.timedOut(.whole)), metrics), after: .milliseconds(100))

        let totals = story.timeline.totals

        let expected: [Service.CallTimeline.Stage] = isSent ? [.firstByte, .sending, .connect] : [.sending, .connect]
        #expect(totals.map(\.stage) == expected)
        #expect(totals.first?.duration == .milliseconds(isSent ? 50 : 90))
    }

    @Test("policies PL-60 gives a wait its reason, and the innermost thing its time")
    func nesting() {
        let token = Call.WaitReason.authorisation(authoriser: "OAuth")
        record(.callStarted(method: .get, url: "http://h/"))
        record(.waitStarted(token))
        record(.exchangeStarted(method: .post, url: "http://h/token"), after: .milliseconds(2))
        record(.exchangeFinished(metrics { $0.firstByte = .milliseconds(3) }), after: .milliseconds(4))
        record(.waitEnded(token, after: .milliseconds(7)), after: .milliseconds(1))
        record(.waitStarted(.backoff(attempt: 2)))
        record(.waitEnded(.backoff(attempt: 2), after: .milliseconds(90)), after: .milliseconds(90))

        let totals = story.timeline.totals

        #expect(
            totals.map(\.stage) == [.wait(.backoff(attempt: 2)), .wait(token), .firstByte, .body]
                as [Service.CallTimeline.Stage]
        )
        #expect(totals.map(\.duration) == [.milliseconds(90), .milliseconds(3), .milliseconds(3), .milliseconds(1)])
    }

    @Test(
        "policies PL-60 says what an exchange that failed was at",
        arguments: [
            ("http://h/", Response.Metrics(), Service.CallTimeline.Stage.connect),
            (
                "https://h/",
                {
                    var metrics = Response.Metrics(); metrics.connect = .zero; return metrics
                }(), .secureConnect
            ),
            (
                "http://h/",
                {
                    var metrics = Response.Metrics(); metrics.connect = .zero; return metrics
                }(), .firstByte
            ),
            (
                "http://h/",
                {
                    var metrics = Response.Metrics(); metrics.isReusedConnection = true; return metrics
                }(), .firstByte
            ),
            (
                "http://h/",
                {
                    var metrics = Response.Metrics(); metrics.firstByte = .zero; return metrics
                }(), .body
            ),
        ]
    )
    func failures(url: String, metrics: Response.Metrics, stage: Service.CallTimeline.Stage) {
        record(.exchangeStarted(method: .get, url: url))
        record(.exchangeFailed(LoadingError(.timedOut(.whole)), metrics), after: .seconds(1))

        #expect(story.timeline.totals.map(\.stage) == [stage])
        #expect(story.timeline.elapsed == .seconds(1))
    }

    @Test("policies PL-60 has durations that add up to the elapsed time, whatever happens when", arguments: 1...50)
    func sums(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let reasons: [Call.WaitReason] = [.backoff(attempt: 2), .gate(key: "k"), .connection(host: "h")]
        for _ in 0..<200 {
            let reason = reasons[Int(random.next() % 3)]
            let metrics = metrics {
                if random.next() % 2 == 0 { $0.nameLookup = random.duration(below: .milliseconds(3)) }
                if random.next() % 2 == 0 { $0.connect = random.duration(below: .milliseconds(9)) }
                if random.next() % 2 == 0 { $0.firstByte = random.duration(below: .seconds(1)) }
            }
            let events: [Call.Event] = [
                .waitStarted(reason), .waitEnded(reason, after: .zero),
                .exchangeStarted(method: .get, url: "http://h/"),
                .exchangeFinished(metrics), .exchangeFailed(LoadingError(.cancelled), metrics), .attemptStarted(2),
                .headReceived(status: 200, headers: [:], version: nil),
            ]
            record(events[Int(random.next() % UInt64(events.count))], after: random.duration(below: .milliseconds(20)))
        }

        let timeline = story.timeline
        let timed = timeline.rows.filter { $0.stage != nil }

        #expect(timed.reduce(.zero) { $0 + $1.duration } == timeline.elapsed)
        #expect(timeline.totals.reduce(.zero) { $0 + $1.duration } == timeline.elapsed)
        var end = Duration.zero
        for row in timed {
            #expect(row.start == end, "seed \(seed)")
            end += row.duration
        }
        // The shown values add up too.
        let shown = timeline.description.split(separator: "\n").drop { !$0.hasPrefix("took/ms") }.dropFirst()
            .compactMap { $0.split(separator: " ").first.flatMap { Int($0.filter { $0 != "." }) } }
        #expect(shown.dropLast().reduce(0, +) == shown.last, "seed \(seed)")
    }

    @Test("policies PL-60 describes the events of one call, and of no other")
    func oneCall() {
        let second = Service.CallStory(of: Call.ID(2))
        for id in UInt64(1)...2 {
            let call = Call(id: Call.ID(id), time: time)
            for sink in [story, second] { sink.record(.callStarted(method: .get, url: "http://\(id)/"), of: call) }
        }

        #expect(story.timeline.title == "GET http://1/")
        #expect(second.timeline.title == "GET http://2/")
    }

    @Test("policies PL-60 keeps as many events as it may, and the time of all")
    func limit() {
        let story = Service.CallStory(limit: 3)
        for number in 1...9 {
            time.advance(by: .seconds(1))
            story.record(.attemptStarted(number), of: call)
        }

        let timeline = story.timeline

        #expect(timeline.elapsed == .seconds(8))
        #expect(timeline.rows.last?.text == "6 further events are not shown")
    }

    @Test("policies PL-60 keeps one event at least")
    func smallestLimit() {
        let story = Service.CallStory(limit: 0)
        for number in 1...3 { story.record(.attemptStarted(number), of: call) }

        #expect(story.timeline.rows.last?.text == "2 further events are not shown")
    }

    @Test("policies PL-60 escapes line ends in texts")
    func escaping() {
        record(.hostMarked(host: "h", address: "a", reason: "b\n\u{1B}[2Jc", for: .seconds(1)))

        #expect(story.timeline.description.contains("b\\x0A\\x1B[2Jc"))
    }

    @Test("policies PL-60 attributes the waits of a whole call: gate, back-off and exchange")
    func wholeCall() async throws {
        let rig = Rig { settings in
            settings.retries.limit = 2
            settings.observers.append(story)
        }
        rig.transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "3"])).then(.text("ok"))
        let request = try rig.request()

        _ = try await rig.time.runAutomatically { () async throws(LoadingError) in
            try await rig.loader.load(request)
        }

        let timeline = story.timeline
        #expect(timeline.totals.first?.stage == .wait(.backoff(attempt: 2)))
        #expect(timeline.elapsed >= .seconds(3))
        #expect(timeline.rows.reduce(.zero) { $0 + $1.duration } == timeline.elapsed)
        #expect(timeline.rows.contains { $0.text == "response 503, HTTP/1.1, Retry-After: 3" })
    }
}
