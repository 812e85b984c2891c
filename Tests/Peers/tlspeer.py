"""Unusual listeners on loopback that nginx cannot provide, for the tests; started by Scripts/peers.

usage: tlspeer.py --certificate FILE --key FILE --client-ca FILE KIND=PORT ...

kinds: tlsClientCertificate    refuses clients without a certificate with a TLS alert (TLS 1.3: the alert comes when the
                               client has completed the handshake); else answers with the name in the certificate
       tlsClientCertificate12  the same with TLS 1.2, where the alert ends the handshake itself
       tlsStalled              accepts and never says a word: the handshake hangs
       tlsGarbage              answers the handshake with bytes that are no TLS
       blackhole               never accepts: its backlog is full, so a connection attempt hangs
"""

import argparse
import socket
import ssl
import threading

# Stopping the peer ends all of these; a client that disconnects ends its own.
IDLE_SECONDS = 600


def serve(port, handle):
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)

    def accept():
        while True:
            connection, _ = listener.accept()
            connection.settimeout(IDLE_SECONDS)
            threading.Thread(target=run, args=(connection,), daemon=True).start()

    def run(connection):
        with connection:
            try:
                handle(connection)
            except OSError:
                pass

    threading.Thread(target=accept).start()


def drain(connection):
    """Reads to the end: a socket closed with unread bytes sends a reset, which may overtake what was written last."""
    while connection.recv(65536):
        pass


def demanding(arguments, newest):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.certificate, arguments.key)
    context.load_verify_locations(arguments.client_ca)
    context.verify_mode = ssl.CERT_REQUIRED
    context.maximum_version = newest

    def handle(connection):
        secure = context.wrap_socket(connection.dup(), server_side=True, do_handshake_on_connect=False)
        with secure:
            try:
                secure.do_handshake()
            except ssl.SSLError:
                # OpenSSL has sent its alert.
                connection.shutdown(socket.SHUT_WR)
                drain(connection)
                return
            subject = dict(pair[0] for pair in secure.getpeercert()["subject"])["commonName"].encode()
            head = b""
            while data := secure.recv(65536):
                head += data
                while b"\r\n\r\n" in head:
                    head = head.partition(b"\r\n\r\n")[2]
                    secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(subject), subject))

    return handle


def garbage(connection):
    connection.recv(65536)
    connection.sendall(b"this is not TLS\r\n" * 4)
    connection.shutdown(socket.SHUT_WR)
    drain(connection)


def blackhole(port):
    """A listener whose queue is full; the returned sockets keep it full."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(0)
    fillers = []
    for _ in range(4):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.1", port))
        fillers.append(filler)
    return [listener, *fillers]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--client-ca", required=True)
    parser.add_argument("listeners", nargs="+")
    arguments = parser.parse_args()
    kinds = {
        "tlsClientCertificate": demanding(arguments, ssl.TLSVersion.MAXIMUM_SUPPORTED),
        "tlsClientCertificate12": demanding(arguments, ssl.TLSVersion.TLSv1_2),
        "tlsStalled": drain,
        "tlsGarbage": garbage,
    }
    kept = []
    for listener in arguments.listeners:
        kind, _, port = listener.partition("=")
        if kind == "blackhole":
            kept.append(blackhole(int(port)))
        else:
            serve(int(port), kinds[kind])
    threading.Event().wait()


main()
