// Encoders for the tests of LadeImages, by the same libraries; Linux only.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum lade_sample_png { LADE_PNG_RGBA, LADE_PNG_RGB, LADE_PNG_GRAY, LADE_PNG_PALETTE, LADE_PNG_RGBA16 };
enum lade_sample_jpeg { LADE_JPEG_RGB, LADE_JPEG_GRAY, LADE_JPEG_CMYK, LADE_JPEG_PROGRESSIVE };

// Each takes RGBA rows and gives bytes to be freed, or NULL. Grey is the red channel; the palette has a grey for each red;
// inks are the complement of the colours without black, as Adobe writes them.
uint8_t *lade_sample_png(const uint8_t *pixels, int width, int height, enum lade_sample_png kind, int interlaced,
                         size_t *count);
uint8_t *lade_sample_jpeg(const uint8_t *pixels, int width, int height, enum lade_sample_jpeg kind, int quality,
                          size_t *count);
uint8_t *lade_sample_webp(const uint8_t *pixels, int width, int height, int lossless, size_t *count);
