#define _GNU_SOURCE
#include "CWire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>

int lade_wire_timer_make(void) {
    return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

int lade_wire_timer_set(int timer, int64_t moment) {
    // Zero would disarm the timer; a time in the past fires it immediately.
    if (moment < 1) moment = 1;
    struct itimerspec time = {{0, 0}, {moment / 1000000000, moment % 1000000000}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}

int64_t lade_wire_time_asleep(void) {
    struct timespec boot, monotonic;
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return ((int64_t)boot.tv_sec - monotonic.tv_sec) * 1000000000 + (boot.tv_nsec - monotonic.tv_nsec);
}

static atomic_int forks;
static pthread_once_t forks_are_counted = PTHREAD_ONCE_INIT;

static void forked(void) {
    atomic_fetch_add(&forks, 1);
}

static void count_forks(void) {
    pthread_atfork(NULL, NULL, forked);
}

int lade_wire_forks(void) {
    pthread_once(&forks_are_counted, count_forks);
    return atomic_load(&forks);
}

int lade_wire_socket(int is_v6) {
    int descriptor = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    int yes = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    return descriptor;
}

int lade_wire_unix_socket(void) {
    return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int lade_wire_connect(int socket, const struct lade_address *address, uint16_t port) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } target;
    memset(&target, 0, sizeof target);
    socklen_t size;
    if (address->is_v6) {
        target.v6.sin6_family = AF_INET6;
        target.v6.sin6_port = htons(port);
        target.v6.sin6_scope_id = address->scope;
        memcpy(&target.v6.sin6_addr, address->bytes, 16);
        size = sizeof target.v6;
    } else {
        target.v4.sin_family = AF_INET;
        target.v4.sin_port = htons(port);
        memcpy(&target.v4.sin_addr, address->bytes, 4);
        size = sizeof target.v4;
    }
    return connect(socket, &target.any, size) == 0 ? 0 : errno;
}

int lade_wire_connect_unix(int socket, const char *path) {
    struct sockaddr_un target;
    memset(&target, 0, sizeof target);
    target.sun_family = AF_UNIX;
    strncpy(target.sun_path, path, sizeof target.sun_path - 1);
    return connect(socket, (struct sockaddr *)&target, sizeof target) == 0 ? 0 : errno;
}

int lade_wire_connect_error(int socket) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    return error;
}

int lade_wire_local(int socket, struct lade_address *address, uint16_t *port) {
    struct sockaddr_storage local;
    socklen_t size = sizeof local;
    if (getsockname(socket, (struct sockaddr *)&local, &size) != 0) return errno;
    memset(address, 0, sizeof *address);
    if (local.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&local;
        memcpy(address->bytes, &v4->sin_addr, 4);
        *port = ntohs(v4->sin_port);
    } else if (local.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&local;
        memcpy(address->bytes, &v6->sin6_addr, 16);
        address->is_v6 = 1;
        address->scope = v6->sin6_scope_id;
        *port = ntohs(v6->sin6_port);
    } else {
        return EAFNOSUPPORT;
    }
    return 0;
}

int64_t lade_wire_send(int socket, const void *bytes, size_t count) {
    return send(socket, bytes, count, MSG_NOSIGNAL);
}

int lade_wire_peek(int socket) {
    char byte;
    ssize_t count = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count > 0) return 1;
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

int lade_wire_parse(const char *text, struct lade_address *address) {
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, address->bytes) == 1) return 1;
    char host[64];
    size_t length = strcspn(text, "%");
    if (length >= sizeof host) return 0;
    memcpy(host, text, length);
    host[length] = 0;
    if (inet_pton(AF_INET6, host, address->bytes) != 1) return 0;
    address->is_v6 = 1;
    if (text[length] == 0) return 1;
    address->scope = if_nametoindex(text + length + 1);
    return address->scope == 0 ? -1 : 1;
}

void lade_wire_format(const struct lade_address *address, char *buffer) {
    inet_ntop(address->is_v6 ? AF_INET6 : AF_INET, address->bytes, buffer, 64);
}

int lade_wire_resolve(const char *name, struct lade_address *addresses, int capacity) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(name, NULL, &hints, &list);
    if (code != 0) return code < 0 ? code : -code;
    int count = 0;
    for (struct addrinfo *item = list; item && count < capacity; item = item->ai_next) {
        struct lade_address *address = &addresses[count];
        memset(address, 0, sizeof *address);
        if (item->ai_family == AF_INET) {
            memcpy(address->bytes, &((struct sockaddr_in *)item->ai_addr)->sin_addr, 4);
        } else if (item->ai_family == AF_INET6) {
            struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)item->ai_addr;
            memcpy(address->bytes, &v6->sin6_addr, 16);
            address->scope = v6->sin6_scope_id;
            address->is_v6 = 1;
        } else {
            continue;
        }
        count++;
    }
    freeaddrinfo(list);
    return count;
}
