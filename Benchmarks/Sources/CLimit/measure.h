// What every peer of the comparison measures, and the one JSON line that it prints.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static inline uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Processor time of this process so far, in seconds.
static inline double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// The most memory held so far. Not ru_maxrss, which keeps the launcher's peak across exec.
static inline long peak_kilobytes(void) {
    long peak = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "VmHWM: %ld", &peak) == 1) {
            break;
        }
    }
    if (status) {
        fclose(status);
    }
    return peak;
}

static inline int compare_latencies(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

// latencies: microseconds, one for each request; sorted here. least and most: the requests of the slot that made the fewest,
// and of that which made the most.
static inline void report(const char *peer, uint32_t *latencies, long requests, double wall, double processor,
                          uint64_t bytes, long errors, long least, long most) {
    qsort(latencies, (size_t)requests, sizeof *latencies, compare_latencies);
    printf("{\"peer\":\"%s\",\"requests\":%ld,\"seconds\":%.6f,\"processorSeconds\":%.6f,\"bytes\":%llu,\"errors\":%ld,"
           "\"leastCalls\":%ld,\"mostCalls\":%ld,\"p50\":%u,\"p99\":%u,\"peakKilobytes\":%ld}\n",
           peer, requests, wall, processor, (unsigned long long)bytes, errors, least, most,
           latencies[requests / 2], latencies[requests * 99 / 100], peak_kilobytes());
}
