import LadeCore

#if canImport(CPSL)
    import CPSL
#endif

extension CookieJar {
    /// The names below which unrelated parties have hosts, such as `com`, `co.uk` or `github.io`: no cookie may be set for
    /// them.
    ///
    /// On Linux it is the whole Public Suffix List of libpsl; the system's file is used if it is newer than the library. On
    /// other platforms it is single labels and the most used second levels. An app that needs more there passes a complete
    /// rule to ``CookieJar``.
    public enum PublicSuffixes {
        /// Whether a domain is shared by unrelated parties; letter case and a dot at its end do not matter.
        public static func contains(_ domain: String) -> Bool {
            guard let host = NormalHost(domain) else { return true }
            guard host.kind == .name else { return false }
            #if canImport(CPSL)
                if let list = List.latest.context { return psl_is_public_suffix2(list, host.text, PSL_TYPE_ANY) != 0 }
            #endif
            return isUsual(host.text)
        }

        #if canImport(CPSL)
            // Sendable: made once, and libpsl only reads it afterwards.
            private struct List: @unchecked Sendable {
                static let latest = List(context: psl_latest(nil))

                let context: OpaquePointer?
            }
        #endif

        /// The suffixes that are known without the list.
        private static func isUsual(_ domain: String) -> Bool {
            let labels = domain.parts(at: ".", omitsEmpty: true)
            guard labels.count == 2 else { return labels.count < 2 }
            return labels[1].utf8.count == 2 && secondLevels.contains(String(labels[0])) || shared.contains(domain)
        }

        private static let secondLevels: Set<String> = [
            "ac", "co", "com", "edu", "gob", "gov", "gouv", "ltd", "me", "mil", "ne", "net", "nom", "or", "org", "plc",
            "sch",
        ]

        private static let shared: Set<String> = [
            "github.io", "gitlab.io", "herokuapp.com", "appspot.com", "blogspot.com", "web.app", "firebaseapp.com",
            "myshopify.com", "netlify.app", "vercel.app", "pages.dev", "workers.dev", "azurewebsites.net",
            "cloudfront.net",
            "fly.dev",
        ]
    }
}
