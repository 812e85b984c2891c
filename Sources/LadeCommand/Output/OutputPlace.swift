#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

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
    private let isForCurl: Bool

    /// Decides for one call.
    init(_ output: OutputSettings, _ request: RequestSettings, isForCurl: Bool) {
        self.output = output
        self.isForCurl = isForCurl
        self.request = request
    }

    /// The path; nil for the standard output, and when the server names the file.
    ///
    /// - Throws: A usage error for an address that names no file, a local error for a folder that cannot be made.
    func path() throws(CommandError) -> String? {
        guard var path = try chosenPath() else { return nil }
        if output.keepsExisting { path = Self.unused(path) }
        if output.createsFolders, let (folder, _) = path.cut(atLast: "/") { try Self.makeFolder(String(folder)) }
        return path
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

    private static func decoded(_ name: String) -> String {
        String(decoding: name[...].percentDecodedBytes, as: UTF8.self)
    }

    /// The path, with a number behind it when a file has that name.
    private static func unused(_ path: String) -> String {
        var status = stat()
        guard lstat(path, &status) == 0 else { return path }
        for number in 1...100 where lstat("\(path).\(number)", &status) != 0 { return "\(path).\(number)" }
        return path
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
        guard let text = response.headers["Last-Modified"], let date = try? HTTPDate(text, now: now) else { return }
        let time = timeval(tv_sec: Int(date.date.timeIntervalSince1970), tv_usec: 0)
        // The file is complete; a date that cannot be set changes nothing about that.
        _ = utimes(path, [time, time])
    }
}
