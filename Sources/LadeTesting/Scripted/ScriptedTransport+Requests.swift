#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

// Reading requests.
extension ScriptedTransport {
    /// The path and the query of an address, as in a request line.
    static func target(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        let query = url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        return (path.isEmpty ? "/" : path) + query
    }

    /// The size of a head in HTTP/1.1.
    static func headSize(_ line: String, _ headers: Headers) -> Int64 {
        headers.reduce(Int64(line.utf8.count + 4)) { $0 + Int64($1.name.utf8.count + $1.value.utf8.count + 4) }
    }

    static func matches(_ url: URL, _ address: String) -> Bool {
        let query = url.query(percentEncoded: true)
        let mustMatchQuery = address.contains("?")
        if address.hasPrefix("/") {
            let target = Self.target(of: url)
            return mustMatchQuery ? target == address : target.prefix { $0 != "?" } == address
        }
        let whole = url.absoluteString.prefix { $0 != "#" }
        return mustMatchQuery || query == nil ? whole == address : whole.prefix { $0 != "?" } == address
    }

    static func collect(_ request: Request) async throws(LoadingError) -> (Data, Headers) {
        guard let body = request.body else { return (Data(), Headers()) }
        let bytes: Data
        switch body.content {
        case .bytes(let all):
            bytes = all
        case .file(let path, let offset):
            do {
                bytes = try Data(contentsOf: URL(filePath: path)).dropFirst(Int(offset))
            } catch {
                let fault = LoadingError.FileCause(path: path, operation: .read, reason: "no such readable file")
                throw LoadingError(.file(fault), LoadingError.Context(request))
            }
        case .stream(let write):
            let collected = Locked(Data())
            do {
                try await write { (chunk) throws(LoadingError) in
                    guard !Task.isCancelled else { throw LoadingError(.cancelled, LoadingError.Context(request)) }
                    collected.withLock { $0.append(chunk) }
                }
            } catch {
                if Task.isCancelled { throw LoadingError(.cancelled, LoadingError.Context(request)) }
                throw LoadingError(.requestBodyFailed, LoadingError.Context(request), underlyingError: error)
            }
            bytes = collected.withLock { $0 }
        }
        return (Data(bytes), body.trailers?() ?? Headers())
    }
}
