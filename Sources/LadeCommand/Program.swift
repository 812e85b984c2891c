import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The program `lade`: passes the command line to the table and turns the result into an exit status.
@main
enum Program {
    static func main() {
        Descriptor.reserveStandard()
        let interruption = Interruption()
        interruption.block()
        let arguments = ProgramArguments.octets
        // The task ends the program, and the first signal cancels it. It does not run on the main actor: the main
        // thread waits for signals.
        let work = Task { @concurrent in
            let status = await perform(arguments, interruption)
            // Work that was complete before the signal arrived has succeeded.
            exit(status == ExitCode.interrupted.rawValue ? interruption.exitStatus ?? status : status)
        }
        interruption.onSignal { work.cancel() }
        interruption.wait()
    }

    /// Gives the other members of a fleet this process's share immediately; takes at most 100 ms.
    private static func leave(_ context: CommandContext) async {
        for membership in context.memberships.withLock({ $0.values }) { await membership.leave() }
    }

    private static func perform(_ arguments: [[UInt8]], _ interruption: Interruption) async -> Int32 {
        let console = Console()
        defer { console.talk.flush() }
        let context = CommandContext(
            table: .standard,
            console: console,
            interruption: interruption
        )
        do throws(CommandError) {
            try Environment.check()
            let status = try await context.table.run(try ProgramArguments.texts(arguments), in: context).rawValue
            await leave(context)
            return status
        } catch {
            await leave(context)
            if !error.isQuiet { console.talk.write(error.lines) }
            return error.code.rawValue
        }
    }
}
