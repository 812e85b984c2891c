import Lade
import LadeCore
import Observation
import Testing

@Suite("Names beside Swift's own", .timeLimit(.minutes(5)))
struct ObservableImportTests {
    @Observable
    final class Screen {
        var title = ""
    }

    @Test("finding FL-14 a file that imports Lade can use @Observable")
    func observable() {
        let screen = Screen()
        let changes = Locked(0)

        withObservationTracking {
            _ = screen.title
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        screen.title = "News"

        #expect(changes.withLock { $0 } == 1)
    }
}
