#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension URL {
    /// The address without user name, password and fragment, and with the values of secret query items replaced.
    ///
    /// Errors and events carry this form. A query item is secret when its name is in `secretQueryNames`, or is one of
    /// the names that commonly carry credentials. `token`, `access_token`, `api_key` and `signature` are among them, in
    /// any case.
    public func redacted(secretQueryNames: Set<String> = []) -> String {
        let rule = secretQueryNames.isEmpty ? .standard : Redaction(names: secretQueryNames, values: [])
        return rule.address(absoluteString)
    }
}
