"""HTTP and SOCKS5 proxies on loopback, for the tests; started by Scripts/peers.

usage: proxy.py --log FILE --user NAME --password WORD KIND=PORT ...

kinds: proxyHTTP        forwards absolute-form requests and tunnels CONNECT
       proxyHTTPAuth    the same, with Basic credentials; 407 without
       proxyRefusing    407 whatever the credentials
       proxyForbidding  403
       proxySOCKS5      without authentication
       proxySOCKS5Auth  user and password (RFC 1929)

Every request adds one JSON line to FILE, before its answer goes out: what was seen from the client (`head`), what went
to the origin (`sent`), and where to (`authority`). A test that puts a token into its URL or host finds its own lines.
"""

import argparse
import asyncio
import base64
import ipaddress
import json
import re

HEAD_LIMIT = 256 * 1024
# Names that these proxies resolve, and no resolver does (RFC 6761, section 6.4).
OWN_NAMES = {"known-to-proxy.invalid": "127.0.0.1"}
# Fields for a single hop (RFC 9110, section 7.6.1), besides those that Connection names.
HOP_BY_HOP = {"connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade"}


class Proxies:
    def __init__(self, log, user, password):
        self.log = open(log, "a", buffering=1)
        self.user, self.password = user, password
        self.credentials = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def note(self, **record):
        self.log.write(json.dumps(record) + "\n")

    # MARK: HTTP

    async def http(self, kind, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        lines = head.decode("latin-1").split("\r\n")
        method, target, version = lines[0].split(" ")
        fields = [line.partition(":")[::2] for line in lines[1:] if line]
        given = [value.strip() for name, value in fields if name.lower() == "proxy-authorization"]
        record = dict(proxy=kind, method=method, target=target, head=head.decode("latin-1"), sent="")
        refusal = None
        if kind == "proxyForbidding":
            refusal = "403 Forbidden"
        elif kind == "proxyRefusing" or (kind == "proxyHTTPAuth" and given != [self.credentials]):
            refusal = "407 Proxy Authentication Required"
        if refusal:
            self.note(**record, status=int(refusal[:3]))
            challenge = 'Proxy-Authenticate: Basic realm="lade"\r\n' if refusal.startswith("407") else ""
            writer.write(f"HTTP/1.1 {refusal}\r\n{challenge}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
            return
        if method == "CONNECT":
            await self.tunnel(record, target, reader, writer)
        else:
            await self.forward(record, fields, version, reader, writer)

    async def tunnel(self, record, target, reader, writer):
        host, _, port = target.rpartition(":")
        origin = await self.dial(record, host.strip("[]"), int(port), writer)
        if origin:
            self.note(**record, authority=target, status=200)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await relay(reader, writer, *origin)

    async def forward(self, record, fields, version, reader, writer):
        scheme, _, rest = record["target"].partition("://")
        authority = re.split("[/?]", rest, maxsplit=1)[0]
        path = "/" + rest[len(authority):].removeprefix("/")
        host, _, port = authority.rpartition(":") if ":" in authority.rpartition("]")[2] else (authority, "", "80")
        if scheme.lower() != "http" or not host:
            self.note(**record, status=400)
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        origin = await self.dial(record, host.strip("[]"), int(port), writer)
        if not origin:
            return
        named = {word.strip().lower() for name, value in fields if name.lower() == "connection"
                 for word in value.split(",")}
        kept = [f"{name}:{value}" for name, value in fields if name.lower() not in HOP_BY_HOP | named]
        # One request per connection: the answer ends with the connection.
        sent = "\r\n".join(
            [f"{record['method']} {path} {version}", *kept, "Via: 1.1 lade-proxy", "Connection: close", "", ""])
        record["sent"] = sent
        self.note(**record, authority=authority, status=200)
        origin[1].write(sent.encode("latin-1"))
        await relay(reader, writer, *origin)

    async def dial(self, record, host, port, writer):
        try:
            return await asyncio.open_connection(OWN_NAMES.get(host, host), port)
        except OSError as error:
            self.note(**record, authority=f"{host}:{port}", status=502, error=str(error))
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return None

    # MARK: SOCKS5 (RFC 1928)

    async def socks(self, kind, reader, writer):
        version, count = await reader.readexactly(2)
        methods = list(await reader.readexactly(count))
        wanted = 2 if kind == "proxySOCKS5Auth" else 0
        record = dict(proxy=kind, methods=methods, user=None, password=None)
        if version != 5 or wanted not in methods:
            self.note(**record, status=255)
            writer.write(b"\x05\xff")
            return
        writer.write(bytes([5, wanted]))
        if wanted == 2:
            await reader.readexactly(1)
            record["user"] = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
            record["password"] = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
            accepted = (record["user"], record["password"]) == (self.user, self.password)
            writer.write(b"\x01\x00" if accepted else b"\x01\x01")
            if not accepted:
                self.note(**record, status=1)
                return
        _, command, _, form = await reader.readexactly(4)
        if form == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ipaddress.ip_address(await reader.readexactly(4 if form == 1 else 16)))
        port = int.from_bytes(await reader.readexactly(2), "big")
        record.update(authority=f"{host}:{port}", addressForm={1: "IPv4", 3: "name", 4: "IPv6"}.get(form, str(form)))
        answer = lambda code: bytes([5, code, 0, 1, 0, 0, 0, 0, 0, 0])
        if command != 1:
            self.note(**record, status=7)
            writer.write(answer(7))
            return
        try:
            origin = await asyncio.open_connection(OWN_NAMES.get(host, host), port)
        except OSError:
            self.note(**record, status=5)
            writer.write(answer(5))
            return
        self.note(**record, status=0)
        writer.write(answer(0))
        await relay(reader, writer, *origin)


async def relay(client_reader, client_writer, origin_reader, origin_writer):
    """Forwards in both directions until the origin has ended its half, or the client has disconnected."""

    async def pump(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
        except (ConnectionError, OSError):
            pass

    up = asyncio.ensure_future(pump(client_reader, origin_writer))
    down = asyncio.ensure_future(pump(origin_reader, client_writer))
    await down
    up.cancel()
    origin_writer.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--password", required=True)
    parser.add_argument("listeners", nargs="+")
    arguments = parser.parse_args()
    proxies = Proxies(arguments.log, arguments.user, arguments.password)

    def serve(kind):
        handle = proxies.socks if "SOCKS" in kind else proxies.http

        async def accept(reader, writer):
            try:
                await handle(kind, reader, writer)
                await writer.drain()
            except (ConnectionError, asyncio.IncompleteReadError, ValueError):
                pass
            finally:
                writer.close()

        return accept

    servers = []
    for listener in arguments.listeners:
        kind, _, port = listener.partition("=")
        servers.append(await asyncio.start_server(serve(kind), "127.0.0.1", int(port), limit=HEAD_LIMIT, backlog=1024))
    await asyncio.gather(*(server.serve_forever() for server in servers))


asyncio.run(main())
