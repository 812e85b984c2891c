#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Service {
    /// The preferred languages of responses, best first.
    ///
    /// Where they can change, they are looked up for each call. On Linux they come from environment variables, which are
    /// read once.
    public struct PreferredLanguages: Sendable {
        /// The most languages that are sent: 10.
        public static let limit = 10

        private enum Source: Sendable {
            case constant([String])
            case found(@Sendable () -> [String])
        }

        private let source: Source

        private init(_ source: Source) {
            self.source = source
        }

        /// Makes a custom source.
        ///
        /// - Parameter find: Returns language tags (RFC 5646), best first. It runs for each call and must return quickly.
        public init(_ find: @escaping @Sendable () -> [String]) {
            source = .found(find)
        }

        /// The languages of the user: those of the system's settings, on Linux those of `LANGUAGE`, `LC_ALL`, `LC_MESSAGES`
        /// or `LANG`.
        public static var system: Service.PreferredLanguages {
            #if canImport(Darwin)
                Service.PreferredLanguages { Locale.preferredLanguages }
            #else
                ofProcess
            #endif
        }

        #if !canImport(Darwin)
            private static let ofProcess = fixed(languages(inEnvironment: { getenv($0).map { String(cString: $0) } }))
        #endif

        /// These languages, independently of the user's preferences.
        public static func fixed(_ languages: [String]) -> Service.PreferredLanguages {
            Service.PreferredLanguages(.constant(languages))
        }

        /// No languages: the field is not sent.
        public static var none: Service.PreferredLanguages { fixed([]) }

        /// The current languages, best first.
        package var tags: [String] {
            switch source {
            case .constant(let tags): tags
            case .found(let find): find()
            }
        }

        /// The languages, if they never change.
        var constantTags: [String]? {
            if case .constant(let tags) = source { tags } else { nil }
        }

        /// The current value of `Accept-Language`; nil without any language.
        public var headerValue: String? {
            Self.headerValue(for: tags)
        }

        /// The value of `Accept-Language` for languages in order: without duplicates, at most ``limit``, with weights that
        /// decrease evenly from 1.
        ///
        /// `[en, fr]` → `en;q=1.00, fr;q=0.50`.
        public static func headerValue(for languages: [String]) -> String? {
            var kept: [String] = []
            for language in languages where kept.count < limit {
                let isKnown = kept.contains { $0.asciiLowercased == language.asciiLowercased }
                if !isKnown, !language.isEmpty, language.utf8.allSatisfy(isTagByte) { kept.append(language) }
            }
            guard !kept.isEmpty else { return nil }
            return kept.enumerated().map { index, language in
                let hundredths = (200 * (kept.count - index) + kept.count) / (2 * kept.count)
                let digits = hundredths % 100 < 10 ? "0\(hundredths % 100)" : "\(hundredths % 100)"
                return "\(language);q=\(hundredths / 100).\(digits)"
            }.joined(separator: ", ")
        }

        private static func isTagByte(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D: true
            default: byte == UInt8(ascii: "*")
            }
        }

        /// The languages in POSIX variables: `de_CH.UTF-8` → `de-CH`; `C` and `POSIX` are not languages.
        static func languages(inEnvironment variable: (String) -> String?) -> [String] {
            let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty }
            let isPlain = locale.map { ["C", "POSIX"].contains($0.prefix { $0 != "." && $0 != "@" }) } ?? true
            let listed = isPlain ? [] : (variable("LANGUAGE") ?? "").parts(at: ":", omitsEmpty: true).map(String.init)
            return (listed + [locale ?? ""]).compactMap { name in
                let tag = name.prefix { $0 != "." && $0 != "@" }.map { $0 == "_" ? "-" : $0 }
                let text = String(tag)
                return text.isEmpty || text == "C" || text == "POSIX" ? nil : text
            }
        }
    }
}
