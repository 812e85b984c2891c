#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer with its command line; returns after the last input.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
