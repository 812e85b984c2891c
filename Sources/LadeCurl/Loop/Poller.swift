#if os(Linux)
    import CCurl

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Waits for sockets on behalf of a multi handle, by epoll, with lazy interest.
    ///
    /// libcurl reports REMOVE after each transfer and IN again when the pooled connection is reused. For sockets it opened
    /// through us the kernel's registration is left alone while idle and `epoll_ctl` is called for net changes only,
    /// which saves two system calls a request. Other descriptors (the resolver's) are closed without a callback, so their
    /// interest is applied immediately. Used by the loop thread alone.
    ///
    /// **A socket is idle while its connection is in libcurl's pool and no transfer uses it.** REMOVE does not say so:
    /// libcurl reports it for a paused transfer too. A transfer uses the socket for which libcurl last asked on its behalf
    /// (``use(_:)``), until it ends (``release(_:now:)``). Only idle sockets are ever shut.
    final class Poller {
        /// What happened to a socket, in libcurl's bits.
        struct Ready {
            var socket: Int32
            var bits: Int32
        }

        /// The use of a socket by a transfer.
        ///
        /// The number of a closed socket is given to the next one that is opened, the generation is not.
        struct Use: Equatable {
            let socket: Int32
            fileprivate let generation: Int
        }

        private struct Interest {
            /// Which of the sockets with this number it is.
            var generation = 0
            /// The events that the kernel reports.
            var kernel: UInt32 = 0
            /// The events that libcurl asks for.
            var wanted: UInt32 = 0
            /// Whether it was opened through us.
            var isLazy = false
            /// How many transfers use it.
            var users = 0
            /// Since when it is idle; nil while a transfer uses it, before the first one does, and once it was shut.
            var idleSince: Int64?
            var isDirty = false

            /// The next socket with the same number, closed as yet.
            var successor: Interest { Interest(generation: generation + 1, isDirty: isDirty) }
        }

        private let epoll: Int32
        private let wakeUp: Int32
        private let timer: Int32
        /// When the timer fires; the greatest value while it is not set.
        @exclusivity(unchecked) private var timerMoment = Int64.max
        // No access is open while libcurl is called.
        @exclusivity(unchecked) private var interests: [Interest] = []
        @exclusivity(unchecked) private var dirty: [Int32] = []
        private let events: UnsafeMutableBufferPointer<epoll_event>

        /// Makes a poller, or gives the system's error number.
        init() throws(SystemError) {
            epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard epoll >= 0 else { throw SystemError(errno: errno) }
            wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            timer = lade_timer_make()
            guard wakeUp >= 0, timer >= 0 else {
                let error = SystemError(errno: errno)
                for descriptor in [epoll, wakeUp, timer] where descriptor >= 0 { Glibc.close(descriptor) }
                throw error
            }
            events = .allocate(capacity: 256)
            // By edges: each write and each firing wakes once, and neither has to be read.
            for descriptor in [wakeUp, timer] {
                var event = epoll_event(events: EPOLLIN.rawValue | EPOLLET.rawValue, data: epoll_data_t(fd: descriptor))
                epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
            }
        }

        deinit {
            events.deallocate()
        }

        /// Gives the descriptors back; nothing may be called afterwards.
        func close() {
            Glibc.close(wakeUp)
            Glibc.close(timer)
            Glibc.close(epoll)
        }

        /// The descriptor that ends a wait when written to; safe to use from any thread while the poller lives.
        var wakeUpDescriptor: Int32 { wakeUp }

        /// A socket was opened for libcurl.
        func opened(_ socket: Int32) {
            grow(to: socket)
            interests[Int(socket)] = interests[Int(socket)].successor
            interests[Int(socket)].isLazy = true
        }

        /// A socket that was opened for libcurl is about to be closed.
        func closing(_ socket: Int32) {
            grow(to: socket)
            interests[Int(socket)] = interests[Int(socket)].successor
        }

        /// libcurl asks for other events of a socket.
        func want(_ socket: Int32, _ what: Int32) {
            grow(to: socket)
            let index = Int(socket)
            let wanted: UInt32 =
                what == CURL_POLL_REMOVE
                ? 0
                : (what & CURL_POLL_IN != 0 ? EPOLLIN.rawValue : 0)
                    | (what & CURL_POLL_OUT != 0 ? EPOLLOUT.rawValue : 0)
            interests[index].wanted = wanted
            guard interests[index].isLazy else {
                return applyEagerly(socket, wanted, isRemoval: what == CURL_POLL_REMOVE)
            }
            markDirty(index)
        }

        private func markDirty(_ index: Int) {
            guard !interests[index].isDirty else { return }
            interests[index].isDirty = true
            dirty.append(Int32(index))
        }

        /// A transfer begins to use a socket; nil for a descriptor that was not opened through us.
        func use(_ socket: Int32) -> Use? {
            grow(to: socket)
            let index = Int(socket)
            guard interests[index].isLazy else { return nil }
            interests[index].users += 1
            interests[index].idleSince = nil
            return Use(socket: socket, generation: interests[index].generation)
        }

        /// Whether a use is of the socket that has its number now.
        func isCurrent(_ use: Use) -> Bool { interests[Int(use.socket)].generation == use.generation }

        /// A transfer no longer uses a socket; harmless when the socket was closed meanwhile.
        func release(_ use: Use, now: Int64) {
            let index = Int(use.socket)
            guard isCurrent(use) else { return }
            interests[index].users -= 1
            guard interests[index].users == 0 else { return }
            interests[index].idleSince = now
            // What the server sends while it is idle is noticed.
            if interests[index].kernel == 0 { markDirty(index) }
        }

        /// Has the wait that is under way, or the next one, end at a moment at the latest.
        ///
        /// A timer that is set for an earlier moment stays: it is cheaper to wake once for nothing than to give the
        /// kernel a time for each wait, as most moments are moved on long before they come.
        ///
        /// - Parameter moment: By the system's clock.
        func wake(at moment: Int64) {
            guard moment < timerMoment else { return }
            timerMoment = moment
            lade_timer_set(timer, moment)
        }

        /// Waits until something happens, and calls `body` for each socket that is ready.
        ///
        /// Returns without waiting when nothing but a look is asked for. Calls `woke` after the wait, before anything else.
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
                if index < interests.count, interests[index].isLazy, interests[index].wanted == 0 {
                    // Data or a close came, on an idle socket (libcurl looks at it before it reuses it) or on that of a
                    // paused transfer (libcurl asks for it again when the transfer continues).
                    var none = epoll_event()
                    epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &none)
                    interests[index].kernel = 0
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

        /// Shuts the sockets that have been idle since before a moment.
        ///
        /// libcurl notices the age of a kept connection only when it would use it again, so that a server would wait for
        /// nothing. A shut socket looks dead to libcurl, which then closes it.
        ///
        /// - Returns: The beginning of the longest idleness that is left.
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

        /// Gives the kernel what has changed.
        private func applyChanges() {
            for socket in dirty {
                let index = Int(socket)
                interests[index].isDirty = false
                let interest = interests[index]
                let wanted = interest.idleSince == nil ? interest.wanted : interest.kernel == 0 ? EPOLLIN.rawValue : 0
                guard interest.isLazy, wanted != 0, wanted != interest.kernel else { continue }
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
        }

        private func grow(to socket: Int32) {
            guard Int(socket) >= interests.count else { return }
            interests.append(contentsOf: repeatElement(Interest(), count: Int(socket) + 64 - interests.count))
        }
    }

    /// An error number of the system.
    struct SystemError: Error {
        var errno: Int32
    }
#endif
