#pragma once
#include <idn2.h>
#include <stdint.h>

// The functions take flags as enumerations and constants as macros, which Swift does not import.

/// The A-labels of a name in UTF-8 (UTS 46, not transitional); to be freed with `lade_idn2_free`. NULL for a name that has none.
static inline char *lade_idn2_to_ascii(const char *name) {
    uint8_t *ascii = 0;
    int code = idn2_lookup_u8((const uint8_t *)name, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    return code == IDN2_OK ? (char *)ascii : 0;
}

/// The U-labels of a name in A-labels, in UTF-8; to be freed with `lade_idn2_free`. NULL for a name that has none.
static inline char *lade_idn2_to_unicode(const char *name) {
    char *unicode = 0;
    return idn2_to_unicode_8z8z(name, &unicode, 0) == IDN2_OK ? unicode : 0;
}

static inline void lade_idn2_free(char *name) { idn2_free(name); }
