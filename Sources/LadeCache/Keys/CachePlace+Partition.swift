#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

extension CachePlace {
    /// The partition of a service: its name, and the settings that weaken the check of its servers.
    ///
    /// A response that a service accepted without checking certificates, or in spite of violations of HTTP, is served to no
    /// other service.
    package static func partition(_ name: String, _ settings: TransportSettings) -> String {
        let isChecked = settings.tls.verification == .full && settings.tolerances.isEmpty
        // A name has no control characters, so that no name looks like a weakened partition.
        guard !isChecked else { return name }
        return
            "\(name)\u{1}\(settings.tls.verification == .full ? "checked" : "unchecked")\u{1}\(settings.tolerances.rawValue)"
    }
}

/// The settings of a transport that matter for stored responses.
package struct ConnectionFacts: Sendable {
    /// The bytes of the client certificate, or its path where it cannot be read; nil without one.
    package var identity: [UInt8]?
    /// Whether content codings are removed from responses to requests without `Accept-Encoding` of their own.
    package var decodesContent = true

    /// Makes the facts of default settings.
    package init() {}

    /// Reads the facts from settings, and the certificate from its file.
    package init(_ settings: TransportSettings) {
        decodesContent = settings.decodesContent
        guard let certificate = settings.tls.clientIdentity else { return }
        let path = certificate.certificateFile
        // A pipe would keep the caller waiting; the transport refuses everything but a regular file.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let type = (try? FileManager.default.attributesOfItem(atPath: target))?[.type] as? FileAttributeType
        let bytes = type == .typeRegular ? FileManager.default.contents(atPath: target) : nil
        identity = bytes.map { [1] + Array($0) } ?? [0] + Array(path.utf8)
    }

    /// Whether a response to such a request keeps the coding in which it was sent.
    package func isRaw(_ headers: Headers) -> Bool { !decodesContent || headers.contains("Accept-Encoding") }
}
