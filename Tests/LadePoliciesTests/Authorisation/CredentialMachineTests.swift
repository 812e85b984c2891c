import Foundation
import LadeCore
import Testing

@testable import LadePolicies

@Suite(.timeLimit(.minutes(5)))
struct CredentialMachineTests {
    private typealias Machine = CredentialMachine<String>
    private let date = Date(timeIntervalSince1970: 1_767_225_600)
    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

    private func label(_ answer: Machine.Decision) -> String {
        switch answer {
        case .use(let value, let version, let starting):
            "use \(value) v\(version)" + (starting.map { " start \($0)" } ?? "")
        case .wait(let starting): "wait" + (starting.map { " start \($0)" } ?? "")
        case .fail(.excessiveRefresh): "excessive"
        case .fail(.signInRequired): "sign in"
        case .fail: "fail"
        }
    }

    private func holding(
        _ life: Authorisation.Expiry = .never,
        settings: Authorisation.RefreshSettings = Authorisation.RefreshSettings()
    ) -> Machine {
        var machine = Machine(settings)
        machine.replace(with: "a", end: life, now: at(0), date: date)
        return machine
    }

    @Test("policies PL-41 the first call starts the refresh, the others wait for it")
    func startsOnce() {
        var machine = Machine(Authorisation.RefreshSettings())

        #expect(label(machine.request(at: at(0))) == "wait start 1")
        #expect(label(machine.request(at: at(0))) == "wait")
        machine.succeed("a", end: .never, refresh: 1, now: at(1), date: date)
        #expect(label(machine.request(at: at(1))) == "use a v1")
    }

    @Test("policies PL-41 a refusal of an old version starts no refresh")
    func ignoresOldRefusal() {
        var machine = holding()
        machine.refuse(1)
        #expect(label(machine.request(at: at(0))) == "wait start 1")
        machine.succeed("b", end: .never, refresh: 1, now: at(0), date: date)

        machine.refuse(1)

        #expect(label(machine.request(at: at(0))) == "use b v2")
    }

    @Test("policies PL-41 renews ahead of the end while the old credentials are used on")
    func renewsAhead() {
        var machine = holding(.after(.seconds(100)))

        #expect(label(machine.request(at: at(69))) == "use a v1")
        #expect(label(machine.request(at: at(70))) == "use a v1 start 1")
        #expect(label(machine.request(at: at(71))) == "use a v1")
        #expect(label(machine.request(at: at(100))) == "wait")
    }

    @Test("policies PL-41 credentials of a short life are renewed in its second half")
    func renewsShortLived() {
        var machine = holding(.after(.seconds(10)))

        #expect(label(machine.request(at: at(4.9))) == "use a v1")
        #expect(label(machine.request(at: at(5))) == "use a v1 start 1")
    }

    @Test("an end that is a date counts from the date at which the credentials were put in")
    func endsAtDate() {
        var machine = holding(.at(date.addingTimeInterval(100)))
        #expect(label(machine.request(at: at(69))) == "use a v1")

        machine = holding(.at(date.addingTimeInterval(-1)))
        #expect(label(machine.request(at: at(0))) == "wait start 1")
    }

    @Test("policies PL-43 a passing failure is remembered for its version a while, then tried again")
    func remembersPassingFailure() {
        var machine = holding()
        machine.refuse(1)
        _ = machine.request(at: at(0))
        machine.fail(.refused, .passing, refresh: 1, now: at(1))

        #expect(label(machine.request(at: at(5.9))) == "fail")
        #expect(label(machine.request(at: at(6))) == "wait start 2")
    }

    @Test(
        "policies PL-43 a lasting failure is remembered until there are other credentials, or the app requests a refresh"
    )
    func remembersLastingFailure() {
        var machine = holding()
        machine.refuse(1)
        _ = machine.request(at: at(0))
        machine.fail(.signInRequired, .lasting, refresh: 1, now: at(1))
        #expect(label(machine.request(at: at(10_000))) == "sign in")

        var asked = machine
        asked.invalidate()
        #expect(label(asked.request(at: at(10_000))) == "wait start 2")
        machine.replace(with: "b", end: .never, now: at(10_000), date: date)
        #expect(label(machine.request(at: at(10_000))) == "use b v2")
    }

    @Test("an early refresh that fails does not affect calls with valid credentials")
    func survivesEarlyFailure() {
        var machine = holding(.after(.seconds(100)))
        _ = machine.request(at: at(70))
        machine.fail(.refused, .passing, refresh: 1, now: at(71))

        #expect(label(machine.request(at: at(72))) == "use a v1")
        #expect(label(machine.request(at: at(76))) == "use a v1 start 2")
    }

    @Test("policies PL-43 more than five refreshes within 30 s are excessive")
    func limitsRefreshes() {
        var machine = holding()
        for number in 1...5 {
            machine.refuse(number)
            #expect(label(machine.request(at: at(Double(number)))) == "wait start \(number)")
            machine.succeed("x", end: .never, refresh: number, now: at(Double(number)), date: date)
        }
        machine.refuse(6)

        #expect(label(machine.request(at: at(6))) == "excessive")
        #expect(label(machine.request(at: at(30.9))) == "excessive")
        #expect(label(machine.request(at: at(31))) == "wait start 6")
    }

    @Test("the result of a refresh that was overtaken by other credentials is dropped")
    func dropsOvertaken() {
        var machine = Machine(Authorisation.RefreshSettings())
        _ = machine.request(at: at(0))
        machine.replace(with: nil, end: .never, now: at(0), date: date)

        machine.succeed("late", end: .never, refresh: 1, now: at(1), date: date)

        #expect(label(machine.request(at: at(1))) == "wait start 2")
        machine.succeed("late", end: .never, refresh: 1, now: at(1), date: date)
        #expect(label(machine.request(at: at(1))) == "wait")
    }

    @Test("a late refusal of old credentials does not make those usable again that were invalidated", arguments: 0...3)
    func lateRefusal(version: Int) {
        var machine = holding()
        machine.replace(with: "b", end: .never, now: at(0), date: date)
        machine.invalidate()

        machine.refuse(version)

        #expect(label(machine.request(at: at(1))) == "wait start 1")
        machine.succeed("c", end: .never, refresh: 1, now: at(1), date: date)
        // A version that does not exist yet cannot be refused.
        #expect(label(machine.request(at: at(2))) == "use c v3")
    }

    @Test("credentials that the app removes are not kept")
    func removes() {
        var machine = holding()
        #expect(machine.held?.value == "a")

        machine.replace(with: nil, end: .never, now: at(1), date: date)

        #expect(machine.held == nil)
        #expect(label(machine.request(at: at(1))) == "wait start 1")
    }
}
