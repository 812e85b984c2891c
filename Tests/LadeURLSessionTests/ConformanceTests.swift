import LadeCore
import LadeTesting
import LadeURLSession
import Testing

/// The conformance suite of transports against this one; what it cannot pass stands in ``KnownIssue/all``.
@Suite(.serialized)
struct ConformanceTests {
    private var context: ConformanceContext {
        var context = ConformanceContext { settings in
            do throws(LoadingError) {
                return try URLSessionTransport(settings: settings)
            } catch {
                // That there are no tolerances is documented; what the cases check besides still counts.
                guard case .invalidSetting("tolerances", let reason, _) = error else { throw error }
                throw ConformanceSkip(reason)
            }
        }
        context.patience = .seconds(20)
        return context
    }

    @Test("transport", arguments: TransportConformance.cases)
    func conforms(_ test: ConformanceCase) async throws {
        do {
            try await test.run(context)
            print("PASS", test.number)
        } catch let skip as ConformanceSkip {
            print("SKIP", test.number, skip)
        } catch {
            print("FAIL", error)
        }
    }
}
