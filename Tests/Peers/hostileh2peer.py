"""A hostile HTTP/2 server over TLS on loopback, frame by frame, for the tests; started by Scripts/peers.

usage: hostileh2peer.py --certificate FILE --key FILE PORT

It keeps no rules of its own: what is below is sent as it stands. Requests are counted for each `token` of the query.

/ok                     200, `ok`
/uppercase              a field name in upper case
/bad-status             a `:status` that is no number; /no-status: none at all
/connection-field       a field that HTTP/2 forbids
/too-long, /too-short   a body longer, shorter than its Content-Length
/large-head             a head of a mebibyte, in CONTINUATION frames
/break?count=N          when N requests of the token wait: a head without a length and `1234` for each of them, with `frames=M`
                        M frames of 16,000 bytes instead, then a frame that breaks the connection's rules (DATA on stream 0,
                        or with `by=ping` a PING of seven bytes).
                        It closes when the client says GOAWAY, and with `stay` when the client closes
/break-head             such a frame before any head, likewise
/hold                   a head without a length, `1234`, and nothing more
/cut                    a head without a length, `1234`, and the end of the connection
/goaway-then-end?count=N  the same N answers; then GOAWAY without an error, and the rest of each body with END_STREAM
/http-1-1-required      RST_STREAM HTTP_1_1_REQUIRED; over HTTP/1.1 the method and the body, as to any path, and with
                        `missing=N` N bytes less than announced
/refuse                 RST_STREAM REFUSED_STREAM, each time
/fuzz?seed=N            an answer with the token in `x-token` and in its body, its frames damaged at random
/flood?kind=K            a head without a length, then 1,024 MiB of frames without a byte of an answer (or `mebibytes` of
                        them), then `ok`. Kinds: window (WINDOW_UPDATE), ping (acknowledgements of PING), data (empty DATA)
/stats                  JSON: the token's requests, the number of each connection they came on, the most that were open together,
                        the requests over HTTP/1.1, and the mebibytes of floods that were sent

The server name `no-streams.lade.test` gets SETTINGS_MAX_CONCURRENT_STREAMS 0, and no answer to a request.
"""

import argparse
import json
import random
import socket
import ssl
import struct
import threading
from urllib.parse import parse_qsl, urlsplit

import hpack
from hyperframe.frame import (
    ContinuationFrame, DataFrame, Frame, GoAwayFrame, HeadersFrame, PingFrame, RstStreamFrame, SettingsFrame,
    WindowUpdateFrame,
)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
IDLE_SECONDS = 600
REFUSED_STREAM, HTTP_1_1_REQUIRED = 7, 13
NO_STREAMS = "no-streams.lade.test"


class Closed(Exception):
    """The connection is over."""


class Connection:
    def __init__(self, peer, wire, allows_streams):
        self.peer, self.wire, self.allows_streams = peer, wire, allows_streams
        self.decoder, self.encoder = hpack.Decoder(), hpack.Encoder()
        self.data = b""
        self.blocks = {}
        self.stays = False
        self.lock = threading.RLock()

    def run(self):
        if self.take(len(PREFACE)) != PREFACE:
            return
        settings = SettingsFrame(0)
        settings.settings = {SettingsFrame.MAX_CONCURRENT_STREAMS: 100 if self.allows_streams else 0}
        self.send(settings)
        while True:
            frame, length = Frame.parse_frame_header(memoryview(self.take(9)))
            frame.parse_body(memoryview(self.take(length)))
            self.handle(frame)

    def take(self, count):
        while len(self.data) < count:
            data = self.wire.recv(65536)
            if not data:
                raise Closed
            self.data += data
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def send(self, *frames):
        self.raw(b"".join(frame.serialize() for frame in frames))

    def raw(self, data):
        with self.lock:
            self.wire.sendall(data)

    def close(self):
        try:
            self.wire.unwrap().close()
        except (OSError, ValueError):
            pass
        raise Closed

    def handle(self, frame):
        if isinstance(frame, SettingsFrame) and "ACK" not in frame.flags:
            self.send(SettingsFrame(0, flags=["ACK"]))
        elif isinstance(frame, PingFrame) and "ACK" not in frame.flags:
            answer = PingFrame(0, flags=["ACK"])
            answer.opaque_data = frame.opaque_data
            self.send(answer)
        elif isinstance(frame, GoAwayFrame):
            if not self.stays:
                self.close()
        elif isinstance(frame, (HeadersFrame, ContinuationFrame)):
            block = self.blocks.pop(frame.stream_id, b"") + frame.data
            if "END_HEADERS" in frame.flags:
                self.serve(frame.stream_id, dict(self.decoder.decode(block)))
            else:
                self.blocks[frame.stream_id] = block

    def serve(self, stream, fields):
        parts = urlsplit(fields[":path"])
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        token = query.get("token", "")
        self.stays = self.stays or "stay" in query
        if parts.path != "/stats":
            with self.peer.lock:
                count = self.peer.count(token)
                count["requests"] += 1
                if self.number not in count["connections"]:
                    count["connections"].append(self.number)
                count["peak"] = max(count["peak"], len(self.peer.open.intersection(count["connections"])))
        if not self.allows_streams:
            return
        act = getattr(self, "serve_" + parts.path.strip("/").replace("-", "_").replace(".", "_"), None)
        if act:
            act(stream, token, query)
        else:
            self.send(*self.answer(stream, [(":status", "404")], b"no such path\n"))

    # MARK: Frames

    def head(self, stream, fields, ends=False):
        frame = HeadersFrame(stream, flags=["END_HEADERS"] + (["END_STREAM"] if ends else []))
        with self.lock:
            frame.data = self.encoder.encode(fields, huffman=False)
        return frame

    @staticmethod
    def body(stream, data, ends=True):
        frame = DataFrame(stream, flags=["END_STREAM"] if ends else [])
        frame.data = data
        return frame

    @staticmethod
    def reset(stream, code):
        frame = RstStreamFrame(stream)
        frame.error_code = code
        return frame

    def answer(self, stream, fields, data):
        return [self.head(stream, fields), self.body(stream, data)]

    @staticmethod
    def breach():
        """DATA on stream 0, which hyperframe would not make."""
        return struct.pack(">I", 4)[1:] + b"\0\0" + struct.pack(">I", 0) + b"1234"

    # MARK: Paths

    def serve_ok(self, stream, token, query):
        self.send(*self.answer(stream, [(":status", "200"), ("content-length", "2")], b"ok"))

    def serve_uppercase(self, stream, token, query):
        self.send(*self.answer(stream, [(":status", "200"), ("X-Upper", "1")], b"ok"))

    def serve_bad_status(self, stream, token, query):
        self.send(*self.answer(stream, [(":status", "2x0")], b"ok"))

    def serve_no_status(self, stream, token, query):
        self.send(*self.answer(stream, [("x-field", "1")], b"ok"))

    def serve_connection_field(self, stream, token, query):
        self.send(*self.answer(stream, [(":status", "200"), ("connection", "keep-alive")], b"ok"))

    def serve_too_long(self, stream, token, query):
        self.send(*self.answer(stream, [(":status", "200"), ("content-length", "2")], b"okok"))

    def serve_too_short(self, stream, token, query):
        self.send(*self.answer(stream, [(":status", "200"), ("content-length", "10")], b"1234"))

    def serve_large_head(self, stream, token, query):
        with self.lock:
            fields = [(":status", "200")] + [(f"x-{n}", "x" * 4000) for n in range(256)]
            block = hpack.Encoder().encode(fields, huffman=False)
        pieces = [block[start:start + 16000] for start in range(0, len(block), 16000)]
        first = HeadersFrame(stream)
        first.data = pieces[0]
        frames = [first]
        for number, piece in enumerate(pieces[1:], 2):
            frame = ContinuationFrame(stream, flags=["END_HEADERS"] if number == len(pieces) else [])
            frame.data = piece
            frames.append(frame)
        self.send(*frames, self.body(stream, b"ok"))

    def gathered(self, stream, token, query):
        """The streams that wait, when they are all here."""
        with self.peer.lock:
            waiting = self.peer.waiting.setdefault(token, [])
            waiting.append((self, stream))
            if len(waiting) < int(query.get("count", "1")):
                return []
            return self.peer.waiting.pop(token)

    def serve_break(self, stream, token, query):
        waiting = self.gathered(stream, token, query)
        pieces = [bytes(16000)] * int(query["frames"]) if "frames" in query else [b"1234"]
        for connection in {connection for connection, _ in waiting}:
            frames = b""
            for other, number in waiting:
                if other is connection:
                    frames += connection.head(number, [(":status", "200")]).serialize()
                    for piece in pieces:
                        frames += connection.body(number, piece, ends=False).serialize()
            # A PING of seven bytes, or the usual breach.
            connection.raw(frames + (b"\0\0\7\6" + bytes(12) if query.get("by") == "ping" else self.breach()))

    def serve_break_head(self, stream, token, query):
        self.raw(self.breach())

    def serve_hold(self, stream, token, query):
        self.send(self.head(stream, [(":status", "200")]), self.body(stream, b"1234", ends=False))

    def serve_cut(self, stream, token, query):
        self.send(self.head(stream, [(":status", "200")]), self.body(stream, b"1234", ends=False))
        self.close()

    def serve_goaway_then_end(self, stream, token, query):
        waiting = self.gathered(stream, token, query)
        for connection in {connection for connection, _ in waiting}:
            numbers = [number for other, number in waiting if other is connection]
            frames = []
            for number in numbers:
                frames += [connection.head(number, [(":status", "200")]), connection.body(number, b"1234", ends=False)]
            goaway = GoAwayFrame(0)
            goaway.last_stream_id = max(numbers)
            connection.send(*frames, goaway)
            connection.send(*(connection.body(number, b"5678") for number in numbers))

    def serve_http_1_1_required(self, stream, token, query):
        self.send(self.reset(stream, HTTP_1_1_REQUIRED))

    def serve_refuse(self, stream, token, query):
        self.send(self.reset(stream, REFUSED_STREAM))

    def serve_flood(self, stream, token, query):
        frame = {"window": WindowUpdateFrame(0), "ping": PingFrame(0, flags=["ACK"]), "data": DataFrame(stream)}[query["kind"]]
        frame.window_increment = 1
        frame.opaque_data = b"12345678"
        frame = frame.serialize()
        block = frame * ((1 << 20) // len(frame))
        self.send(self.head(stream, [(":status", "200")]))
        for _ in range(int(query.get("mebibytes", "1024"))):
            self.raw(block)
            with self.peer.lock:
                self.peer.count(token)["flood"] += 1
        self.send(self.body(stream, b"ok"))

    def serve_stats(self, stream, token, query):
        with self.peer.lock:
            report = json.dumps(self.peer.count(token)).encode()
        self.send(*self.answer(stream, [(":status", "200"), ("content-length", str(len(report)))], report))

    # MARK: Fuzzing

    def serve_fuzz(self, stream, token, query):
        chance = random.Random(query.get("seed", "0"))
        data = f"[{token}]".encode() * chance.choice([1, 3, 2000])
        # Never indexed: a lost frame must not change the meaning of fields in later ones.
        fields = [(":status", "200", True), ("x-token", token, True)]
        if chance.random() < 0.5:
            fields.append(("content-length", str(len(data)), True))
        pieces = [data[start:start + 16000] for start in range(0, len(data), 16000)]
        frames = [self.head(stream, fields).serialize()]
        frames += [self.body(stream, piece, ends=piece is pieces[-1]).serialize() for piece in pieces]
        for _ in range(chance.choice([0, 0, 1, 2])):
            self.damage(frames, stream, chance)
        self.raw(b"".join(frames))
        if chance.random() < 0.1:
            self.close()

    def damage(self, frames, stream, chance):
        place = chance.randrange(len(frames)) if frames else 0
        act = chance.choice(["flip", "drop", "double", "reset", "goaway", "window", "swap", "zero", "unknown"])
        if act == "flip" and frames:
            frame = bytearray(frames[place])
            # Neither the length, which would only make the client wait for a frame that never ends, nor the stream: the
            # frame would then be a valid answer of another call.
            places = [3, 4, *range(9, min(len(frame), 60))]
            frame[chance.choice(places)] ^= 1 << chance.randrange(8)
            frames[place] = bytes(frame)
        elif act == "drop" and frames:
            del frames[place]
        elif act == "double" and frames:
            frames.insert(place, frames[place])
        elif act == "reset":
            frames.insert(place, self.reset(stream, chance.randrange(15)).serialize())
        elif act == "goaway":
            frame = GoAwayFrame(0)
            frame.last_stream_id = chance.choice([0, stream, 2 ** 31 - 1])
            frame.error_code = chance.randrange(14)
            frames.insert(place, frame.serialize())
        elif act == "window":
            frame = WindowUpdateFrame(chance.choice([0, stream]))
            frame.window_increment = chance.choice([1, 2 ** 31 - 1])
            frames.insert(place, frame.serialize())
        elif act == "swap":
            chance.shuffle(frames)
        elif act == "zero":
            frames.insert(place, self.breach())
        elif act == "unknown":
            frames.insert(place, struct.pack(">I", 4)[1:] + b"\x42\xff" + struct.pack(">I", stream) + b"1234")


class Peer:
    def __init__(self, context):
        self.context = context
        self.lock = threading.RLock()
        self.connections = 0
        self.open = set()
        self.counts, self.waiting = {}, {}

    def count(self, token):
        return self.counts.setdefault(
            token, {"requests": 0, "connections": [], "peak": 0, "http1": 0, "flood": 0})

    def run(self, connection):
        with connection:
            try:
                with self.context.wrap_socket(connection, server_side=True) as wire:
                    if wire.selected_alpn_protocol() != "h2":
                        # HTTP/1.1 is supported too, for requests that must be sent again with it.
                        self.speak_http1(wire)
                        return
                    served = Connection(self, wire, getattr(wire, "name", None) != NO_STREAMS)
                    with self.lock:
                        self.connections += 1
                        served.number = self.connections
                        self.open.add(served.number)
                    try:
                        served.run()
                    finally:
                        with self.lock:
                            self.open.discard(served.number)
            except (OSError, Closed, ValueError, KeyError, hpack.HPACKError):
                pass

    def speak_http1(self, wire):
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                data += self.received(wire)
            head, _, data = data.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            method, target, _ = lines[0].split(" ")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            length = int(fields.get("content-length", "0"))
            while len(data) < length:
                data += self.received(wire)
            body, data = data[:length], data[length:]
            query = dict(parse_qsl(urlsplit(target).query))
            missing = int(query.get("missing", "0"))
            with self.lock:
                self.count(query.get("token", ""))["http1"] += 1
            answer = f"{method} ".encode() + body
            wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer) + missing, answer))
            if missing:
                wire.unwrap().close()
                raise Closed

    @staticmethod
    def received(wire):
        data = wire.recv(65536)
        if not data:
            raise Closed
        return data


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("port", type=int)
    arguments = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.certificate, arguments.key)
    context.set_alpn_protocols(["h2", "http/1.1"])
    context.sni_callback = lambda wire, name, context: setattr(wire, "name", name)
    peer = Peer(context)
    listener = socket.create_server(("127.0.0.1", arguments.port), backlog=1024)
    while True:
        connection, _ = listener.accept()
        connection.settimeout(IDLE_SECONDS)
        threading.Thread(target=peer.run, args=(connection,), daemon=True).start()


main()
