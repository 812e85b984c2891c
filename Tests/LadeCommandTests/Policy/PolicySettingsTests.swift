import Lade
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct PolicySettingsTests {
    private func settings(_ arguments: [String]) throws(CommandError) -> PolicySettings {
        let parser = ArgumentParser(command: "lade get", rows: GetSettings.rows)
        guard case .run(let settings) = try parser.parse(["https://h/"] + arguments) else { throw .usage("help") }
        return settings.policy
    }

    private func service(
        _ arguments: [String] = [],
        for work: PolicySettings.Work = .call
    ) throws(CommandError) -> Service.Settings {
        var service = Service.Settings()
        try settings(arguments).apply(to: &service, for: work)
        return service
    }

    @Test("leaves everything off for a single call when nothing is said")
    func offByDefault() throws {
        let service = try service()
        var request = try Request("https://h/")
        try settings([]).apply(to: &request)

        #expect(service.redirects.limit == 0)
        #expect(service.retries.limit == 0)
        #expect(service.retryBudget == nil)
        #expect(service.deadlines.buffered == nil)
        #expect(service.deadlines.streamed == nil)
        #expect(service.deadlines.attempt == nil)
        #expect(request.deadline == nil)
        #expect(request.idempotencyKey == nil)
    }

    @Test("tries the pages of a list again, and follows their redirects, when nothing is said")
    func listDefaults() throws {
        let service = try service(for: .list)

        #expect(service.redirects.limit == 10)
        #expect(service.retries.limit == 2)
        #expect(service.retries.delayLimit == .seconds(60))
        #expect(service.retryBudget != nil)
        // A page that trickles would hold the list for hours.
        #expect(service.deadlines.buffered == nil)
        #expect(service.deadlines.attempt == .seconds(60))
        #expect(try self.service(["--retry", "0", "--max-redirects", "0"], for: .list).retries.limit == 0)
    }

    @Test("puts each option where the library has it")
    func options() throws {
        let arguments = [
            "-L", "--max-redirects", "3", "--retry", "4", "--retry-unsafe", "--deadline", "30s", "--max-wait", "2m",
            "--idempotency-key", "auto", "--host", "API.example=a,b:81,[::1]:82", "--hedge", "200ms",
        ]
        let service = try service(arguments)
        var request = try Request("https://h/")
        try settings(arguments).apply(to: &request)

        #expect(service.redirects.limit == 3)
        #expect(service.retries.limit == 4)
        #expect(service.retries.methods == .all)
        #expect(service.retries.delayLimit == .seconds(120))
        #expect(request.deadline == .seconds(30))
        #expect(request.idempotencyKey == .generated)
        #expect(service.hedging == .delay(.milliseconds(200)))
        #expect(
            service.hosts.addresses(for: "api.example") == [
                "a", HostDirectory.Address("b", port: 81), HostDirectory.Address("::1", port: 82),
            ]
        )
        #expect(try self.service(["-L"]).redirects.limit == 10)
    }

    @Test(
        "policies PL-77 reads when a request is hedged",
        arguments: [
            ("200ms", HedgingPolicy.delay(.milliseconds(200))), ("1.5s", .delay(.milliseconds(1_500))),
            ("p95", .percentile(95)),
            ("p99.9", .percentile(99.9)),
        ]
    )
    func hedging(text: String, policy: HedgingPolicy) throws {
        #expect(try service(["--hedge", text]).hedging == policy)
        #expect(try service([]).hedging == nil)
    }

    @Test(
        "reads rates",
        arguments: [
            ("10/s", RateLimits.Rate.perSecond(10)), ("600/m,5", .perSecond(10, burst: 5)), ("0.5/s", .perSecond(0.5)),
            ("3", .perSecond(3)), ("36/h", .perSecond(0.01)),
        ]
    )
    func rates(text: String, rate: RateLimits.Rate) throws {
        #expect(try RateLimits.Rate(argument: text) == rate)
    }

    @Test(
        "reads the kinds of credentials",
        arguments: [
            ("basic:me", PolicySettings.AuthorisationChoice.basic(user: "me")), ("bearer", .bearer),
            ("oauth2:https://app@auth.example/t", .oauth2(endpoint: "https://auth.example/t", client: "app")),
        ]
    )
    func kinds(text: String, kind: PolicySettings.AuthorisationChoice) throws {
        #expect(try settings(["--auth", text]).authorisation == kind)
    }

    @Test(
        "command CM-04 says what is wrong with a policy, and shows nothing that might be a secret",
        arguments: [
            ["--rate", "0/s"], ["--rate", "x"], ["--rate", "1/s,0"], ["--rate", "1/d"], ["--retry", "-1"],
            ["--deadline", "x"], ["--auth", "basic"], ["--auth", "basic:me:hush"], ["--auth", "bearer:hush"],
            ["--auth", "oauth2:https://auth.example/t"], ["--auth", "oauth2:https://app:hush@auth.example/t"],
            ["--auth", "hush"], ["--secret-env", "X"], ["--auth", "bearer", "-u", "me:x"],
            ["--auth", "bearer", "--secret-env", "X", "--secret-fd", "3"], ["--scope", "x"], ["--host", "h"],
            ["--host", "h="], ["--host", "h=a,"], ["--host", "h=a", "--connect-to", "b"], ["--idempotency-key", ""],
            ["--hedge", "0"], ["--hedge", "p"], ["--hedge", "p0"], ["--hedge", "p100"], ["--hedge", "p9x"],
            ["--hedge", "often"],
        ]
    )
    func usage(arguments: [String]) throws {
        let error = try #require(throws: CommandError.self) { try settings(arguments) }

        #expect(error.code == .usage)
        #expect(!error.what.isEmpty)
        #expect(!error.advice.isEmpty)
        #expect(!error.lines.contains("hush"))
    }
}
