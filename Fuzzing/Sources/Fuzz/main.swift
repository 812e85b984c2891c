import CFuzzer

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// Usage: `Fuzz TARGET [arguments of libFuzzer]`, or `Fuzz --list`.

/// The target of this run; set once, before the driver starts.
private nonisolated(unsafe) var chosen: Target?

/// Gives one input to the chosen target.
///
/// The name is the one libFuzzer's own `main` refers to. That `main` is linked but not used: ours picks the target first.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    chosen?.check(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}

let names = targets.map(\.name)
let name = CommandLine.arguments.dropFirst().first ?? "--list"
if name == "--list" {
    print(names.joined(separator: "\n"))
    exit(0)
}
chosen = targets.first { $0.name == name }
if chosen == nil {
    print("Fuzz: no target is named \(name); there are \(names.joined(separator: ", ")).")
    exit(64)
}

// libFuzzer takes options by their dash and anything else for a corpus, so the target's name has to go.
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv.advanced(by: 1)
var count = CommandLine.argc - 1
exit(LLVMFuzzerRunDriver(&count, &arguments, fuzzOneInput))
