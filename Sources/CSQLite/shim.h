#pragma once
#include <sqlite3.h>

// The macro behind the last argument has no form in Swift: SQLite copies the bytes.
static inline int lade_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return count ? sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT)
                 : sqlite3_bind_zeroblob(statement, index, 0);
}

static inline int lade_bind_text(sqlite3_stmt *statement, int index, const char *bytes, int count) {
    return sqlite3_bind_text(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

#ifdef __linux__
#include <sys/vfs.h>

// The module of the C library lacks this header: the number of the file system of a path, or 0.
static inline unsigned lade_file_system(const char *path) {
    struct statfs system;
    return statfs(path, &system) == 0 ? (unsigned)system.f_type : 0;
}
#endif

#include <fcntl.h>
#if defined(__linux__) && !defined(F_OFD_SETLK)
// The C library declares it for its own extensions only.
#define F_OFD_SETLK 37
#endif

// Locks or unlocks one byte of a file for the open file, and not for the process as other locks do; 0 when that is done.
static inline int lade_lock_byte(int descriptor, long long byte, int locks) {
#ifdef F_OFD_SETLK
    struct flock lock = {0};
    lock.l_type = locks ? F_WRLCK : F_UNLCK;
    lock.l_whence = 0;
    lock.l_start = byte;
    lock.l_len = 1;
    return fcntl(descriptor, F_OFD_SETLK, &lock);
#else
    return 0;
#endif
}

#include <errno.h>
#include <pthread.h>
#include <time.h>

// Makes a condition for lade_wait.
static inline int lade_make_condition(pthread_cond_t *condition) {
#ifdef __APPLE__
    return pthread_cond_init(condition, 0);
#else
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int result = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return result;
#endif
}

// The reading of the monotonic clock so many milliseconds from now.
static inline struct timespec lade_deadline(int milliseconds) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_nsec += (long)milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

// Waits until the condition is signalled, which returns 0, or the deadline; the clock of the calendar does not matter.
static inline int lade_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, struct timespec deadline) {
#ifdef __APPLE__
    struct timespec now = lade_deadline(0), left;
    left.tv_sec = deadline.tv_sec - now.tv_sec;
    left.tv_nsec = deadline.tv_nsec - now.tv_nsec;
    if (left.tv_nsec < 0) { left.tv_sec -= 1; left.tv_nsec += 1000000000; }
    if (left.tv_sec < 0) return ETIMEDOUT;
    return pthread_cond_timedwait_relative_np(condition, mutex, &left);
#else
    return pthread_cond_timedwait(condition, mutex, &deadline);
#endif
}
