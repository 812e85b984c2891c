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

extension UserAgent.Product {
    /// The running program: the name and version of its bundle, or the name of its process.
    public static var application: UserAgent.Product {
        #if canImport(Darwin)
            let bundle = Bundle.main
            let text = { (key: String) in bundle.object(forInfoDictionaryKey: key) as? String }
            let name = text("CFBundleDisplayName") ?? text("CFBundleName") ?? ProcessInfo.processInfo.processName
            return UserAgent.Product(name, version: text("CFBundleShortVersionString") ?? text("CFBundleVersion"))
        #else
            return UserAgent.Product(ProcessInfo.processInfo.processName)
        #endif
    }
}

extension UserAgent.Platform {
    /// The current machine and its operating system.
    public static var current: UserAgent.Platform {
        var names = utsname()
        uname(&names)
        let model = text(of: names.machine)
        #if os(Linux)
            return UserAgent.Platform(model: model, system: "Linux", systemVersion: version(text(of: names.release)))
        #else
            let version = ProcessInfo.processInfo.operatingSystemVersion
            let text = "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
            return UserAgent.Platform(model: model, system: system, systemVersion: text)
        #endif
    }

    /// The leading numbers of a kernel's version; the rest would reveal more about the machine than servers need.
    private static func version(_ release: String) -> String {
        String(release.prefix { $0.isNumber || $0 == "." })
    }

    #if os(macOS)
        private static let system = "macOS"
    #elseif os(tvOS)
        private static let system = "tvOS"
    #elseif os(watchOS)
        private static let system = "watchOS"
    #elseif os(visionOS)
        private static let system = "visionOS"
    #else
        private static let system = "iOS"
    #endif

    /// The text in a fixed array of C characters, up to its NUL.
    private static func text<Characters>(of characters: Characters) -> String {
        withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
