// Name look-ups that hang until a test releases them: this getaddrinfo precedes that of the C library for every library of
// the test process, and passes all other names on to it. Linux only; elsewhere libraries find their own.
#define _GNU_SOURCE
#include "CHangingResolver.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

// Guarded by the mutex: the names whose look-ups hang, and the functions that these call. An empty name is a free slot.
static struct slot {
    char host[64];
    void (*began)(void);
} slots[8];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static struct slot *find(const char *host) {
    for (size_t index = 0; index < sizeof slots / sizeof *slots; index++) {
        if (strcmp(slots[index].host, host) == 0) return &slots[index];
    }
    return NULL;
}

int lade_hanging_host_arm(const char *host, void (*began)(void)) {
    pthread_mutex_lock(&mutex);
    struct slot *slot = strlen(host) < sizeof slot->host && !find(host) ? find("") : NULL;
    if (slot) {
        strcpy(slot->host, host);
        slot->began = began;
    }
    pthread_mutex_unlock(&mutex);
    return slot != NULL;
}

void lade_hanging_host_release(const char *host) {
    pthread_mutex_lock(&mutex);
    struct slot *slot = find(host);
    if (slot) slot->host[0] = '\0';
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

#ifdef __linux__
#include <dlfcn.h>
#include <netdb.h>

typedef int (*look_up)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int is_ours(const char *host) {
    size_t length = host ? strlen(host) : 0, suffix = strlen(lade_hanging_suffix);
    return length > suffix && strcmp(host + length - suffix, lade_hanging_suffix) == 0;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (is_ours(node)) {
        pthread_mutex_lock(&mutex);
        struct slot *slot = find(node);
        void (*began)(void) = slot ? slot->began : NULL;
        pthread_mutex_unlock(&mutex);
        if (began) began();
        pthread_mutex_lock(&mutex);
        while (find(node)) pthread_cond_wait(&condition, &mutex);
        pthread_mutex_unlock(&mutex);
        return EAI_NONAME;
    }
    look_up original = (look_up)dlsym(RTLD_NEXT, "getaddrinfo");
    return original ? original(node, service, hints, result) : EAI_FAIL;
}
#endif
