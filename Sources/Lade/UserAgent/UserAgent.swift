#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// The text that identifies a program to servers.
///
/// `MyApplication/1.0.0 (x86_64; Linux 6.1) MyLibrary/1.0.0 Lade/0.1.0`: the application, the machine with its system,
/// any libraries that are built on this one, and this library.
public struct UserAgent: Sendable, Hashable {
    /// A name with a version.
    public struct Product: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The version; nil for none.
        public var version: String?

        /// Makes a product.
        public init(_ name: String, version: String? = nil) {
            self.name = name
            self.version = version
        }

        /// The product as it is sent; nil when its name has no valid character.
        func token(sanitised: (String) -> String) -> String? {
            let name = sanitised(name)
            guard !name.isEmpty else { return nil }
            let version = version.map(sanitised) ?? ""
            return version.isEmpty ? name : "\(name)/\(version)"
        }
    }

    /// A machine and its operating system.
    public struct Platform: Sendable, Hashable {
        /// The kind of machine, such as `x86_64`.
        public var model: String
        /// The name of the system.
        public var system: String
        /// The version of the system.
        public var systemVersion: String

        /// Makes a platform.
        public init(model: String, system: String, systemVersion: String) {
            self.model = model
            self.system = system
            self.systemVersion = systemVersion
        }
    }

    /// This library with its version.
    public static let library = Product("Lade", version: UserAgent.LibraryVersion.number)

    /// The text that is sent; empty for none.
    public let text: String

    /// Uses a text unchanged.
    public init(_ text: String) {
        self.text = text
    }

    /// Composes a text.
    ///
    /// - Parameters:
    ///   - application: The program; the running one by default.
    ///   - platform: The machine; the current one by default.
    ///   - libraries: Libraries that are built on this one, in order.
    ///   - client: The HTTP library; this one by default.
    ///   - sanitised: Removes characters that cannot be sent in names and versions; ``sanitised(_:)`` by default.
    public init(
        application: Product = .application,
        platform: Platform = .current,
        libraries: [Product] = [],
        client: Product = UserAgent.library,
        sanitised: (String) -> String = UserAgent.sanitised
    ) {
        let comment = "(\(platform.model); \(platform.system) \(platform.systemVersion))"
        let tokens = (libraries + [client]).map { $0.token(sanitised: sanitised) }
        text = ([application.token(sanitised: sanitised), comment] + tokens).compactMap(\.self).joined(separator: " ")
    }

    /// The running program on this machine, determined once.
    public static let application = UserAgent()

    /// A named program on this machine.
    public static func product(_ name: String, version: String? = nil) -> UserAgent {
        UserAgent(application: Product(name, version: version))
    }

    /// The running program on this machine, with the name of a library that is built on this one.
    public static func library(_ name: String, version: String? = nil) -> UserAgent {
        UserAgent(libraries: [Product(name, version: version)])
    }

    /// A text, unchanged.
    public static func string(_ text: String) -> UserAgent {
        UserAgent(text)
    }

    /// The characters of a text that are allowed in a name or version: printable ASCII without
    /// `" ( ) , / : ; < = > ? @ [ \ ] { }`.
    ///
    /// `My Player (beta)` → `MyPlayerbeta`.
    public static func sanitised(_ text: String) -> String {
        let forbidden = Array("\"(),/:;<=>?@[\\]{}".utf8)
        let kept = text.unicodeScalars.filter { scalar in
            (0x21...0x7E).contains(scalar.value) && !forbidden.contains(UInt8(truncatingIfNeeded: scalar.value))
        }
        return String(String.UnicodeScalarView(kept))
    }
}

extension UserAgent: CustomStringConvertible {
    /// The text that is sent.
    public var description: String { text }
}

extension Request {
    /// The `User-Agent` of the request; nil, the default, uses the one of the service.
    ///
    /// ```swift
    /// request.userAgent = .string("Player/2.0")
    /// ```
    ///
    /// It is the field of that name in `headers`.
    public var userAgent: UserAgent? {
        get { headers["User-Agent"].map { UserAgent($0) } }
        set { headers["User-Agent"] = newValue?.text }
    }
}

extension UserAgent {
    /// The version of this library and its command.
    public enum LibraryVersion {
        /// Major, minor and patch, as in the tag of the release.
        public static let number = "0.1.0"
    }
}
