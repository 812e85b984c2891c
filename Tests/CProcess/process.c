#include "CProcess.h"

#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

int lade_in_child(int (*body)(void *context), void *context) {
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        // A lock that another thread held is never released in the child.
        alarm(20);
        _exit(body(context));
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

size_t lade_heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

int lade_event_descriptor(void) {
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}
