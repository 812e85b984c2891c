import CNghttp2
import LadeCore
import LadeExchange

// The callbacks of nghttp2. They append to the session's events, and never call nghttp2.
extension HTTP2Session {
    nonisolated(unsafe) static let options: OpaquePointer? = {
        var options: OpaquePointer?
        guard nghttp2_option_new(&options) == 0, let options else { return nil }
        nghttp2_option_set_no_auto_window_update(options, 1)
        // As large as a server's limit may be; by default nghttp2 refuses to send more than 64 KiB of fields.
        nghttp2_option_set_max_send_header_block_length(options, 1 << 20)
        // By default eight, which allows no head of 256 KiB; and 1.52 counts each piece in which a frame is received.
        // ``FrameMeter`` counts the frames.
        nghttp2_option_set_max_continuations(options, 1 << 20)
        return options
    }()

    nonisolated(unsafe) static let callbacks: OpaquePointer? = {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, head, user in
            HTTP2Session.of(user).callBack { session in
                // Disabled by the settings, which the peer has seen before any request. nghttp2 refuses the promised
                // stream alone as long as the settings are not acknowledged.
                if head?.pointee.type == UInt8(NGHTTP2_PUSH_PROMISE.rawValue) {
                    session.events.append(.failed(.framing(code: Int32(NGHTTP2_PROTOCOL_ERROR.rawValue))))
                }
                return 0
            }
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, user in
            HTTP2Session.of(user).callBack { session in
                session.section = HTTP2Section(start: session.fields.count, isOpen: true)
                return 0
            }
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, frame, name, nameSize, value, size, _, user in
            HTTP2Session.of(user).callBack { session in
                session.header(
                    frame.map { $0.pointee.hd.stream_id } ?? 0,
                    UnsafeBufferPointer(start: name, count: nameSize),
                    UnsafeBufferPointer(start: value, count: size)
                )
            }
        }
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) {
            _,
            frame,
            name,
            nameSize,
            _,
            _,
            _,
            user in
            HTTP2Session.of(user).callBack { session in
                // Ignored by nghttp2 unless it is refused here.
                let name = UnsafeBufferPointer(start: name, count: nameSize)
                let isToken = !name.isEmpty && name.tokenPrefixLength == name.count
                return session.refuse(
                    frame.map { $0.pointee.hd.stream_id } ?? 0,
                    .malformed(
                        LoadingError.MalformedResponse(
                            isToken ? .fieldValue : .fieldName,
                            excerpt: String(decoding: name.prefix(200), as: UTF8.self)
                        )
                    )
                )
            }
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            HTTP2Session.of(user).callBack { session in
                if let frame { session.received(frame.pointee) }
                return 0
            }
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, _, user in
            HTTP2Session.of(user).callBack { session in
                guard let stream = frame?.pointee.hd.stream_id, stream > 0 else { return 0 }
                let fault = LoadingError.MalformedResponse(.http2Framing)
                session.events.append(.refused(stream, .malformed(fault)))
                return 0
            }
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, data, size, user in
            HTTP2Session.of(user).callBack { session in
                guard let data, let start = session.input.baseAddress, size > 0 else { return 0 }
                let offset = UnsafeRawPointer(data) - start
                // nghttp2 delivers content where it was received.
                guard offset >= 0, offset + size <= session.input.count else {
                    return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
                }
                session.hasHeardStream = true
                session.events.append(.data(stream, offset..<(offset + size)))
                return 0
            }
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, user in
            HTTP2Session.of(user).callBack { session in
                session.events.append(.closed(stream))
                return 0
            }
        }
        nghttp2_session_callbacks_set_before_frame_send_callback(callbacks) { _, frame, user in
            HTTP2Session.of(user).callBack { session in
                guard let frame = frame?.pointee, frame.hd.type == NGHTTP2_HEADERS.rawValue,
                    frame.headers.cat == NGHTTP2_HCAT_REQUEST
                else { return 0 }
                session.events.append(.headWritten(frame.hd.stream_id, at: session.written))
                return 0
            }
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, user in
            HTTP2Session.of(user).callBack { session in
                guard let frame = frame?.pointee else { return 0 }
                if frame.hd.type == NGHTTP2_DATA.rawValue { session.sentData() }
                if frame.hd.type == NGHTTP2_GOAWAY.rawValue, frame.goaway.error_code != NGHTTP2_NO_ERROR.rawValue {
                    session.events.append(.failed(.framing(code: Int32(bitPattern: frame.goaway.error_code))))
                }
                return 0
            }
        }
        nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, _, user in
            HTTP2Session.of(user).callBack { session in
                guard let frame = frame?.pointee, frame.hd.type == NGHTTP2_HEADERS.rawValue,
                    frame.headers.cat == NGHTTP2_HCAT_REQUEST
                else { return 0 }
                session.events.append(.notSent(frame.hd.stream_id))
                return 0
            }
        }
        return callbacks
    }()

    /// Asks the sender of a body for bytes.
    static let read: nghttp2_data_source_read_callback = { _, stream, buffer, size, flags, _, user in
        HTTP2Session.of(user).callBack { session in
            let space = UnsafeMutableRawBufferPointer(start: buffer, count: size)
            switch session.portion(stream, space) {
            case .bytes(let count, let isLast):
                if isLast {
                    flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
                    session.events.append(.bodyEnded(stream))
                }
                return count
            case .nothingYet:
                session.markDeferred(stream)
                return Int(NGHTTP2_ERR_DEFERRED.rawValue)
            case .end(let trailers):
                flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
                if !trailers.isEmpty {
                    flags?.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
                    session.unsentTrailers.append((stream, trailers))
                }
                session.events.append(.bodyEnded(stream))
                return 0
            case .failed:
                session.events.append(.uploadFailed(stream))
                return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
            }
        }
    }

    private static func of(_ user: UnsafeMutableRawPointer?) -> HTTP2Session {
        guard let user else { preconditionFailure("nghttp2 calls back without the session") }
        return Unmanaged<HTTP2Session>.fromOpaque(user).takeUnretainedValue()
    }

    private func callBack<Result>(_ body: (HTTP2Session) -> Result) -> Result {
        isCallingBack = true
        defer { isCallingBack = false }
        return body(self)
    }

    /// Takes a field, and refuses the section above its limits, because the rest of it is then cheap.
    private func header(
        _ stream: Int32,
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) -> Int32 {
        // The status is counted with the line that it would be.
        if name.first != UInt8(ascii: ":") { section.bytes += name.count + value.count + 4 }
        let limits = rules.limits
        if section.bytes > limits.headBytes { return refuse(stream, .tooLarge(.bytes(limits.headBytes))) }
        // The status is no field.
        if fields.count - section.start > limits.headFields {
            return refuse(stream, .tooLarge(.fields(limits.headFields)))
        }
        fields.append(name, value)
        return 0
    }

    private func refuse(_ stream: Int32, _ fault: HeadVetting.Fault) -> Int32 {
        events.append(.refused(stream, fault))
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    private func received(_ frame: nghttp2_frame) {
        let stream = frame.hd.stream_id
        if stream > 0 { hasHeardStream = true }
        let isLast = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        switch nghttp2_frame_type(UInt32(frame.hd.type)) {
        case NGHTTP2_HEADERS:
            section.isOpen = false
            events.append(.section(stream, section.start..<fields.count, isLast: isLast))
        case NGHTTP2_DATA: if isLast { events.append(.endOfData(stream)) }
        case NGHTTP2_RST_STREAM: events.append(.reset(stream, code: frame.rst_stream.error_code))
        case NGHTTP2_SETTINGS:
            guard frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else { return }
            let entries = UnsafeBufferPointer(start: frame.settings.iv, count: frame.settings.niv)
            // The last of several counts.
            let streams = entries.last {
                $0.settings_id == Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue)
            }
            events.append(.settings(streams: streams?.value))
        case NGHTTP2_GOAWAY: events.append(.goAway(last: frame.goaway.last_stream_id))
        default: break
        }
    }
}
