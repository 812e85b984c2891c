#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A small file that is part of the arguments: options, header fields, a format.
enum ArgumentFile {
    // A longer file is the wrong one.
    private static let limit = 4 << 20

    /// The bytes of a file, or of the standard input for `-`.
    ///
    /// - Throws: A local error that names the file.
    static func bytes(_ path: String, of option: String) throws(CommandError) -> [UInt8] {
        var all: [UInt8] = []
        do throws(SystemError) {
            let file = path == "-" ? Descriptor.standardInput : try .open(path, O_RDONLY)
            // Reading reports its errors; closing adds none.
            defer { if path != "-" { try? file.close() } }
            while all.count <= limit {
                let chunk = try file.read(upTo: 64 << 10)
                if chunk.isEmpty { return all }
                all += chunk
            }
        } catch {
            throw .file(path, "read", error)
        }
        throw CommandError(
            what: "\(option): the file \(path) is larger than 4 MB.",
            advice: "Check the path.",
            code: .localFile
        )
    }

    /// The lines of a file, without line ends and a byte-order mark.
    static func lines(_ path: String, of option: String) throws(CommandError) -> [ArraySlice<UInt8>] {
        var bytes = try bytes(path, of: option)[...]
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        return bytes.split(separator: 0x0A).map { $0.last == 0x0D ? $0.dropLast() : $0 }.filter { !$0.isEmpty }
    }
}
