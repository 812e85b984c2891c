#ifndef C_PROCESS_H
#define C_PROCESS_H

#include <stddef.h>

// Runs a function in a forked child, which ends with its result: that result, or -1.
int lade_in_child(int (*body)(void *context), void *context);

// The number of bytes that the process has from its allocator.
size_t lade_heap_bytes(void);

// A descriptor that counts events and never blocks, as the loop is woken by.
int lade_event_descriptor(void);

#endif
