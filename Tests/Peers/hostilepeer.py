"""A hostile HTTP/1.1 server on loopback, in the clear and over TLS, for the tests; started by Scripts/peers.

usage: hostilepeer.py --certificate FILE --key FILE hostileHTTP=PORT hostileTLS=PORT

It writes exact bytes and exact TLS records, keeps connections, and numbers them in `x-connection`. Requests are counted
for each `token` of the query, so that tests that run side by side do not see one another.

/ok                              200, `ok`
/surplus?form=F&place=P          an answer, and after it another one, `evil`, that nobody asked for. Forms: head, 204, 304,
                                 empty, length, chunked. Places: record (in the answer's own bytes and TLS record), flight
                                 (in a TLS record of its own, sent together), later (when /push asks for it)
/push                            sends what the token's /surplus?place=later left unsent; answers with the number of these
                                 connections that their clients have closed then, or within ten seconds
/unfinished?form=F&end=E         `1234` and the end of the connection. Forms: close (no length), length (of ten),
                                 chunked. Ends: fin (TLS without close_notify), notify (with it), reset
/late-upload                     answers 200 before the request's body has been read, reads no more of it, and closes
/first-byte                      one byte of a head, then the end of the connection
/fuzz?seed=N                     an answer with the token in `x-token` and in its body, damaged at random
/stats                           JSON: the token's requests, and the numbers of the connections they came on
"""

import argparse
import fcntl
import json
import random
import socket
import ssl
import struct
import threading
import time
from urllib.parse import parse_qsl, urlsplit

# Linux: the sent bytes that the other side has not acknowledged.
SIOCOUTQ = 0x5411
IDLE_SECONDS = 600
CLOSE_SECONDS = 10
EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Evil: yes\r\n\r\nevil"


class Closed(Exception):
    """The connection is over."""


class Wire:
    """One connection: what is written, and in which TLS records."""

    def __init__(self, connection, context):
        self.connection = connection
        self.ended = threading.Event()
        self.secure = None
        if context:
            self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.secure = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
            self.complete(self.secure.do_handshake)

    def complete(self, operation):
        while True:
            try:
                result = operation()
                self.flush()
                return result
            except ssl.SSLWantReadError:
                self.flush()
                data = self.connection.recv(65536)
                if not data:
                    raise Closed from None
                self.incoming.write(data)

    def flush(self):
        if data := self.outgoing.read():
            self.connection.sendall(data)

    def read(self):
        data = self.complete(lambda: self.secure.read(65536)) if self.secure else self.connection.recv(65536)
        if not data:
            raise Closed
        return data

    def send(self, *pieces):
        """Sends the pieces together; each is a TLS record (or several) of its own."""
        if not self.secure:
            self.connection.sendall(b"".join(pieces))
            return
        for piece in pieces:
            if piece:
                self.secure.write(piece)
        self.flush()

    def settle(self):
        """Waits until the client's system has acknowledged everything."""
        while struct.unpack("i", fcntl.ioctl(self.connection, SIOCOUTQ, b"\0\0\0\0"))[0]:
            time.sleep(0.001)

    def end(self, how):
        if how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        else:
            if how == "notify" and self.secure:
                try:
                    self.secure.unwrap()
                except ssl.SSLError:
                    pass
                self.flush()
            self.connection.shutdown(socket.SHUT_WR)
            while self.connection.recv(65536):
                pass
        raise Closed


class Server:
    def __init__(self, context):
        self.context = context
        self.lock = threading.Lock()
        self.connections = 0
        self.waiting = {}
        self.counts = {}

    def run(self, connection):
        with connection:
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                wire = Wire(connection, self.context)
                with self.lock:
                    self.connections += 1
                    wire.number = self.connections
                try:
                    self.serve(wire)
                finally:
                    wire.ended.set()
            except (OSError, Closed, ssl.SSLError):
                pass

    def serve(self, wire):
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                data += wire.read()
            head, _, data = data.partition(b"\r\n\r\n")
            data = self.answer(wire, head.decode("latin-1"), data)

    def answer(self, wire, head, data):
        """Answers a request; returns what came after it."""
        lines = head.split("\r\n")
        method, target, _ = (lines[0] + "  ").split(" ", 2)
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query))
        token = query.get("token", "")
        if parts.path != "/stats":
            with self.lock:
                count = self.counts.setdefault(token, {"requests": 0, "connections": []})
                count["requests"] += 1
                if wire.number not in count["connections"]:
                    count["connections"].append(wire.number)
        act = getattr(self, "serve_" + parts.path.strip("/").replace("-", "_"), None)
        if parts.path != "/late-upload":
            length = int(fields.get("content-length", "0"))
            while len(data) < length:
                data += wire.read()
            data = data[length:]
        if act:
            act(wire, method, token, query)
        else:
            wire.send(self.whole(wire, b"no such path\n", status="404 Not Found"))
        return data

    @staticmethod
    def whole(wire, body, status="200 OK", fields=""):
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nX-Connection: {wire.number}\r\n{fields}\r\n"
        return head.encode() + body

    def serve_ok(self, wire, method, token, query):
        wire.send(self.whole(wire, b"ok"))

    def serve_surplus(self, wire, method, token, query):
        common = f"X-Connection: {wire.number}\r\n"
        answer = {
            "head": f"HTTP/1.1 200 OK\r\n{common}Content-Length: 2\r\n\r\n",
            "204": f"HTTP/1.1 204 No Content\r\n{common}\r\n",
            "304": f"HTTP/1.1 304 Not Modified\r\n{common}Content-Length: 2\r\n\r\n",
            "empty": f"HTTP/1.1 200 OK\r\n{common}Content-Length: 0\r\n\r\n",
            "length": f"HTTP/1.1 200 OK\r\n{common}Content-Length: 2\r\n\r\nok",
            "chunked": f"HTTP/1.1 200 OK\r\n{common}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        }[query["form"]].encode()
        if query["place"] == "record":
            wire.send(answer + EVIL)
        elif query["place"] == "flight":
            wire.send(answer, EVIL)
        else:
            with self.lock:
                self.waiting.setdefault(token, []).append(wire)
            wire.send(answer)

    def serve_push(self, wire, method, token, query):
        with self.lock:
            wires = self.waiting.pop(token, [])
        for other in wires:
            try:
                other.send(EVIL)
                other.settle()
            except (OSError, ValueError):
                # The client has closed it: no more bytes can arrive.
                pass
        wire.send(self.whole(wire, b"%d" % sum(other.ended.wait(CLOSE_SECONDS) for other in wires)))

    def serve_unfinished(self, wire, method, token, query):
        framing, body = {
            "close": ("", b"1234"),
            "length": ("Content-Length: 10\r\n", b"1234"),
            "chunked": ("Transfer-Encoding: chunked\r\n", b"4\r\n1234\r\n"),
        }[query["form"]]
        wire.send(f"HTTP/1.1 200 OK\r\n{framing}\r\n".encode() + body)
        if query["end"] == "reset":
            # A reset discards what the client has not read yet, so it must have been received before.
            wire.settle()
        wire.end(query["end"])

    def serve_late_upload(self, wire, method, token, query):
        wire.send(self.whole(wire, b"ok", fields="Connection: close\r\n"))
        wire.settle()
        wire.connection.close()
        raise Closed

    def serve_first_byte(self, wire, method, token, query):
        wire.send(b"H")
        wire.end("notify")

    def serve_stats(self, wire, method, token, query):
        with self.lock:
            report = self.counts.get(token, {"requests": 0, "connections": []})
        wire.send(self.whole(wire, json.dumps(report).encode()))

    # MARK: Fuzzing

    def serve_fuzz(self, wire, method, token, query):
        chance = random.Random(query.get("seed", "0"))
        fields = f"X-Token: {token}\r\nX-Connection: {wire.number}\r\n"
        body = f"[{token}]".encode() * chance.choice([1, 3, 2000])
        kind = chance.choice(["length", "length", "chunked", "chunked", "close", "204", "304", "empty", "interim"])
        framed = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:7], body[7:]) if piece]
        chunks = b"".join(framed) + b"0\r\n" + chance.choice([b"", b"X-Trailer: 1\r\n"]) + b"\r\n"
        answer = {
            "length": f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{fields}\r\n".encode() + body,
            "chunked": f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{fields}\r\n".encode() + chunks,
            "close": f"HTTP/1.1 200 OK\r\n{fields}\r\n".encode() + body,
            "204": f"HTTP/1.1 204 No Content\r\n{fields}\r\n".encode(),
            "304": f"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n{fields}\r\n".encode(),
            "empty": f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{fields}\r\n".encode(),
            "interim": f"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n{fields}"
                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body,
        }[kind]
        for _ in range(chance.choice([0, 0, 1, 1, 2, 8])):
            answer = self.damage(answer, chance)
        # In the same segment as the end of the answer, so that it arrives before another request can be sent.
        if chance.random() < 0.4:
            answer += f"HTTP/1.1 200 OK\r\nX-Token: {token}\r\nContent-Length: 4\r\n\r\nevil".encode()
        pieces = [answer]
        if chance.random() < 0.3 and len(answer) > 2:
            cut = chance.randrange(1, len(answer) - 1)
            pieces = [answer[:cut], answer[cut:]]
        wire.send(*pieces)
        last = chance.choice(["keep", "keep", "keep", "fin", "notify", "reset", "stall"])
        if kind == "close" and last == "keep":
            last = "notify"
        if last == "stall":
            wire.read()
            raise Closed
        if last != "keep":
            wire.end(last)

    @staticmethod
    def damage(answer, chance):
        if not answer:
            return answer
        place = chance.randrange(min(len(answer), chance.choice([40, 200, len(answer)])))
        act = chance.choice(["flip", "delete", "insert", "cut", "double", "line"])
        if act == "flip":
            return answer[:place] + bytes([answer[place] ^ (1 << chance.randrange(8))]) + answer[place + 1:]
        if act == "delete":
            return answer[:place] + answer[place + chance.choice([1, 2, 20]):]
        if act == "insert":
            extra = chance.choice([b"\n", b"\r", b"\r\n", b"\0", b" ", b"\t", b"0\r\n\r\n", b"FFFFFFFFFFFFFFFF", b"-1",
                                   b"a" * 70000, b"\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"])
            return answer[:place] + extra + answer[place:]
        if act == "cut":
            return answer[:place]
        if act == "double":
            return answer[:place] + answer[max(0, place - 30):]
        line = chance.choice([b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n",
                              b"Content-Encoding: gzip\r\n", b"Content-Encoding: br\r\n", b"Connection: close\r\n",
                              b" folded\r\n", b"No colon\r\n", b"Content-Length: 5, 6\r\n", b"Upgrade: h2c\r\n"])
        end = answer.find(b"\r\n") + 2
        return answer[:end] + line + answer[end:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("listeners", nargs="+")
    arguments = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.certificate, arguments.key)
    for name in arguments.listeners:
        kind, _, port = name.partition("=")
        server = Server(context if kind == "hostileTLS" else None)
        listener = socket.create_server(("127.0.0.1", int(port)), backlog=1024)

        def accept(listener=listener, server=server):
            while True:
                connection, _ = listener.accept()
                connection.settimeout(IDLE_SECONDS)
                threading.Thread(target=server.run, args=(connection,), daemon=True).start()

        threading.Thread(target=accept).start()
    threading.Event().wait()


main()
