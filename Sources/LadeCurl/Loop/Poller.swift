#if os(Linux)
    import CCurl

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Waits for the sockets of a multi handle with epoll, and updates the kernel lazily.
    ///
    /// libcurl reports REMOVE after each exchange, and IN again when the pooled connection is reused. For connections
    /// that have carried a request, the kernel's registration is kept while they are idle, and `epoll_ctl` is called for
    /// net changes only. This saves two system calls per request. Used only by the loop thread.
    ///
    /// **Other descriptors are closed without a callback, and their numbers then belong to others.** These are the
    /// resolver's, and, with libcurl 7.88 to 8.2, the sockets that are not connected yet. Their registration is updated
    /// immediately, and nothing is done with their numbers later.
    ///
    /// **A socket is idle while its connection is in libcurl's pool and no exchange uses it.** REMOVE does not imply
    /// that: libcurl reports it for a paused exchange too. An exchange uses the socket for which libcurl last requested
    /// events on its behalf (``use(_:)``), until the exchange ends (``release(_:now:isMultiplexed:)``). Only idle
    /// sockets are shut down: when they become readable, unless HTTP/2 is in use, and at the end of their idle life.
    final class Poller {
        /// The events of a socket, in libcurl's bits.
        struct Ready {
            var socket: Int32
            var bits: Int32
        }

        /// The use of a socket by an exchange.
        ///
        /// The number of a closed socket can be reused, the generation cannot.
        struct Use: Equatable {
            let socket: Int32
            fileprivate let generation: Int
        }

        private struct Interest {
            /// Distinguishes sockets that had the same number.
            var generation = 0
            /// The events that the kernel reports.
            var kernel: UInt32 = 0
            /// The events that libcurl requests.
            var wanted: UInt32 = 0
            /// Whether the socket belongs to a connection that has carried a request.
            var isConnection = false
            /// The number of exchanges that use the socket.
            var users = 0
            /// When the socket became idle; nil while an exchange uses it, before its first use, and after it was shut
            /// down.
            var idleSince: Int64?
            /// Whether the peer may send without a request that is known, as in HTTP/2.
            var isMultiplexed = false
            var isDirty = false

            /// The state for the next socket with this number, which is not open yet.
            var successor: Interest { Interest(generation: generation + 1, isDirty: isDirty) }
        }

        private let epoll: Int32
        private let wakeUp: Int32
        private let timer: Int32
        /// When the timer fires; the greatest value when it is not set.
        @exclusivity(unchecked) private var timerMoment = Int64.max
        // No access is open while libcurl is called.
        @exclusivity(unchecked) private var interests: [Interest] = []
        @exclusivity(unchecked) private var dirty: [Int32] = []
        private let events: UnsafeMutableBufferPointer<epoll_event>

        /// Makes a poller, or throws the system's error number.
        init() throws(SystemError) {
            epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard epoll >= 0 else { throw SystemError(errno: errno) }
            wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            timer = lade_timer_make()
            guard wakeUp >= 0, timer >= 0 else {
                let error = SystemError(errno: errno)
                for descriptor in [epoll, wakeUp, timer] where descriptor >= 0 { closeDescriptor(descriptor) }
                throw error
            }
            events = .allocate(capacity: 256)
            // Edge-triggered: each write and each expiry wakes once, and neither needs to be read.
            for descriptor in [wakeUp, timer] {
                var event = epoll_event(events: EPOLLIN.rawValue | EPOLLET.rawValue, data: epoll_data_t(fd: descriptor))
                epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
            }
        }

        deinit {
            events.deallocate()
        }

        /// Closes the descriptors; no method may be called afterwards.
        func close() {
            closeDescriptor(wakeUp)
            closeDescriptor(timer)
            closeDescriptor(epoll)
        }

        /// The descriptor that ends a wait when written to; may be used from any thread while the poller exists.
        var wakeUpDescriptor: Int32 { wakeUp }

        /// Records a socket that was opened for libcurl.
        func opened(_ socket: Int32) {
            grow(to: socket)
            interests[Int(socket)] = interests[Int(socket)].successor
        }

        /// Records that an opened socket has become a connection, which is about to carry its first request.
        func connected(_ socket: Int32, isUnix: Bool) {
            interests[Int(socket)].isConnection = true
            // The loop does not know which Unix socket carries a request, so none of them is shut down when readable.
            interests[Int(socket)].isMultiplexed = isUnix
        }

        /// Removes a socket that was opened for libcurl and is about to be closed.
        func closing(_ socket: Int32) {
            grow(to: socket)
            interests[Int(socket)] = interests[Int(socket)].successor
        }

        /// Sets the events that libcurl requests for a socket.
        func want(_ socket: Int32, _ what: Int32) {
            grow(to: socket)
            let index = Int(socket)
            let wanted: UInt32 =
                what == CURL_POLL_REMOVE
                ? 0
                : (what & CURL_POLL_IN != 0 ? EPOLLIN.rawValue : 0)
                    | (what & CURL_POLL_OUT != 0 ? EPOLLOUT.rawValue : 0)
            interests[index].wanted = wanted
            guard interests[index].isConnection else {
                return applyEagerly(socket, wanted, isRemoval: what == CURL_POLL_REMOVE)
            }
            markDirty(index)
        }

        private func markDirty(_ index: Int) {
            guard !interests[index].isDirty else { return }
            interests[index].isDirty = true
            dirty.append(Int32(index))
        }

        /// Begins the use of a socket by an exchange; nil when the socket belongs to no connection.
        func use(_ socket: Int32) -> Use? {
            grow(to: socket)
            let index = Int(socket)
            guard interests[index].isConnection else { return nil }
            interests[index].users += 1
            interests[index].idleSince = nil
            return Use(socket: socket, generation: interests[index].generation)
        }

        /// Whether a use refers to the current socket with its number.
        func isCurrent(_ use: Use) -> Bool { interests[Int(use.socket)].generation == use.generation }

        /// Ends the use of a socket by an exchange; has no effect when the socket was closed meanwhile.
        ///
        /// - Parameters:
        ///   - use: The use.
        ///   - now: The time, from which on the socket is idle when no other exchange uses it.
        ///   - isMultiplexed: Whether the exchange found an HTTP/2 connection on the socket.
        func release(_ use: Use, now: Int64, isMultiplexed: Bool) {
            let index = Int(use.socket)
            guard isCurrent(use) else { return }
            interests[index].users -= 1
            if isMultiplexed { interests[index].isMultiplexed = true }
            guard interests[index].users == 0 else { return }
            interests[index].idleSince = now
            // The poller must notice bytes that arrive while the socket is idle.
            if interests[index].kernel == 0 { markDirty(index) }
        }

        /// Makes the current or next wait end at a given time at the latest.
        ///
        /// A timer that is set for an earlier time stays. An occasional early wake-up is cheaper than a new kernel
        /// timer for each wait, because most deadlines are moved before they expire.
        ///
        /// - Parameter moment: The time by the system's clock.
        func wake(at moment: Int64) {
            guard moment < timerMoment else { return }
            timerMoment = moment
            lade_timer_set(timer, moment)
        }

        /// Waits until something happens, and calls `body` for each socket that is ready.
        ///
        /// When `isLook` is true, returns without waiting. Calls `woke` after the wait, before anything else.
        func wait(isLook: Bool, woke: () -> Void, _ body: (Ready) -> Void) {
            applyChanges()
            let count = epoll_wait(epoll, events.baseAddress, 256, isLook ? 0 : -1)
            woke()
            guard count > 0 else { return }
            for event in events[..<Int(count)] {
                let socket = event.data.fd
                if socket == wakeUp { continue }
                if socket == timer {
                    timerMoment = .max
                    continue
                }
                let index = Int(socket)
                if index < interests.count, interests[index].isConnection, interests[index].wanted == 0 {
                    noteUnrequested(event.events, socket)
                    continue
                }
                let bits = event.events
                let isReadable = bits & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0
                body(
                    Ready(
                        socket: socket,
                        bits: (isReadable ? CURL_CSELECT_IN : 0)
                            | (bits & EPOLLOUT.rawValue != 0 ? CURL_CSELECT_OUT : 0)
                            | (bits & EPOLLERR.rawValue != 0 ? CURL_CSELECT_ERR : 0)
                    )
                )
            }
        }

        /// Handles events of a socket for which libcurl requests none: it is idle, or its exchange is paused.
        ///
        /// libcurl requests events again when a paused exchange continues. On an idle HTTP/1 connection no byte may
        /// arrive, so the connection ends now.
        private func noteUnrequested(_ bits: UInt32, _ socket: Int32) {
            let index = Int(socket)
            var none = epoll_event()
            epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &none)
            interests[index].kernel = 0
            guard interests[index].idleSince != nil, !interests[index].isMultiplexed else { return }
            guard bits != EPOLLOUT.rawValue else { return markDirty(index) }
            shutdown(socket, Int32(SHUT_RDWR))
            interests[index].idleSince = nil
        }

        /// Shuts down the sockets that have been idle since before a given time.
        ///
        /// libcurl checks the age of a pooled connection only when it is about to reuse it, so that the server would
        /// keep the connection open. libcurl treats a socket that was shut down as dead and closes it.
        ///
        /// - Returns: The time at which the longest idle socket that is left became idle.
        func shutIdle(before moment: Int64) -> Int64? {
            var oldest: Int64?
            for index in interests.indices {
                guard let since = interests[index].idleSince else { continue }
                if since <= moment {
                    shutdown(Int32(index), Int32(SHUT_RDWR))
                    interests[index].idleSince = nil
                } else {
                    oldest = min(oldest ?? since, since)
                }
            }
            return oldest
        }

        /// Updates the kernel's registration.
        private func applyChanges() {
            for socket in dirty {
                let index = Int(socket)
                interests[index].isDirty = false
                let interest = interests[index]
                let wanted = interest.idleSince == nil ? interest.wanted : interest.kernel == 0 ? EPOLLIN.rawValue : 0
                guard interest.isConnection, wanted != 0, wanted != interest.kernel else { continue }
                var event = epoll_event(events: wanted, data: epoll_data_t(fd: socket))
                epoll_ctl(epoll, interest.kernel == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event)
                interests[index].kernel = wanted
            }
            dirty.removeAll(keepingCapacity: true)
        }

        private func applyEagerly(_ socket: Int32, _ wanted: UInt32, isRemoval: Bool) {
            var event = epoll_event(events: wanted, data: epoll_data_t(fd: socket))
            if isRemoval {
                epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &event)
            } else if epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) != 0 {
                epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event)
            }
            interests[Int(socket)].kernel = wanted
        }

        private func grow(to socket: Int32) {
            guard Int(socket) >= interests.count else { return }
            interests.append(contentsOf: repeatElement(Interest(), count: Int(socket) + 64 - interests.count))
        }
    }

    /// Closes a descriptor; within ``Poller``, `close` is its own method.
    private func closeDescriptor(_ descriptor: Int32) {
        close(descriptor)
    }

    /// The system's error number.
    struct SystemError: Error {
        var errno: Int32
    }
#endif
