#include "CWire.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Ciphertext that the peer does not read, above which nothing more is written.
static const size_t most_output = 1 << 20;

static int tls_read(BIO *bio, char *bytes, size_t room, size_t *count) {
    struct lade_tls_bytes *io = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (io->input_count == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    size_t most;
    if (io->record_left > 0) {
        most = io->record_left;
    } else {
        if (io->header_count == 0) {
            if (io->units <= 0) {
                BIO_set_retry_read(bio);
                return 0;
            }
            io->units--;
        }
        most = sizeof io->header - io->header_count;
    }
    if (most > io->input_count) most = io->input_count;
    *count = room < most ? room : most;
    memcpy(bytes, io->input, *count);
    if (io->record_left > 0) {
        io->record_left -= *count;
    } else {
        memcpy(io->header + io->header_count, io->input, *count);
        io->header_count += *count;
        if (io->header_count == sizeof io->header) {
            io->record_left = (size_t)io->header[3] << 8 | io->header[4];
            io->header_count = 0;
        }
    }
    io->input += *count;
    io->input_count -= *count;
    return 1;
}

// The units that a message costs: a key is derived, a session is made.
enum { key_update_units = 8, message_units = 16 };

static void count_message(int is_sent, int version, int type, const void *bytes, size_t size, SSL *session, void *io) {
    (void)version;
    (void)session;
    if (is_sent || type != SSL3_RT_HANDSHAKE || size == 0) return;
    struct lade_tls_bytes *counts = io;
    if (*(const uint8_t *)bytes == SSL3_MT_KEY_UPDATE) {
        counts->key_updates++;
        counts->units -= key_update_units;
    } else {
        counts->other_messages++;
        counts->units -= message_units;
    }
}

void lade_tls_count_messages(SSL *session, struct lade_tls_bytes *bytes) {
    SSL_set_msg_callback(session, count_message);
    SSL_set_msg_callback_arg(session, bytes);
}

static int tls_write(BIO *bio, const char *bytes, size_t size, size_t *count) {
    struct lade_tls_bytes *io = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    size_t used = io->output_end - io->output_start;
    if (used + size > most_output) {
        BIO_set_retry_write(bio);
        return 0;
    }
    if (io->output_end + size > io->output_room) {
        if (used + size <= io->output_room) {
            memmove(io->output, io->output + io->output_start, used);
        } else {
            size_t room = io->output_room < 1024 ? 1024 : io->output_room;
            while (room < used + size) room *= 2;
            uint8_t *larger = malloc(room);
            if (!larger) return 0;
            if (used > 0) memcpy(larger, io->output + io->output_start, used);
            free(io->output);
            io->output = larger;
            io->output_room = room;
        }
        io->output_start = 0;
        io->output_end = used;
    }
    memcpy(io->output + io->output_end, bytes, size);
    io->output_end += size;
    *count = size;
    return 1;
}

static long tls_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

static BIO_METHOD *method;
static pthread_once_t method_once = PTHREAD_ONCE_INIT;

static void make_method(void) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "lade");
    if (!method) return;
    BIO_meth_set_read_ex(method, tls_read);
    BIO_meth_set_write_ex(method, tls_write);
    BIO_meth_set_ctrl(method, tls_control);
}

struct bio_st *lade_tls_bio(struct lade_tls_bytes *bytes) {
    pthread_once(&method_once, make_method);
    BIO *bio = method ? BIO_new(method) : NULL;
    if (!bio) return NULL;
    BIO_set_data(bio, bytes);
    BIO_set_init(bio, 1);
    return bio;
}

void lade_tls_consume(struct lade_tls_bytes *bytes, size_t count) {
    bytes->output_start += count;
    if (bytes->output_start < bytes->output_end) return;
    bytes->output_start = bytes->output_end = 0;
}

void lade_tls_release(struct lade_tls_bytes *bytes) {
    free(bytes->output);
    bytes->output = NULL;
    bytes->output_start = bytes->output_end = bytes->output_room = 0;
}
