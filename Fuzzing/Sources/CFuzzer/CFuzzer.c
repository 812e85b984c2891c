// A target needs a source file; libFuzzer itself comes with the compiler's `-sanitize=fuzzer`.
#include "CFuzzer.h"
