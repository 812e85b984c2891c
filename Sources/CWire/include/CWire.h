#ifndef LADE_CWIRE_H
#define LADE_CWIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// A numeric address of a host: 4 or 16 bytes in network order, and the zone of a link-local address.
struct lade_address {
    int32_t is_v6;
    uint32_t scope;
    uint8_t bytes[16];
};

// A timer descriptor that becomes readable at a time of the monotonic clock, given in nanoseconds.
int lade_wire_timer_make(void);
int lade_wire_timer_set(int timer, int64_t moment);

// How long the system has slept since its start, in nanoseconds.
int64_t lade_wire_time_asleep(void);

// How many forks lie between the first call in the first process and this process.
int lade_wire_forks(void);

// A non-blocking, close-on-exec socket without Nagle's delay; -1 with errno.
int lade_wire_socket(int is_v6);
int lade_wire_unix_socket(void);

// Begin to connect: 0, or the error number (EINPROGRESS while it lasts).
int lade_wire_connect(int socket, const struct lade_address *address, uint16_t port);
int lade_wire_connect_unix(int socket, const char *path);

// The outcome of connecting: 0, or the error number.
int lade_wire_connect_error(int socket);

// The address and the port that a socket was connected from: 0, or the error number.
int lade_wire_local(int socket, struct lade_address *address, uint16_t *port);

// Sends without SIGPIPE.
int64_t lade_wire_send(int socket, const void *bytes, size_t count);

// What waits to be read: 1 bytes, 0 nothing, -1 the end or an error.
int lade_wire_peek(int socket);

// Reads a numeric address, with a zone after "%": 1, 0 when the text is none, -1 when the zone is unknown.
int lade_wire_parse(const char *text, struct lade_address *address);

// Writes an address as text; the buffer has 64 bytes.
void lade_wire_format(const struct lade_address *address, char *buffer);

// Asks the system for the addresses of a name: their number, or the negative code of getaddrinfo.
int lade_wire_resolve(const char *name, struct lade_address *addresses, int capacity);

struct ssl_st;

// The ciphertext of a TLS connection in both directions, between a caller and OpenSSL.
struct lade_tls_bytes {
    // Received bytes that were not read yet, in the caller's memory.
    const uint8_t *input;
    size_t input_count;
    // Bytes to send, from start to end, in memory of their own.
    uint8_t *output;
    size_t output_start;
    size_t output_end;
    size_t output_room;
    // What reading may still do: a record costs a unit, and a message of TLS after the handshake several. With none left,
    // a read finds nothing at the next record, although there is input.
    int32_t units;
    // How many bytes are left of the present record; and of its header, as much as was read.
    size_t record_left;
    uint8_t header[5];
    uint8_t header_count;
    // The messages after the handshake that were read.
    uint32_t key_updates;
    uint32_t other_messages;
};

// A BIO that reads and writes these bytes, which must outlive it; NULL without memory. It never ends: the caller knows
// when its connection has.
struct bio_st *lade_tls_bio(struct lade_tls_bytes *bytes);

// Counts the messages that the peer sends from now on.
void lade_tls_count_messages(struct ssl_st *session, struct lade_tls_bytes *bytes);

// Removes bytes that were sent.
void lade_tls_consume(struct lade_tls_bytes *bytes, size_t count);

// Releases the memory of the output, with what it holds.
void lade_tls_release(struct lade_tls_bytes *bytes);

#endif
