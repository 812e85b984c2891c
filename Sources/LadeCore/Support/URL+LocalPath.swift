#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension URL {
    /// The path of the file that the URL names.
    ///
    /// - Throws: ``LoadingError/Kind/file(_:)`` for a URL of another scheme.
    package func localPath(for operation: LoadingError.FileCause.Operation) throws(LoadingError) -> String {
        guard isFileURL else {
            let fault = LoadingError.FileCause(path: redacted(), operation: operation, reason: "it is not a file URL")
            throw LoadingError(.file(fault))
        }
        return path(percentEncoded: false)
    }
}
