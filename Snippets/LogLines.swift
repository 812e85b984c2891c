// A log line for each call, and a count of its events by a sink of its own.
import Lade
import Synchronization

final class AttemptCounter: Call.Observer {
    private let count = Mutex(0)

    var attempts: Int { count.withLock { $0 } }

    func record(_ event: Call.Event, of call: Call) {
        if case .exchangeStarted = event { count.withLock { $0 += 1 } }
    }
}

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let counter = AttemptCounter()
var settings = Service.Settings()
settings.observers = [LoggingObserver { print($0) }, counter]
let loader = try Loader(settings)
_ = try await loader.load(Request(address + "/shows/1"))
print(counter.attempts, "exchange")
