// Ends a program on Ctrl-C: the task is cancelled, the exchange ends, and what was downloaded is kept for the next run.
import Dispatch
import Foundation
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://example.com"
let file = URL.temporaryDirectory.appending(path: "lade-control-c.bin")
let request = try Request(address + "/endless")
let download = Task { try await Loader().download(request, to: file) }

// The signal no longer ends the program; it cancels the task, which throws.
signal(SIGINT, SIG_IGN)
let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
interrupt.setEventHandler { @Sendable in download.cancel() }
interrupt.resume()
print("press Ctrl-C")
fflush(nil)

do {
    print(try await download.value.length, "bytes")
} catch let error as LoadingError where error.isCancellation {
    print("cancelled; the next run continues")
    exit(130)
}
