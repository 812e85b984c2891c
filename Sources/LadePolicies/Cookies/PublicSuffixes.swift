/// A guard against cookies for names under which anybody can have a host, such as `com` or `co.uk`.
///
/// The whole list of such names is long and changes every week; this knows single labels and the busiest second levels.
/// An app that talks to hosts of strangers gives ``CookieJar`` a rule that knows the list.
public enum PublicSuffixes {
    /// Whether a domain, in lower case, is known to be shared by strangers.
    public static func contains(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: true)
        guard labels.count >= 2 else { return true }
        guard labels.count == 2 else { return false }
        return isCountry(labels[1]) && secondLevels.contains(String(labels[0])) || shared.contains(domain)
    }

    private static func isCountry(_ label: Substring) -> Bool { label.utf8.count == 2 }

    private static let secondLevels: Set<String> = [
        "ac", "co", "com", "edu", "gob", "gov", "gouv", "ltd", "mil", "ne", "net", "nom", "or", "org", "plc", "sch",
    ]

    private static let shared: Set<String> = [
        "github.io", "gitlab.io", "herokuapp.com", "appspot.com", "blogspot.com", "web.app", "firebaseapp.com",
        "netlify.app", "vercel.app", "pages.dev", "workers.dev", "azurewebsites.net", "cloudfront.net", "fly.dev",
    ]
}
