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

    /// The lines of a file that are not empty, without line ends and a byte-order mark.
    ///
    /// - Throws: A local error that names the file, and a line that is no UTF-8: fields are texts, and nothing is repaired.
    static func lines(_ path: String, of option: String) throws(CommandError) -> [String] {
        var bytes = try bytes(path, of: option)[...]
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        var lines: [String] = []
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let line = line.last == 0x0D ? line.dropLast() : line
            guard let text = String(validating: line, as: UTF8.self) else {
                throw CommandError(
                    what: "\(option): the file \(path) has a line \(index + 1) that is no text in UTF-8.",
                    advice: "Write it in UTF-8.",
                    code: .localFile
                )
            }
            if !text.isEmpty { lines.append(text) }
        }
        return lines
    }
}
