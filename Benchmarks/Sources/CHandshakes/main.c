// The limit of what new TLS connections cost a client on OpenSSL: one thread, one epoll, one context with one store, and a
// session that is resumed from the second connection on. Each request has a connection of its own, which the server closes.
//
// usage: CHandshakes URL REQUESTS CONCURRENCY collect|count
// BENCH_CA in the environment names the certificate authority's file.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../CLimit/measure.h"

struct connection {
    SSL *ssl;
    int fd, is_open;
    size_t sent, length;
    char response[16384];
    uint64_t start;
    long calls;
};

static SSL_CTX *context;
// Tickets of TLS 1.3 are offered once; as many as connections are open at a time are kept.
static SSL_SESSION *sessions[256];
static int session_count;
static int poller;
static char host[256], request[1024];
static struct sockaddr_in address;
static long resumed;

static int on_session(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    if (session_count == 256) {
        return 0;
    }
    sessions[session_count++] = session;
    return 1;
}

static void begin(struct connection *connection) {
    int one = 1;
    connection->start = nanoseconds();
    connection->sent = connection->length = 0;
    connection->is_open = 0;
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connect(connection->fd, (struct sockaddr *)&address, sizeof address);
    connection->ssl = SSL_new(context);
    SSL_set_fd(connection->ssl, connection->fd);
    SSL_set_tlsext_host_name(connection->ssl, host);
    SSL_set1_host(connection->ssl, host);
    if (session_count) {
        SSL_SESSION *session = sessions[--session_count];
        SSL_set_session(connection->ssl, session);
        SSL_SESSION_free(session);
    }
    SSL_set_connect_state(connection->ssl);
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection };
    epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &event);
}

static void end(struct connection *connection) {
    resumed += SSL_session_reused(connection->ssl);
    SSL_shutdown(connection->ssl);
    SSL_free(connection->ssl);
    close(connection->fd);
}

// Advances a connection: 1 when its response is complete, -1 when it failed, 0 when it waits.
static int advance(struct connection *connection) {
    ERR_clear_error();
    if (!connection->is_open) {
        int result = SSL_do_handshake(connection->ssl);
        if (result != 1) {
            int error = SSL_get_error(connection->ssl, result);
            return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE || errno == ENOTCONN ? 0 : -1;
        }
        connection->is_open = 1;
    }
    if (!connection->sent) {
        int count = SSL_write(connection->ssl, request, (int)strlen(request));
        if (count <= 0) {
            return -1;
        }
        connection->sent = (size_t)count;
    }
    for (;;) {
        size_t room = sizeof connection->response - connection->length;
        int count = SSL_read(connection->ssl, connection->response + connection->length, (int)room);
        if (count > 0) {
            connection->length += (size_t)count;
            continue;
        }
        int error = SSL_get_error(connection->ssl, count);
        if (error == SSL_ERROR_WANT_READ) {
            return 0;
        }
        int is_good = connection->length > 12 && memcmp(connection->response, "HTTP/1.1 200", 12) == 0;
        return is_good && error == SSL_ERROR_ZERO_RETURN ? 1 : -1;
    }
}

static uint64_t body_bytes(struct connection *connection) {
    char *end = memmem(connection->response, connection->length, "\r\n\r\n", 4);
    return end ? (uint64_t)(connection->response + connection->length - end - 4) : 0;
}

static long run(struct connection *connections, int concurrency, long total, uint32_t *latencies, uint64_t *bytes) {
    long started = 0, done = 0, errors = 0;
    while (started < concurrency && started < total) {
        begin(&connections[started++]);
    }
    while (done < total) {
        struct epoll_event events[256];
        int count = epoll_wait(poller, events, 256, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            int result = advance(connection);
            if (!result) {
                continue;
            }
            if (result < 0 && ++errors == 1) {
                fprintf(stderr, "first error: %s\n", ERR_error_string(ERR_peek_error(), NULL));
            }
            *bytes += body_bytes(connection);
            latencies[done++] = (uint32_t)((nanoseconds() - connection->start) / 1000);
            connection->calls++;
            end(connection);
            if (started < total) {
                started++;
                begin(connection);
            }
        }
    }
    return errors;
}

int main(int count, char **words) {
    int port = 0;
    char path[512];
    if (count != 5 || sscanf(words[1], "https://%255[^:]:%d%511s", host, &port, path) != 3) {
        fprintf(stderr, "usage: %s https://HOST:PORT/PATH REQUESTS CONCURRENCY collect|count\n", words[0]);
        return 2;
    }
    long total = atol(words[2]);
    int concurrency = atoi(words[3]);
    if (total < 1 || concurrency < 1) {
        return 2;
    }
    snprintf(request, sizeof request,
             "GET %s HTTP/1.1\r\nHost: %s:%d\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n", path, host, port);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)port);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    poller = epoll_create1(EPOLL_CLOEXEC);

    context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2\x08http/1.1", 12);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, on_session);
    if (!getenv("BENCH_CA") || SSL_CTX_load_verify_locations(context, getenv("BENCH_CA"), NULL) != 1) {
        fprintf(stderr, "BENCH_CA names no authority\n");
        return 2;
    }

    struct connection *connections = calloc((size_t)concurrency, sizeof *connections);
    uint32_t *latencies = calloc((size_t)total + 100, sizeof *latencies);
    uint64_t bytes = 0;
    run(connections, concurrency, 2 * concurrency < 100 ? 2 * concurrency : 100, latencies, &bytes);
    for (int i = 0; i < concurrency; i++) connections[i].calls = 0;
    bytes = 0;
    resumed = 0;
    double processor = processor_seconds();
    uint64_t start = nanoseconds();
    long errors = run(connections, concurrency, total, latencies, &bytes);
    double wall = (double)(nanoseconds() - start) / 1e9;
    double spent = processor_seconds() - processor;
    long least = total, most = 0;
    for (int i = 0; i < concurrency; i++) {
        if (connections[i].calls < least) least = connections[i].calls;
        if (connections[i].calls > most) most = connections[i].calls;
    }
    fprintf(stderr, "resumed: %ld of %ld\n", resumed, total);
    report("c-openssl", latencies, total, wall, spent, bytes, errors, least, most);
    return 0;
}
