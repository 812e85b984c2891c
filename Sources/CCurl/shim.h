// Typed functions for libcurl's variadic functions, which Swift cannot call, and for declarations that the Glibc module
// lacks.
// This header defines static inline functions only. It must not set feature macros (_GNU_SOURCE …).
#pragma once
#include <curl/curl.h>
#include <limits.h>
#include <sys/resource.h>
#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

// A timer descriptor that becomes readable at a time of the monotonic clock, given in nanoseconds.
static inline int lade_timer_make(void) {
    return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}
static inline int lade_timer_set(int timer, long long moment) {
    // Zero would disarm the timer; a time in the past fires it immediately.
    if (moment < 1) moment = 1;
    struct itimerspec time = {{0, 0}, {moment / 1000000000, moment % 1000000000}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}
#endif

// The number that no descriptor of this process reaches; LONG_MAX when it is not known.
static inline long lade_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > LONG_MAX) return LONG_MAX;
    return (long)limit.rlim_cur;
}

static inline CURLcode lade_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode lade_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode lade_easy_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode lade_easy_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode lade_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

typedef size_t (*lade_bytes_callback)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode lade_easy_set_bytes_callback(CURL *easy, CURLoption option, lade_bytes_callback callback) {
    return curl_easy_setopt(easy, option, callback);
}
static inline int lade_seek_nowhere(void *context, curl_off_t offset, int origin) {
    (void)context, (void)offset, (void)origin;
    return CURL_SEEKFUNC_OK;
}
// Accepts every rewinding of a request body, for a reader that begins anew by itself.
static inline CURLcode lade_easy_accept_rewinding(CURL *easy) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, lade_seek_nowhere);
}
typedef int (*lade_prereq_callback)(void *context, char *remote, char *local, int remotePort, int localPort);
static inline CURLcode lade_easy_set_prereq(CURL *easy, lade_prereq_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}
typedef int (*lade_trailer_callback)(struct curl_slist **list, void *context);
static inline CURLcode lade_easy_set_trailer(CURL *easy, lade_trailer_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_TRAILERFUNCTION, callback);
}
typedef curl_socket_t (*lade_open_callback)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
static inline CURLcode lade_easy_set_open(CURL *easy, lade_open_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}
typedef int (*lade_close_callback)(void *context, curl_socket_t socket);
static inline CURLcode lade_easy_set_close(CURL *easy, lade_close_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

typedef int (*lade_resolver_start_callback)(void *state, void *reserved, void *context);
static inline CURLcode lade_easy_set_resolver_start(CURL *easy, lade_resolver_start_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, callback);
}

static inline CURLcode lade_easy_set_progress(CURL *easy, curl_xferinfo_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, callback);
}

static inline CURLcode lade_easy_set_tls_context(CURL *easy, curl_ssl_ctx_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}

static inline CURLcode lade_easy_set_debug(CURL *easy, curl_debug_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, callback);
}

static inline CURLcode lade_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode lade_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode lade_easy_get_text(CURL *easy, CURLINFO info, const char **value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode lade_easy_get_pointer(CURL *easy, CURLINFO info, void **value) {
    return curl_easy_getinfo(easy, info, value);
}

typedef int (*lade_socket_callback)(CURL *easy, curl_socket_t socket, int what, void *context, void *perSocket);
typedef int (*lade_timer_callback)(CURLM *multi, long milliseconds, void *context);
static inline CURLMcode lade_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode lade_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode lade_multi_set_socket(CURLM *multi, lade_socket_callback callback) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}
static inline CURLMcode lade_multi_set_timer(CURLM *multi, lade_timer_callback callback) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}

static inline CURLSHcode lade_share_data(CURLSH *share, curl_lock_data data) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}

static inline CURLcode lade_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

#define LADE_WRITE_PAUSE ((size_t)0x10000001)
#define LADE_READ_ABORT ((size_t)0x10000000)
#define LADE_READ_PAUSE ((size_t)0x10000001)
_Static_assert(CURL_WRITEFUNC_PAUSE == 0x10000001 && CURL_READFUNC_ABORT == 0x10000000 && CURL_READFUNC_PAUSE == 0x10000001,
               "libcurl's return codes are part of its interface");
