#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting

/// The real servers that some cases use: nginx with TLS, an HTTP/2 peer, proxies.
///
/// A JSON object in the file that the environment variable `LADE_PEERS` names contains their ports and files. Cases
/// whose peer is missing are skipped.
public struct ConformancePeers: Sendable {
    private let values: [String: Value]

    private enum Value: Sendable, Decodable {
        case text(String)
        case number(Int)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                // Lists and flags are not used.
                self = .other
            }
        }
    }

    /// No peers at all.
    public static let none = ConformancePeers(values: [:])

    /// The peers that `LADE_PEERS` names; none when it is not set or its file cannot be read.
    public static func fromEnvironment() -> ConformancePeers {
        guard let path = ProcessInfo.processInfo.environment["LADE_PEERS"],
            let bytes = FileManager.default.contents(atPath: path)
        else { return .none }
        return ConformancePeers(json: bytes) ?? .none
    }

    private init(values: [String: Value]) {
        self.values = values
    }

    private init?(json: Data) {
        // A damaged file counts as none: every case that needs it reports that.
        guard let values = try? JSONDecoder().decode([String: Value].self, from: json) else { return nil }
        self.values = values
    }

    /// Whether the file has an entry.
    public func contains(_ name: String) -> Bool {
        values[name] != nil
    }

    /// The port of a peer.
    ///
    /// - Throws: ``ConformanceError`` when there is none.
    public func port(_ name: String) throws(ConformanceError) -> Int {
        guard case .number(let port) = values[name] else { throw missing(name) }
        return port
    }

    /// A path, a name or a password.
    ///
    /// - Throws: ``ConformanceError`` when there is none.
    public func text(_ name: String) throws(ConformanceError) -> String {
        guard case .text(let text) = values[name] else { throw missing(name) }
        return text
    }

    private func missing(_ name: String) -> ConformanceError {
        ConformanceError.skipped("needs \(ConformanceCase.Need.peer(name))")
    }
}
