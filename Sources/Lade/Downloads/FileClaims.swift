#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The files that the downloads of one caller write, so that no two of them write the same one.
package final class FileClaims: Sendable {
    private struct State {
        var places: Set<FilePlace> = []
        var files: Set<FileIdentity> = []
    }

    private let state = Locked(State())

    /// Makes a list without files.
    package init() {}

    /// Takes a place that is about to be written.
    ///
    /// - Returns: Whether the name is free: no other download has taken it, or has written the file that is there.
    package func take(_ place: FilePlace) -> Bool {
        let present = FileIdentity(path: place.path)
        return state.withLock { state in
            if let present, state.files.contains(present) { return false }
            return state.places.insert(place).inserted
        }
    }

    /// Whether a download has written the file of a path.
    package func hasWritten(_ path: String) -> Bool {
        let place = FilePlace(path)
        let present = FileIdentity(path: path)
        return state.withLock { state in
            state.places.contains(place) || present.map(state.files.contains) ?? false
        }
    }

    /// Records the file that was written, which may have further names: of a file system that does not distinguish case,
    /// or by links.
    package func record(_ descriptor: Int32) {
        guard let identity = FileIdentity(descriptor) else { return }
        _ = state.withLock { $0.files.insert(identity) }
    }
}

/// Where a file is or will be: its folder, whatever its path is, and the name in it.
package struct FilePlace: Hashable, Sendable {
    /// A path to it, with the links at its end followed.
    package let path: String
    private let folder: FileIdentity?
    private let name: String

    /// The place that a path leads to.
    package init(_ path: String) {
        // Links without an end lead nowhere, so the path is compared as it is.
        self.path = (try? OpenFolder.followingLinks(path)) ?? path
        let (folderPath, name) = OpenFolder.split(self.path)
        folder = FileIdentity(path: folderPath.isEmpty ? "." : folderPath)
        // The folder may be made later.
        self.name = folder == nil ? self.path : name
    }

    /// A path that no file has: the given one, or the same with a number behind it.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - isTaken: Whether a place without a file is left out, too.
    /// - Returns: The path; nil when files have the numbers up to 100, too.
    package static func unused(_ path: String, isTaken: (FilePlace) -> Bool = { _ in false }) -> String? {
        let paths = [path] + (1...100).map { "\(path).\($0)" }
        return paths.first { path in
            var status = stat()
            return lstat(path, &status) != 0 && !isTaken(FilePlace(path))
        }
    }

    package static func == (left: FilePlace, right: FilePlace) -> Bool {
        left.folder == right.folder && left.name.hasBytes(of: right.name)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(folder)
        hasher.combine(Array(name.utf8))
    }
}
