#if os(Linux)
    import Glibc
    import LadeTesting
    import Testing

    // In a process of its own, because all of its descriptors are used.
    @Suite("Loopback server without descriptors", .timeLimit(.minutes(5)))
    struct ShortageTests {
        @Test("accepts a connection as soon as a descriptor is free, and does not compute until then")
        func accepts() async {
            await #expect(processExitsWith: .success) {
                var limit = rlimit(rlim_cur: 128, rlim_max: 128)
                try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
                let server = try LoopbackServer(answering: "at last")
                // What the process opens for a moment at the first use of its threads would be free during the shortage.
                let first = RawClient(port: server.port)
                first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(first.receiveAll() == "at last")
                var others: [Int32] = []
                while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { others.append(descriptor) }
                try #require(errno == EMFILE)
                close(others.removeLast())
                let client = RawClient(port: server.port)
                try #require(client.isConnected)

                // Real time: what is measured is the processor time of a server that waits.
                var start = timespec()
                clock_gettime(CLOCK_MONOTONIC, &start)
                let computed = clock()
                usleep(300_000)
                var end = timespec()
                clock_gettime(CLOCK_MONOTONIC, &end)
                let elapsed = Double(end.tv_sec - start.tv_sec) + Double(end.tv_nsec - start.tv_nsec) / 1e9
                #expect(Double(clock() - computed) / Double(CLOCKS_PER_SEC) < elapsed / 10)
                #expect(server.connections.count == 1)

                for descriptor in others { close(descriptor) }
                client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(client.receiveAll() == "at last")
            }
        }
    }
#endif
