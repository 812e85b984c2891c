#include "CWire.h"

#include <openssl/bio.h>
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
    *count = room < io->input_count ? room : io->input_count;
    memcpy(bytes, io->input, *count);
    io->input += *count;
    io->input_count -= *count;
    return 1;
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
    memset(bytes, 0, sizeof *bytes);
}
