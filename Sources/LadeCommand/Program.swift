#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The program `lade`: hands the command line to the table and turns what comes back into an exit status.
@main
enum Program {
    static func main() {
        Descriptor.reserveStandard()
        let interruption = Interruption()
        interruption.block()
        let arguments = Array(CommandLine.arguments.dropFirst())
        // Ends the program, and is cancelled by the first signal. Not on the main actor, whose thread waits for signals.
        let work = Task { @concurrent in
            let status = await perform(arguments, interruption)
            // Work that was complete before the signal could stop it has succeeded.
            exit(status == ExitCode.interrupted.rawValue ? interruption.exitStatus ?? status : status)
        }
        interruption.onSignal { work.cancel() }
        interruption.wait()
    }

    private static func perform(_ arguments: [String], _ interruption: Interruption) async -> Int32 {
        let console = Console()
        defer { console.talk.flush() }
        let context = CommandContext(
            table: .standard,
            console: console,
            interruption: interruption
        )
        do throws(CommandError) {
            return try await context.table.run(arguments, in: context).rawValue
        } catch {
            if !error.isQuiet { console.talk.write(error.lines) }
            return error.code.rawValue
        }
    }
}
