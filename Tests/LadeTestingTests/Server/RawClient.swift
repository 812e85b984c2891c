#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif
import LadeTesting

/// A socket that could not be created or used.
struct SocketFailure: Error {}

/// A minimal blocking client: sends bytes and reads what arrives.
///
/// The server has its own threads, so the client may block.
final class RawClient {
    private let descriptor: Int32

    convenience init(port: UInt16) {
        self.init(AF_INET) { Self.connect($0, Self.ipv4(port)) }
    }

    /// Connects in the endpoint's family to the server's port, because the endpoint's may be 0.
    convenience init(to endpoint: LoopbackServer.Address, port: UInt16 = 0) throws {
        switch endpoint {
        case .ipv4: self.init(port: port)
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            self.init(AF_INET6) { Self.connect($0, address) }
        case .unixSocket(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { throw SocketFailure() }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            self.init(AF_UNIX) { Self.connect($0, address) }
        }
    }

    private init(_ family: Int32, connect: (Int32) -> Bool) {
        #if canImport(Glibc)
            descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        #else
            descriptor = socket(family, SOCK_STREAM, 0)
        #endif
        isConnected = connect(descriptor)
    }

    private static func ipv4(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func connect<Address>(_ descriptor: Int32, _ address: Address) -> Bool {
        withUnsafeBytes(of: address) { bytes in
            guard let start = bytes.baseAddress else { return false }
            let pointer = start.assumingMemoryBound(to: sockaddr.self)
            #if canImport(Glibc)
                return Glibc.connect(descriptor, pointer, socklen_t(bytes.count)) == 0
            #else
                return Darwin.connect(descriptor, pointer, socklen_t(bytes.count)) == 0
            #endif
        }
    }

    let isConnected: Bool

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        #if canImport(Glibc)
            _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        #else
            _ = Darwin.send(descriptor, bytes, bytes.count, 0)
        #endif
    }

    /// One read: the bytes, "" at the end, nil for a reset.
    func receive(_ count: Int = 65_536) -> String? {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &bytes, count, 0)
        return received < 0 ? nil : String(decoding: bytes.prefix(received), as: UTF8.self)
    }

    /// Everything until the end; nil for a reset.
    func receiveAll() -> String? {
        var text = ""
        while true {
            guard let piece = receive() else { return nil }
            if piece.isEmpty { return text }
            text += piece
        }
    }

    /// Exactly this many bytes, or fewer at the end.
    func receive(exactly count: Int) -> String {
        var text = ""
        while text.utf8.count < count, let piece = receive(count - text.utf8.count), !piece.isEmpty { text += piece }
        return text
    }

    func closeWriting() { shutdown(descriptor, Int32(SHUT_WR)) }
}
