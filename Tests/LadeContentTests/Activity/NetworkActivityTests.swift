import Foundation
import LadeContent
import LadeTesting
import Testing

@MainActor
@Suite(.timeLimit(.minutes(1)))
struct NetworkActivityTests {
    let rig = Rig()
    let told = Told<Bool>()

    @Test("requests A1 tells idle at once, then active and idle for a request")
    func normal() async throws {
        rig.activity.enable { [told] in told.add($0) }

        try rig.data("/ok").resume()

        #expect(await told.wait(for: 3) == [false, true, false])
    }

    @Test("requests A2 tells the same of a request from a background thread")
    func background() async throws {
        rig.activity.enable { [told] in told.add($0) }

        try await offMain { [rig] in try rig.data("/ok").resume() }

        #expect(await told.wait(for: 3) == [false, true, false])
    }

    @Test("requests A3 tells active at once when something runs already")
    func whileActive() async throws {
        try rig.data("/slow").resume()

        rig.activity.enable { [told] in told.add($0) }
        rig.go.raise()

        #expect(await told.wait(for: 2) == [true, false])
    }

    @Test("requests A4 tells nothing once it is disabled, and still counts")
    func disabledBefore() async throws {
        rig.activity.enable { [told] in told.add($0) }
        rig.activity.disable()
        let request = try rig.data("/stall")
        request.resume()

        #expect(told.all == [false, false])
        #expect(rig.activity.isActive)
        request.cancel()
        #expect(!rig.activity.isActive)
        #expect(told.all == [false, false])
    }

    @Test("requests A5 tells idle when it is disabled while something runs")
    func disabledWhileActive() async throws {
        rig.activity.enable { [told] in told.add($0) }
        let request = try rig.data("/stall")
        request.resume()
        rig.activity.disable()
        request.cancel()

        #expect(told.all == [false, true, false])
    }

    @Test("requests §7 tells transitions only, and counts other work too")
    func transitions() {
        rig.activity.enable { [told] in told.add($0) }
        rig.activity.increase()
        rig.activity.increase()
        rig.activity.decrease()
        rig.activity.decrease()

        #expect(told.all == [false, true, false])
    }
}
