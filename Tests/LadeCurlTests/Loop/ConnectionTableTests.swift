#if os(Linux)
    import Testing

    @testable import LadeCurl

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    @Suite("Sockets by the ends of their connections", .timeLimit(.minutes(5)))
    struct ConnectionTableTests {
        /// A socket that is bound to a local address; the system chooses the port if it is 0.
        private static func bound(to address: UInt32, port: in_port_t = 0) throws -> (socket: Int32, port: in_port_t) {
            #if canImport(Glibc)
                let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            #else
                let descriptor = socket(AF_INET, SOCK_DGRAM, 0)
            #endif
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_addr.s_addr = address.bigEndian
            name.sin_port = port.bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
                }
            }
            try #require(isBound)
            return (descriptor, name.sin_port.bigEndian)
        }

        @Test("connections differ by each address and each port of their ends")
        func ends() throws {
            let one = try Self.bound(to: 0x7F00_0001)
            let two = try Self.bound(to: 0x7F00_0002, port: one.port)
            let three = try Self.bound(to: 0x7F00_0001)
            defer { for descriptor in [one.socket, two.socket, three.socket] { close(descriptor) } }
            var table = ConnectionTable()
            func withEnds<Value>(
                _ remote: String,
                _ local: String,
                _ remotePort: CInt,
                _ localPort: in_port_t,
                _ body: (ConnectionEnds) throws -> Value
            ) rethrows -> Value {
                try remote.withCString { remote in
                    try local.withCString { local in
                        try body(
                            ConnectionEnds(
                                remote: remote,
                                local: local,
                                remotePort: remotePort,
                                localPort: CInt(localPort)
                            )
                        )
                    }
                }
            }
            let sockets = [one.socket, two.socket, three.socket]
            let rows: [(remote: String, local: String, port: CInt, localPort: in_port_t, socket: Int32?)] = [
                ("10.0.0.1", "127.0.0.1", 80, one.port, one.socket),
                ("10.0.0.1", "127.0.0.2", 80, one.port, two.socket),
                ("10.0.0.1", "127.0.0.1", 80, three.port, three.socket),
            ]
            for row in rows {
                withEnds(row.remote, row.local, row.port, row.localPort) { ends in
                    #expect(table.socket(ends) == nil)
                    #expect(table.name(ends, among: sockets) == row.socket)
                }
            }

            for row in rows + [
                ("10.0.0.2", "127.0.0.1", 80, one.port, nil), ("10.0.0.1", "127.0.0.1", 81, one.port, nil),
                ("10.0.0.1", "127.0.0.1", 80 + 256, one.port, nil), ("10.0.0.11", "27.0.0.1", 80, one.port, nil),
            ] {
                withEnds(row.remote, row.local, row.port, row.localPort) { #expect(table.socket($0) == row.socket) }
            }
            #expect(sockets.allSatisfy { table.isOpen($0) })
            table.closing(two.socket)
            #expect(!table.isOpen(two.socket))
            #expect(table.isOpen(one.socket))
            withEnds("10.0.0.1", "127.0.0.2", 80, one.port) { #expect(table.socket($0) == nil) }
        }

        // In a process of its own, which a mistake would end.
        @Test("descriptors of any number can be polled")
        func highNumbers() async {
            await #expect(processExitsWith: .success) {
                for use in [Poller.opened, Poller.closing, { poller in { _ = poller.use($0) } }] {
                    let poller = try Poller()
                    use(poller)(70_000)
                    poller.close()
                }
            }
        }
    }
#endif
