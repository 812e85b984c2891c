// The limit of what a client on libcurl can do: the multi interface driven by epoll, one thread, CONCURRENCY easy
// handles, each armed again as soon as it is done. The other peers are compared with this one.
//
// usage: CLimit URL REQUESTS CONCURRENCY collect|count
//   collect  the body is put together in a buffer of the handle, which is kept between requests
//   count    the body is only counted
// The environment, for all peers: BENCH_CA names the certificate authority's file for https; BENCH_WARM_UP is the number
// of requests before the measured ones. For this one: CLIMIT_PARSED=1 hands libcurl a URL that was parsed once, which a
// client that asks for a different URL each time cannot do; CLIMIT_BARE=1 leaves out Accept-Encoding, which the other
// peers send, so that all peers send the same bytes; CLIMIT_DECODE=1 lets libcurl decode; CLIMIT_BUFFER sets libcurl's read buffer; CLIMIT_EAGER=1 lets
// the epoll registrations follow each of libcurl's calls immediately.
#define _GNU_SOURCE
#include <curl/curl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "measure.h"

struct operation {
    CURL *easy;
    char *body;
    size_t length, capacity;
    uint64_t start;
    long calls;
};

static CURLM *multi;
static int poller;
static uint64_t timer_at;
static int timer_set;
static int counting;
static uint64_t bytes_received, header_bytes;

static size_t on_body(char *data, size_t size, size_t count, void *user) {
    struct operation *operation = user;
    size_t length = size * count;
    bytes_received += length;
    if (counting) {
        return length;
    }
    if (operation->length + length > operation->capacity) {
        operation->capacity = (operation->length + length) * 2;
        operation->body = realloc(operation->body, operation->capacity);
    }
    memcpy(operation->body + operation->length, data, length);
    operation->length += length;
    return length;
}

static size_t on_header(char *data, size_t size, size_t count, void *user) {
    (void)data;
    (void)user;
    header_bytes += size * count;
    return size * count;
}

// MARK: Interest in sockets

// libcurl says REMOVE at the end of each transfer and IN again when it uses the pooled connection again. For sockets
// that this program opened, the kernel's registration is left as it is meanwhile, and epoll_ctl is called for net changes only.
// Other descriptors (the resolver's) are closed without on_close being called, so they are dealt with immediately.
enum { DESCRIPTORS = 20480 };
static struct {
    uint32_t kernel, wanted;
    char ours, changed;
} descriptors[DESCRIPTORS];
static int changed[DESCRIPTORS], changed_count;
static int eager;

static curl_socket_t on_open(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)user;
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= DESCRIPTORS) {
        close(fd);
        return CURL_SOCKET_BAD;
    }
    if (fd >= 0) {
        descriptors[fd].kernel = descriptors[fd].wanted = 0;
        descriptors[fd].ours = !eager;
    }
    return fd;
}

static int on_close(void *user, curl_socket_t fd) {
    (void)user;
    descriptors[fd].kernel = descriptors[fd].wanted = 0;
    descriptors[fd].ours = 0;
    return close(fd);
}

static void apply_changes(void) {
    for (int i = 0; i < changed_count; i++) {
        int fd = changed[i];
        descriptors[fd].changed = 0;
        if (!descriptors[fd].ours || !descriptors[fd].wanted || descriptors[fd].wanted == descriptors[fd].kernel) {
            continue;
        }
        struct epoll_event event = { .events = descriptors[fd].wanted, .data.fd = fd };
        epoll_ctl(poller, descriptors[fd].kernel ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
        descriptors[fd].kernel = descriptors[fd].wanted;
    }
    changed_count = 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known) {
    (void)easy;
    (void)user;
    uint32_t wanted = ((what & CURL_POLL_IN) && what != CURL_POLL_REMOVE ? EPOLLIN : 0)
        | ((what & CURL_POLL_OUT) && what != CURL_POLL_REMOVE ? EPOLLOUT : 0);
    if (descriptors[fd].ours) {
        descriptors[fd].wanted = wanted;
        if (!descriptors[fd].changed) {
            descriptors[fd].changed = 1;
            changed[changed_count++] = fd;
        }
        return 0;
    }
    struct epoll_event event = { .events = wanted, .data.fd = fd };
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(poller, EPOLL_CTL_DEL, fd, &event);
    } else if (known) {
        epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event);
    } else if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0 || epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event) == 0) {
        curl_multi_assign(multi, fd, (void *)1);
    }
    return 0;
}

static int on_timer(CURLM *of, long milliseconds, void *user) {
    (void)of;
    (void)user;
    timer_set = milliseconds >= 0;
    if (timer_set) {
        timer_at = nanoseconds() + (uint64_t)milliseconds * 1000000u;
    }
    return 0;
}

// MARK: Transfers

// The field that asks for all codings which this libcurl decodes, as Lade's transport sends it.
static struct curl_slist *fields(void) {
    int features = curl_version_info(CURLVERSION_NOW)->features;
    char line[80] = "Accept-Encoding: ";
    if (getenv("CLIMIT_BARE") || !(features & CURL_VERSION_LIBZ)) {
        return NULL;
    }
    strcat(line, "gzip, deflate");
    strcat(line, features & CURL_VERSION_BROTLI ? ", br" : "");
    strcat(line, features & CURL_VERSION_ZSTD ? ", zstd" : "");
    return curl_slist_append(NULL, line);
}

static CURL *make_easy(struct operation *operation, const char *url) {
    CURL *easy = curl_easy_init();
    const char *authority = getenv("BENCH_CA"), *buffer = getenv("CLIMIT_BUFFER");
    if (getenv("CLIMIT_PARSED")) {
        CURLU *parsed = curl_url();
        curl_url_set(parsed, CURLUPART_URL, url, 0);
        curl_easy_setopt(easy, CURLOPT_CURLU, parsed);
    } else {
        curl_easy_setopt(easy, CURLOPT_URL, url);
    }
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, operation);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, operation);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    // The field is in this list because CURLOPT_ACCEPT_ENCODING would compose it for each request.
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields());
    if (getenv("CLIMIT_DECODE")) {
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    }
    // Without this libcurl asks the environment for proxies at each request.
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    // 16 KiB, the default, costs 15 to 20 % more for bodies of 100 KB and up. More than 64 KiB gains nothing for bodies
    // of 100 KB; for a stream, 512 KiB halves the time.
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, buffer ? atol(buffer) : 65536L);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    if (authority) {
        // With a CA path beside the file, libcurl would parse the file anew for each connection.
        curl_easy_setopt(easy, CURLOPT_CAINFO, authority);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    return easy;
}

static void begin(struct operation *operation) {
    operation->length = 0;
    operation->start = nanoseconds();
    curl_multi_add_handle(multi, operation->easy);
}

// Waits for sockets and the timer, and lets libcurl act on them.
static void turn(void) {
    struct epoll_event events[256];
    int running, count = 0, wait = -1;
    apply_changes();
    if (timer_set) {
        uint64_t now = nanoseconds();
        wait = now >= timer_at ? 0 : (int)((timer_at - now + 999999) / 1000000);
    }
    if (wait != 0) {
        count = epoll_wait(poller, events, 256, wait);
    }
    if (count <= 0 && timer_set && nanoseconds() >= timer_at) {
        timer_set = 0;
        curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (int i = 0; i < count; i++) {
        int fd = events[i].data.fd;
        if (descriptors[fd].ours && !descriptors[fd].wanted) {
            // Data or an end came for an idle connection of the pool: libcurl checks it when it next takes it.
            epoll_ctl(poller, EPOLL_CTL_DEL, fd, &events[i]);
            descriptors[fd].kernel = 0;
            continue;
        }
        int ready = (events[i].events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0)
            | (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
            | (events[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(multi, fd, ready, &running);
    }
}

// Makes `total` requests, at most `concurrency` at a time, and returns how many failed.
static long run(struct operation *operations, int concurrency, long total, uint32_t *latencies) {
    long started = 0, done = 0, errors = 0;
    while (started < concurrency && started < total) {
        begin(&operations[started++]);
    }
    while (done < total) {
        turn();
        CURLMsg *message;
        int left;
        while ((message = curl_multi_info_read(multi, &left))) {
            struct operation *operation;
            long status = 0;
            CURLcode result = message->data.result;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &operation);
            curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
            if ((result != CURLE_OK || status != 200) && ++errors == 1) {
                fprintf(stderr, "first error: %s, status %ld\n", curl_easy_strerror(result), status);
            }
            latencies[done++] = (uint32_t)((nanoseconds() - operation->start) / 1000);
            operation->calls++;
            curl_multi_remove_handle(multi, operation->easy);
            if (started < total) {
                started++;
                begin(operation);
            }
        }
    }
    return errors;
}

int main(int count, char **words) {
    if (count != 5) {
        fprintf(stderr, "usage: %s URL REQUESTS CONCURRENCY collect|count\n", words[0]);
        return 2;
    }
    long total = atol(words[2]);
    int concurrency = atoi(words[3]);
    counting = strcmp(words[4], "count") == 0;
    eager = getenv("CLIMIT_EAGER") != NULL;
    if (total < 1 || concurrency < 1) {
        return 2;
    }

    curl_global_init(CURL_GLOBAL_DEFAULT);
    poller = epoll_create1(EPOLL_CLOEXEC);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)concurrency + 8);
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 256L);

    struct operation *operations = calloc((size_t)concurrency, sizeof *operations);
    for (int i = 0; i < concurrency; i++) {
        operations[i].easy = make_easy(&operations[i], words[1]);
    }
    // Connections are opened outside the measured part, but for bodies so large that it does not matter.
    long warm_up = counting ? 0 : total / 20 > 2 * concurrency ? total / 20 : 2 * concurrency;
    if (getenv("BENCH_WARM_UP")) {
        warm_up = atol(getenv("BENCH_WARM_UP"));
    }
    uint32_t *latencies = calloc((size_t)(total > warm_up ? total : warm_up), sizeof *latencies);
    if (warm_up) {
        run(operations, concurrency, warm_up, latencies);
    }
    bytes_received = 0;
    for (int i = 0; i < concurrency; i++) operations[i].calls = 0;
    double processor = processor_seconds();
    uint64_t start = nanoseconds();
    long errors = run(operations, concurrency, total, latencies);
    double wall = (double)(nanoseconds() - start) / 1e9;
    double processor_end = processor_seconds();
    long least = total, most = 0;
    for (int i = 0; i < concurrency; i++) {
        if (operations[i].calls < least) least = operations[i].calls;
        if (operations[i].calls > most) most = operations[i].calls;
    }
    report("c-libcurl", latencies, total, wall, processor_end - processor, bytes_received, errors, least, most);
    return 0;
}
