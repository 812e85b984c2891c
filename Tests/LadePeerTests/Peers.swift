import Foundation
import LadeConformance
import LadeCore
import LadePolicies
import LadeTesting
import LadeWire
import Testing

/// The real servers, and chains on LadeWire to connect to them.
enum Peers {
    private static let all = ConformancePeers.fromEnvironment()

    /// The address of a peer; without it the test is skipped, which is a failure in CI.
    static func origin(_ name: String, scheme: String = "http", host: String = "127.0.0.1") throws -> String {
        "\(scheme)://\(host):\(try lookUp { try all.port(name) })"
    }

    /// A path or a name; without it the test is skipped.
    static func text(_ name: String) throws -> String {
        try lookUp { try all.text(name) }
    }

    private static func lookUp<Value>(_ look: () throws -> Value) throws -> Value {
        do {
            return try look()
        } catch {
            if ProcessInfo.processInfo.environment["CI"] == "true" { Issue.record("\(error)") }
            try Test.cancel("\(error)")
        }
    }

    /// A scope of one origin over plain HTTP, which most peers use.
    static func scope(_ origin: String) throws -> Authorisation.Scope {
        var scope = try Authorisation.Scope(origin)
        scope.allowsInsecure = true
        return scope
    }

    /// A separate transport that connects to the peers directly.
    static func transport(_ change: (inout TransportSettings) throws -> Void = { _ in }) throws -> WireTransport {
        var settings = TransportSettings()
        settings.proxy = .direct
        try change(&settings)
        return try WireTransport(settings: settings)
    }
}
