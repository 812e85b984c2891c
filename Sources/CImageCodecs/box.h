// Makes an image smaller, row by row, by averaging the area that each new pixel covers.
#pragma once
#include <stdint.h>

// Both sizes are at least 1, the new one nowhere larger, and the old one has at most 2^31 pixels, so that sums of
// 255 × 255 × pixels fit into 64 bits.
struct box {
    uint32_t width, height, outWidth, outHeight;
    uint8_t *out;
    uint64_t *line; // the row at hand, narrowed
    uint64_t *sums; // the new row at hand
    uint64_t room;  // how much of the new row's height is open yet, in units of 1 / (height × outHeight)
};

// 0 when there is no memory. box_end frees what was taken, also after a failure.
int box_begin(struct box *box, uint32_t width, uint32_t height, uint32_t outWidth, uint32_t outHeight, uint8_t *out);
void box_add(struct box *box, const uint8_t *row);
void box_end(struct box *box);
