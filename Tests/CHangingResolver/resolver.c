// A name look-up that hangs until a test lets it go: this getaddrinfo comes before that of the C library for every
// library of the test process, and hands all other names on to it. Linux only; elsewhere libraries find their own.
#define _GNU_SOURCE
#include "CHangingResolver.h"

#include <pthread.h>
#include <stddef.h>

const char *const lade_hanging_host = "hanging.lade.test";

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_armed = 0;
static void (*notice)(void) = NULL;

void lade_hanging_host_arm(void (*began)(void)) {
    pthread_mutex_lock(&mutex);
    is_armed = 1;
    notice = began;
    pthread_mutex_unlock(&mutex);
}

void lade_hanging_host_release(void) {
    pthread_mutex_lock(&mutex);
    is_armed = 0;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

#ifdef __linux__
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

typedef int (*look_up)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (node && strcmp(node, lade_hanging_host) == 0) {
        pthread_mutex_lock(&mutex);
        void (*began)(void) = notice;
        pthread_mutex_unlock(&mutex);
        if (began) began();
        pthread_mutex_lock(&mutex);
        while (is_armed) pthread_cond_wait(&condition, &mutex);
        pthread_mutex_unlock(&mutex);
        return EAI_NONAME;
    }
    look_up original = (look_up)dlsym(RTLD_NEXT, "getaddrinfo");
    return original ? original(node, service, hints, result) : EAI_FAIL;
}
#endif
