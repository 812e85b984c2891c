package import LadeCore

extension CachePlace {
    /// The partition of a service: its name, and what weakens the check of its servers.
    ///
    /// What a service accepted without checking certificates, or in spite of violations of HTTP, is served to no other.
    package static func partition(_ name: String, _ settings: TransportSettings) -> String {
        let isChecked = settings.tls.verification == .full && settings.tolerances.isEmpty
        // A name has no control characters, so that no name looks like a weakened partition.
        guard !isChecked else { return name }
        return
            "\(name)\u{1}\(settings.tls.verification == .full ? "checked" : "unchecked")\u{1}\(settings.tolerances.rawValue)"
    }
}
