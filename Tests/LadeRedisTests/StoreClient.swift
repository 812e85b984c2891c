import Foundation
import LadeRedis

/// A blocking client of the store, for tests.
final class StoreClient {
    private var socket: Int32 = -1
    private var reader = StoreReader()
    private let path: String

    init(_ path: String) { self.path = path }

    deinit { if socket >= 0 { close(socket) } }

    /// The reply to a command; nil without a connection.
    func command(_ words: [String]) -> StoreReply? {
        if socket < 0, !open() { return nil }
        let bytes = StoreCommand.bytes(words)
        guard
            bytes.withUnsafeBytes({ Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }) == bytes.count
        else {
            return lose()
        }
        while true {
            if let reply = try? reader.next() { return reply }
            var buffer = [UInt8](repeating: 0, count: 16 << 10)
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return lose() }
            reader.bytes += buffer[..<count]
        }
    }

    /// Carries out a script by its text.
    func run(_ command: FleetMember.Command) -> StoreReply? {
        self.command(["EVAL", command.script.text, "\(command.keys.count)"] + command.keys + command.arguments)
    }

    private func lose() -> StoreReply? {
        close(socket)
        (socket, reader) = (-1, StoreReader())
        return nil
    }

    private func open() -> Bool {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(107))) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            return false
        }
        socket = descriptor
        return true
    }
}
