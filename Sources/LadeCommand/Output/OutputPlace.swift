#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeFields

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where the body of one call goes: the path, made of the options and the address.
struct OutputPlace {
    private let output: OutputSettings
    private let request: RequestSettings
    private let session: SessionSettings
    private let isForCurl: Bool

    /// Decides for one call.
    init(_ settings: GetSettings) {
        output = settings.output
        request = settings.request
        session = settings.session
        isForCurl = settings.followsCurl
    }

    /// The path of the body.
    ///
    /// - Parameter names: The names that other calls have chosen; this call's name is added when files are kept.
    /// - Returns: The path; nil for the standard output, and when the server names the file.
    /// - Throws: A usage error for an address that names no file. A local error for a folder that cannot be made, and when no
    ///   name is left.
    func path(reserving names: Locked<Set<FilePlace>>) throws(CommandError) -> String? {
        guard var path = try chosenPath() else {
            if output.usesRemoteName, output.createsFolders, let folder = output.folder { try Self.makeFolder(folder) }
            return nil
        }
        if output.createsFolders, let (folder, _) = path.cut(atLast: "/") { try Self.makeFolder(String(folder)) }
        if output.keepsExisting { path = try Self.reserve(path, in: names) }
        return path
    }

    /// Takes back a name: a file has it now, or the name is not needed.
    func release(_ path: String, in names: Locked<Set<FilePlace>>) {
        let place = FilePlace(path)
        _ = names.withLock { $0.remove(place) }
    }

    private static func reserve(
        _ path: String,
        in names: Locked<Set<FilePlace>>
    ) throws(CommandError) -> String {
        while let free = FilePlace.unused(path, isTaken: { place in names.withLock { $0.contains(place) } }) {
            let place = FilePlace(free)
            // Another call may have chosen it meanwhile.
            if names.withLock({ $0.insert(place).inserted }) { return free }
        }
        throw CommandError(
            what: "The file \(path) exists, and so do those with the numbers 1 to 100.",
            advice: "Choose another name with -o, or remove some of them.",
            code: .localFile
        )
    }

    /// Checks that the files of heads and tags can be made, before anything is sent.
    func checkOthers() throws(CommandError) {
        for path in [output.headPath, output.tagPath].compactMap(\.self) where path != "-" {
            var status = stat()
            let folder = path.cut(atLast: "/").map { $0.before.isEmpty ? "/" : String($0.before) } ?? "."
            if stat(path, &status) == 0 {
                guard access(path, W_OK) == 0 else { throw .file(path, "written", .last) }
                guard status.st_mode & S_IFMT != S_IFDIR else {
                    throw .file(path, "written", SystemError(number: EISDIR))
                }
            } else if access(folder, W_OK) != 0 {
                throw .file(path, "written", .last)
            }
        }
    }

    // MARK: - Several calls

    /// A file that a command writes.
    struct Use {
        var path: String
        /// The option that names it, for errors.
        var option: String
        /// Whether several calls may name the same file, because they add to it or keep it up to date.
        var isShared: Bool
    }

    /// The files of cookies, sessions and events, which several calls of a command share.
    static func sharedUses(_ session: SessionSettings, _ output: OutputSettings) -> [Use] {
        let isFile = session.name?.has("/") == true
        let paths = [
            (session.cookieOutput, "-c"), (isFile ? session.name : nil, "--session"), (output.eventsPath, "--events"),
            (output.recordingPath, "--har"),
        ]
        return paths.compactMap { path, option in path.map { Use(path: $0, option: option, isShared: true) } }
    }

    /// The files that the call certainly writes, as far as they are known before a response.
    private func uses() throws(CommandError) -> [Use] {
        var uses = Self.sharedUses(session, output)
        let option = output.path == nil ? "-O" : "-o"
        // A name that is taken gets a number.
        if let path = try chosenPath() { uses.append(Use(path: path, option: option, isShared: output.keepsExisting)) }
        let others = [(output.headPath, "-D", true), (output.tagPath, "--etag-save", false)]
        for case (let path?, let option, let isShared) in others {
            uses.append(Use(path: path, option: option, isShared: isShared))
        }
        return uses
    }

    /// Checks that no two responses of the calls are written to the same file.
    ///
    /// - Throws: A usage error that names the file and the options.
    static func check(_ calls: [GetSettings]) throws(CommandError) {
        var uses: [Use] = []
        for call in calls where !call.writesNothing { uses += try OutputPlace(call).uses() }
        try check(uses)
    }

    /// Checks that what is written to one file belongs together.
    ///
    /// - Throws: A usage error that names the file and the options.
    static func check(_ uses: [Use]) throws(CommandError) {
        var found: [FilePlace: Use] = [:]
        // Pipes and devices take what several calls write.
        for use in uses where use.path != "-" && isRegularOrNew(use.path) {
            let place = FilePlace(use.path)
            guard let other = found[place] else {
                found[place] = use
                continue
            }
            guard use.option == other.option else {
                throw .usage(
                    "\(other.option) and \(use.option) both write “\(use.path.asArgument)”",
                    advice: "Give each of them a file of its own."
                )
            }
            guard use.isShared, other.isShared else {
                throw .usage(
                    "two responses for one file: “\(use.path.asArgument)”",
                    advice: "Give each address a file of its own with -o; #1 in its name stands for a range or list."
                )
            }
        }
    }

    private static func isRegularOrNew(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    }

    private func chosenPath() throws(CommandError) -> String? {
        let start = output.folder.map { $0.ends(with: "/") ? $0 : $0 + "/" } ?? ""
        if let path = output.path { return start + path }
        guard output.usesRemoteName, !output.takesServerName else { return nil }
        let address = Address(request.address ?? "").base
        let path = address.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst(3)
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(decoding: path[path.index(after: $0)...], as: UTF8.self) } ?? ""
        if let safe = ContentDisposition.safeFilename(from: Self.decoded(name)) { return start + safe }
        // curl has had different names for such a file.
        guard !isForCurl else {
            throw .usage("--remote-name: the address names no file", advice: "Name the file with -o.")
        }
        return start + "download"
    }

    /// The name without its escapes, unless these are no UTF-8: names that differ stay different.
    private static func decoded(_ name: String) -> String {
        String(validating: name[...].percentDecodedBytes, as: UTF8.self) ?? name
    }

    private static func makeFolder(_ path: String) throws(CommandError) {
        var status = stat()
        guard !path.isEmpty, stat(path, &status) != 0 else { return }
        if let (parent, _) = path.cut(atLast: "/") { try makeFolder(String(parent)) }
        guard mkdir(path, 0o750) == 0 || errno == EEXIST else { throw .file(path, "made", .last) }
    }

    /// Writes bytes of a server to a file, or to the standard output for `-`.
    static func write(
        _ bytes: Data,
        to path: String,
        appending: Bool,
        _ console: Console
    ) throws(CommandError) {
        guard path != "-" else {
            guard console.laysOut else { return try console.write(bytes) }
            // Text of the server must not control the terminal.
            var shown = TerminalText(.plain)
            return try console.write(shown.text(of: bytes))
        }
        do throws(SystemError) {
            let file = try Descriptor.open(path, O_WRONLY | O_CREAT | (appending ? O_APPEND : O_TRUNC))
            // Writing reports its errors; closing adds none.
            defer { try? file.close() }
            try file.write(bytes)
        } catch {
            throw .file(path, "written", error)
        }
    }

    /// Gives a file the date of `Last-Modified`, if the response has one.
    static func setDate(of path: String, to response: Response, now: Date) {
        guard let text = response.headers.value(.lastModified), let date = try? Headers.HTTPDate(text, now: now) else {
            return
        }
        let time = timeval(tv_sec: Int(date.date.timeIntervalSince1970), tv_usec: 0)
        // The file is complete; a date that cannot be set changes nothing about that.
        _ = utimes(path, [time, time])
    }
}
