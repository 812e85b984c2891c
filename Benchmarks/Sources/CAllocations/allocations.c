// Counts the allocations of a program into which this library is preloaded, and writes the number to the file that
// BENCH_ALLOCATIONS names when the program ends. GNU only: it stands before the C library's own functions.
#define _GNU_SOURCE
#include <features.h>
#include "allocations.h"

#ifdef __GLIBC__
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_ulong count;

// glibc's own entries, which need no look-up that would itself allocate.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    void *memory = __libc_memalign(alignment, size);
    if (!memory) {
        return 12; // ENOMEM
    }
    *out = memory;
    return 0;
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("BENCH_ALLOCATIONS");
    unsigned long total = atomic_load(&count);
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%lu\n", total);
        fclose(file);
    }
}
#endif
