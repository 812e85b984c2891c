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

/// The smallest blocking client: sends bytes, reads what comes.
///
/// The server's threads are its own, so it may block.
final class RawClient {
    private let descriptor: Int32

    init(port: UInt16) {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        isConnected = result == 0
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

    /// Exactly so many bytes, or what came before the end.
    func receive(exactly count: Int) -> String {
        var text = ""
        while text.utf8.count < count, let piece = receive(count - text.utf8.count), !piece.isEmpty { text += piece }
        return text
    }

    func closeWriting() { shutdown(descriptor, Int32(SHUT_WR)) }
}
