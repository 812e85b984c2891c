#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#elseif canImport(Darwin)
    package import Darwin
#endif

/// The conditions that a file must meet before its contents are used or it is written to.
///
/// A file with state of its user can have been planted by another user. A part of a download, a journal, a session and
/// a jar are files of this kind. This is the only place that decides whether one counts; ``TrustedFile`` opens by it.
package struct FileTrust: Sendable, Hashable {
    /// Whether the last name of the path may be a symbolic link; folders on the way always may.
    package var followsLink: Bool
    /// The permissions that other users must not have.
    package var forbidden: mode_t
    /// Whether the file may be known by one name only: bytes that are written to it must not appear in another file.
    package var hasOneName: Bool

    /// Makes a rule.
    package init(followsLink: Bool = false, forbidden: mode_t = 0o022, hasOneName: Bool = false) {
        self.followsLink = followsLink
        self.forbidden = forbidden
        self.hasOneName = hasOneName
    }

    /// A file that belongs to the user, and that no other user can change.
    package static let own = FileTrust()
    /// A file that belongs to the user, and that no other user can read or change.
    package static let secret = FileTrust(forbidden: 0o077)

    /// The rule with links followed, for files that users place themselves, such as a configuration.
    package var followingLinks: FileTrust { FileTrust(followsLink: true, forbidden: forbidden, hasOneName: hasOneName) }

    /// The part of a file's status that the decision needs.
    package struct Facts: Sendable, Hashable {
        /// Whether it is a regular file.
        package var isRegular = true
        /// The user that it belongs to.
        package var owner: uid_t
        /// The permissions.
        package var mode: mode_t
        /// The number of its names.
        package var names = 1

        /// Makes facts.
        package init(isRegular: Bool = true, owner: uid_t, mode: mode_t, names: Int = 1) {
            self.isRegular = isRegular
            self.owner = owner
            self.mode = mode
            self.names = names
        }

        /// The facts of a status.
        package init(_ status: stat) {
            isRegular = status.st_mode & S_IFMT == S_IFREG
            owner = status.st_uid
            mode = status.st_mode & 0o7777
            names = Int(clamping: status.st_nlink)
        }
    }

    /// Why a file is not trusted; nil when it is.
    package func fault(of file: Facts, user: uid_t = geteuid()) -> FileDistrust? {
        guard file.isRegular else { return .notRegular }
        guard file.owner == user else { return .foreignOwner }
        guard file.mode & forbidden == 0 else {
            return .accessible(file.mode & forbidden & 0o022 == 0 ? .read : .change)
        }
        guard !hasOneName || file.names <= 1 else { return .severalNames }
        return nil
    }

    /// Why an open file is not trusted; nil when it is.
    package func fault(of descriptor: Int32) -> FileDistrust? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .system(errno) }
        return fault(of: Facts(status))
    }

    /// The flags that every opening needs: a pipe is not waited for, and a link is followed only where it may be.
    package var openFlags: Int32 { O_CLOEXEC | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW) }
}

/// Why a file is not used.
package enum FileDistrust: Error, Sendable, Hashable {
    /// The ways in which other users can use a file.
    package enum Access: Sendable, Hashable {
        /// They can read it.
        case read
        /// They can change it, or run it.
        case change
    }

    /// It is a folder, a pipe, a socket or a device.
    case notRegular
    /// It is a symbolic link.
    case link
    /// It belongs to another user.
    case foreignOwner
    /// Other users can read or change it.
    case accessible(Access)
    /// It has further names.
    case severalNames
    /// It has more bytes than such a file can have.
    case tooLarge(limit: Int)
    /// Another program holds its lock.
    case busy
    /// A system call failed with this number.
    case system(Int32)

    /// One clause about the file: “it belongs to another user”.
    package var reason: String {
        switch self {
        case .notRegular: "it is no regular file"
        case .link: "it is a symbolic link"
        case .foreignOwner: "it belongs to another user"
        case .accessible(.read): "other users can read it"
        case .accessible(.change): "other users can change it"
        case .severalNames: "it has several names"
        case .tooLarge(let limit): "it is larger than \(limit >> 20) MiB"
        case .busy: "another program is using it"
        case .system(let number): String(cString: strerror(number))
        }
    }

    /// The error of a call for a file.
    package func error(_ path: String, _ operation: LoadingError.FileCause.Operation) -> LoadingError {
        LoadingError(.file(LoadingError.FileCause(path: path, operation: operation, reason: reason)))
    }
}
