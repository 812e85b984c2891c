// Whole decodes of PNG, JPEG and WebP, from bytes to RGBA rows, each one call.
//
// libpng and libjpeg report errors by longjmp, which must never cross a Swift frame: setjmp and longjmp both stay within
// these functions, and what they return is a code.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum lade_image_status {
    LADE_IMAGE_DECODED = 0,
    LADE_IMAGE_TRUNCATED,
    LADE_IMAGE_CORRUPT,
    LADE_IMAGE_UNSUPPORTED,
    LADE_IMAGE_NO_MEMORY,
};

struct lade_image_job {
    const uint8_t *bytes;
    size_t count;
    // The size in the header. A codec that finds another one takes the image for corrupt, so that no pixel is
    // decoded that was not counted against a limit.
    uint32_t width, height;
    // The size to be made; neither side is larger than the one above, none is 0.
    uint32_t outWidth, outHeight;
    // Room for outHeight rows of outWidth pixels: red, green, blue and straight alpha, a byte each.
    uint8_t *pixels;
    // What the codec had to say about a failure; ends with 0.
    char message[128];
};

int lade_decode_png(struct lade_image_job *job);
int lade_decode_jpeg(struct lade_image_job *job);
int lade_decode_webp(struct lade_image_job *job);
