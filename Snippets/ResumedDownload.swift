// Downloads a file with its progress; a download that was cut off continues where it ended, in this run or the next.
import Foundation
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://example.com"
let file = URL.temporaryDirectory.appending(path: "lade-\(ProcessInfo.processInfo.processIdentifier).bin")
let request = try Request(address + "/large.bin")
let download = try await Loader().download(request, to: file) { progress in
    if let fraction = progress.fraction, fraction == 1 { print("complete") }
}
print(download.length, "bytes")
try FileManager.default.removeItem(at: file)
