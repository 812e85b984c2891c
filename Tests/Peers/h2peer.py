"""A scripted HTTP/2 server over TLS on loopback, for the tests; started by Scripts/peers. Needs the `h2` package.

usage: h2peer.py --certificate FILE --key FILE PORT=MAX_CONCURRENT_STREAMS ...

Everything is counted for each `token` of the query, so that tests that run side by side do not see one another.

/ok                      200, `ok`, with the number of the connection in `x-connection`
/status/N                the status N, empty
/headers                 JSON: the received fields as [name, value], in order, pseudo-fields included
/head?fields=N           N fields of 1,000 bytes (the default is 32)
/early                   103 with a `link` field, then 200
/empty                   204
/slow?bytes=N            N bytes (8 MiB by default), byte i being i mod 251, as fast as the client's windows allow
/echo                    the body, piece by piece as it arrives (full duplex); request trailers come back as trailers
/digest                  JSON: size and SHA-256 of the request's body, and its trailers
/trailers                200, `body`, then x-first, x-second, x-third
/gather?count=N          answers when N requests of the token wait at the same time; 503 after ten seconds
/stall                   never answers; ends when the client resets the stream
/stall-body              a head and four bytes, then nothing
/refuse                  RST_STREAM REFUSED_STREAM the first `times` times (1 by default) for a token, then as /ok
/reset-head              RST_STREAM INTERNAL_ERROR before the head
/reset                   RST_STREAM INTERNAL_ERROR after four of ten bytes
/goaway                  as /ok, then GOAWAY and the end of the connection
/goaway-before           the first time for a token GOAWAY that leaves this request out, then as /ok
/close                   the first time for a token ends the connection without an answer, then as /ok
/close-after             as /ok, then ends the connection without GOAWAY
/stats?token=T           JSON of what is counted for T; without a token, of the port
"""

import argparse
import asyncio
import hashlib
import json
import ssl
from urllib.parse import parse_qsl, urlsplit

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

Codes = h2.settings.SettingCodes
GATHER_SECONDS = 10
# A body is made of slices of this, so that any part of it can be produced cheaply and the whole is known.
PERIOD = 251
PATTERN = bytes(range(PERIOD)) * 1024


class Count:
    """The counts of one token's requests on one port."""

    def __init__(self):
        self.requests = self.open = self.most_open = self.resets = self.sent = self.received = 0
        self.connections = set()
        self.firsts = {}
        self.waiting = []

    def report(self):
        return {
            "requests": self.requests, "connections": len(self.connections), "openStreams": self.open,
            "mostOpenStreams": self.most_open, "resetsFromClient": self.resets, "bytesSent": self.sent,
            "bytesReceived": self.received,
        }

    def take_first(self, path, times=1):
        """True for the first `times` requests to a path."""
        self.firsts[path] = self.firsts.get(path, 0) + 1
        return self.firsts[path] <= times


class Peer:
    """One port."""

    def __init__(self, streams):
        self.streams = streams
        self.accepted = 0
        self.total = Count()
        self.tokens = {}

    def count(self, token):
        return self.tokens.setdefault(token, Count())


class Stream:
    def __init__(self, number, fields):
        self.number, self.fields = number, fields
        values = dict(fields)
        parts = urlsplit(values.get(":path", "/"))
        self.path, self.query = parts.path, dict(parse_qsl(parts.query, keep_blank_values=True))
        self.method = values.get(":method", "GET")
        self.digest = hashlib.sha256()
        self.received = 0
        self.trailers_in = []
        # What remains to be sent: bytes, or the rest of the pattern as offset and end.
        self.pending = bytearray()
        self.offset = self.end = 0
        self.ending = False
        self.trailers_out = []
        self.unacknowledged = 0


class Connection(asyncio.Protocol):
    def __init__(self, peer):
        self.peer = peer
        self.streams = {}
        self.paused = False

    # MARK: asyncio

    def connection_made(self, transport):
        self.transport = transport
        if transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            transport.abort()
            self.h2 = None
            return
        self.peer.accepted += 1
        self.number = self.peer.accepted
        self.peer.total.connections.add(self.number)
        configuration = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(configuration)
        # In the first SETTINGS frame: before a second one arrived, the client could open more streams.
        self.h2.local_settings = h2.settings.Settings(
            client=False, initial_values={Codes.MAX_CONCURRENT_STREAMS: self.peer.streams,
                                          Codes.MAX_HEADER_LIST_SIZE: 262144})
        self.h2.initiate_connection()
        self.flush()

    def connection_lost(self, error):
        for stream in list(self.streams.values()):
            self.drop(stream)

    def pause_writing(self):
        self.paused = True

    def resume_writing(self):
        self.paused = False
        self.pump()

    def data_received(self, data):
        if self.h2 is None:
            return
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.flush()
            self.transport.close()
            return
        for event in events:
            if self.transport.is_closing():
                return
            self.handle(event)
        self.pump()

    def flush(self):
        data = self.h2.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)

    # MARK: Events

    def handle(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.RequestReceived):
            self.begin(Stream(event.stream_id, event.headers))
        elif isinstance(event, h2.events.DataReceived):
            if stream is None:
                # For a stream that was answered or reset: the connection's window still counts it.
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                return
            stream.received += len(event.data)
            stream.digest.update(event.data)
            self.counts(stream, "received", len(event.data))
            if stream.path == "/echo":
                stream.pending += event.data
                stream.unacknowledged += event.flow_controlled_length
            else:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.TrailersReceived) and stream:
            stream.trailers_in = list(event.headers)
        elif isinstance(event, h2.events.StreamEnded) and stream:
            self.body_ended(stream)
        elif isinstance(event, h2.events.StreamReset) and stream:
            self.counts(stream, "resets", 1)
            self.drop(stream)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.transport.close()

    def begin(self, stream):
        self.streams[stream.number] = stream
        # Requesting the counts does not change those of the token.
        stream.count = Count() if stream.path == "/stats" else self.peer.count(stream.query.get("token", ""))
        for count in (stream.count, self.peer.total):
            count.requests += 1
            count.open += 1
            count.most_open = max(count.most_open, count.open)
            count.connections.add(self.number)
        name = stream.path.strip("/").partition("/")[0].replace("-", "_")
        act = getattr(self, "serve_" + name, None)
        if act:
            act(stream)
        else:
            self.answer(stream, 404, b"no such path\n")

    def body_ended(self, stream):
        if stream.path == "/echo":
            stream.trailers_out = stream.trailers_in
            stream.ending = True
        elif stream.path == "/digest":
            report = {"bytes": stream.received, "sha256": stream.digest.hexdigest(), "trailers": stream.trailers_in}
            self.answer_json(stream, report)

    def counts(self, stream, name, number):
        for count in (stream.count, self.peer.total):
            setattr(count, name, getattr(count, name) + number)

    def drop(self, stream):
        if self.streams.pop(stream.number, None):
            self.counts(stream, "open", -1)
            stream.count.waiting = [other for other in stream.count.waiting if other[1] is not stream]

    # MARK: Answers

    def head(self, stream, status, fields=(), end=False):
        """Sends the head; false when no body follows (none, or the answer to a HEAD)."""
        fields = [(":status", str(status)), ("x-connection", str(self.number)), *fields]
        end = end or stream.method == "HEAD"
        self.h2.send_headers(stream.number, fields, end_stream=end)
        if end:
            self.drop(stream)
        return not end

    def answer(self, stream, status, body=b"", kind="text/plain", fields=()):
        if status in (204, 304):
            self.head(stream, status, fields, end=True)
            return
        fields = [("content-type", kind), ("content-length", str(len(body))), *fields]
        if self.head(stream, status, fields, end=not body):
            stream.pending += body
            stream.ending = True

    def answer_json(self, stream, value):
        self.answer(stream, 200, json.dumps(value).encode(), "application/json")

    def reset(self, stream, code):
        self.h2.reset_stream(stream.number, code)
        self.drop(stream)

    def pump(self):
        """Sends what the windows of the streams and of the connection allow."""
        if self.transport.is_closing():
            return
        for stream in list(self.streams.values()):
            while not self.paused and (stream.pending or stream.offset < stream.end):
                room = min(self.h2.local_flow_control_window(stream.number), self.h2.max_outbound_frame_size)
                if room <= 0:
                    break
                if stream.pending:
                    piece = bytes(stream.pending[:room])
                    del stream.pending[:room]
                else:
                    start = stream.offset % PERIOD
                    piece = PATTERN[start:start + min(room, stream.end - stream.offset)]
                    stream.offset += len(piece)
                self.h2.send_data(stream.number, piece)
                self.counts(stream, "sent", len(piece))
                self.flush()
            if stream.unacknowledged and not stream.pending:
                self.h2.acknowledge_received_data(stream.unacknowledged, stream.number)
                stream.unacknowledged = 0
            if stream.ending and not stream.pending and stream.offset >= stream.end:
                if stream.trailers_out:
                    self.h2.send_headers(stream.number, stream.trailers_out, end_stream=True)
                else:
                    self.h2.end_stream(stream.number)
                self.drop(stream)
        self.flush()

    def end_connection(self):
        self.flush()
        self.transport.close()

    # MARK: Paths

    def serve_ok(self, stream):
        self.answer(stream, 200, b"ok")

    def serve_empty(self, stream):
        self.answer(stream, 204)

    def serve_status(self, stream):
        self.answer(stream, int(stream.path.rpartition("/")[2]))

    def serve_headers(self, stream):
        self.answer_json(stream, stream.fields)

    def serve_head(self, stream):
        count = int(stream.query.get("fields", "32"))
        self.answer(stream, 200, b"ok", fields=[("x-field-%03d" % n, str(n).ljust(1000, "x")) for n in range(count)])

    def serve_early(self, stream):
        self.h2.send_headers(stream.number, [(":status", "103"), ("link", "</style.css>; rel=preload")])
        self.answer(stream, 200, b"ok")

    def serve_slow(self, stream):
        stream.end = int(stream.query.get("bytes", str(8 << 20)))
        self.head(stream, 200, [("content-type", "application/octet-stream"), ("content-length", str(stream.end))])
        stream.ending = True

    def serve_echo(self, stream):
        self.head(stream, 200, [("content-type", dict(stream.fields).get("content-type", "application/octet-stream"))])

    def serve_digest(self, stream):
        pass

    def serve_trailers(self, stream):
        self.head(stream, 200, [("content-type", "text/plain"), ("trailer", "x-first, x-second, x-third")])
        stream.pending += b"body"
        stream.trailers_out = [("x-first", "one"), ("x-second", "two"), ("x-third", "three")]
        stream.ending = True

    def serve_gather(self, stream):
        waiting = stream.count.waiting
        waiting.append((self, stream))
        if len(waiting) >= int(stream.query.get("count", "1")):
            self.let_go(stream.count, 200, b"together")
        elif len(waiting) == 1:
            first = waiting[0]
            asyncio.get_running_loop().call_later(GATHER_SECONDS, lambda: first in stream.count.waiting and self.let_go(
                stream.count, 503, b"%d came" % len(stream.count.waiting)))

    def let_go(self, count, status, body):
        waiting, count.waiting = count.waiting, []
        for connection, stream in waiting:
            connection.answer(stream, status, body)
        for connection in {connection for connection, _ in waiting}:
            connection.pump()

    def serve_stall(self, stream):
        pass

    def serve_stall_body(self, stream):
        self.head(stream, 200, [("content-type", "text/plain"), ("content-length", "10")])
        stream.pending += b"1234"

    def serve_refuse(self, stream):
        if stream.count.take_first(stream.path, int(stream.query.get("times", "1"))):
            self.reset(stream, h2.errors.ErrorCodes.REFUSED_STREAM)
        else:
            self.answer(stream, 200, b"ok")

    def serve_reset_head(self, stream):
        self.reset(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)

    def serve_reset(self, stream):
        if not self.head(stream, 200, [("content-type", "text/plain"), ("content-length", "10")]):
            return
        self.h2.send_data(stream.number, b"1234")
        self.counts(stream, "sent", 4)
        self.reset(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)

    def serve_goaway(self, stream):
        self.answer(stream, 200, b"ok")
        self.pump()
        self.h2.close_connection(last_stream_id=stream.number)
        self.end_connection()

    def serve_goaway_before(self, stream):
        if stream.count.take_first(stream.path):
            self.h2.close_connection(last_stream_id=max(0, stream.number - 2))
            self.drop(stream)
            self.end_connection()
        else:
            self.answer(stream, 200, b"ok")

    def serve_close(self, stream):
        if stream.count.take_first(stream.path):
            self.end_connection()
        else:
            self.answer(stream, 200, b"ok")

    def serve_close_after(self, stream):
        self.answer(stream, 200, b"ok")
        self.pump()
        self.end_connection()

    def serve_stats(self, stream):
        token = stream.query.get("token")
        if token is None:
            report = dict(self.peer.total.report(), accepted=self.peer.accepted, maxConcurrentStreams=self.peer.streams)
        else:
            report = self.peer.count(token).report()
        self.answer_json(stream, report)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("listeners", nargs="+")
    arguments = parser.parse_args()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(arguments.certificate, arguments.key)
    context.set_alpn_protocols(["h2"])
    loop = asyncio.get_running_loop()
    servers = []
    for listener in arguments.listeners:
        port, _, streams = listener.partition("=")
        peer = Peer(int(streams))
        servers.append(await loop.create_server(
            lambda peer=peer: Connection(peer), "127.0.0.1", int(port), ssl=context, backlog=1024))
    await asyncio.gather(*(server.serve_forever() for server in servers))


asyncio.run(main())
