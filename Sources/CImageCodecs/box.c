#include "box.h"

#include <stdlib.h>
#include <string.h>

int box_begin(struct box *box, uint32_t width, uint32_t height, uint32_t outWidth, uint32_t outHeight, uint8_t *out) {
    box->width = width;
    box->height = height;
    box->outWidth = outWidth;
    box->outHeight = outHeight;
    box->out = out;
    box->room = height;
    box->line = calloc((size_t)outWidth * 4, sizeof(uint64_t));
    box->sums = calloc((size_t)outWidth * 4, sizeof(uint64_t));
    return box->line && box->sums;
}

void box_end(struct box *box) {
    free(box->line);
    free(box->sums);
    box->line = box->sums = NULL;
}

// An old pixel is outWidth units wide, a new one width units, so all weights are whole numbers. Colours count by their
// alpha: what cannot be seen must not bleed into what can.
static void narrow(struct box *box, const uint8_t *row) {
    uint64_t *sum = box->line, room = box->width;
    memset(sum, 0, (size_t)box->outWidth * 4 * sizeof(uint64_t));
    for (uint32_t x = 0; x < box->width; x++, row += 4) {
        uint64_t alpha = row[3], rest = box->outWidth;
        while (rest > 0) {
            uint64_t part = rest < room ? rest : room, weight = part * alpha;
            sum[0] += weight * row[0];
            sum[1] += weight * row[1];
            sum[2] += weight * row[2];
            sum[3] += weight;
            rest -= part;
            room -= part;
            if (room == 0) {
                sum += 4;
                room = box->width;
            }
        }
    }
}

static void emit(struct box *box) {
    uint64_t area = (uint64_t)box->width * box->height;
    const uint64_t *sum = box->sums;
    for (uint32_t x = 0; x < box->outWidth; x++, sum += 4, box->out += 4) {
        uint64_t visible = sum[3];
        for (int channel = 0; channel < 3; channel++)
            box->out[channel] = visible ? (uint8_t)((sum[channel] + visible / 2) / visible) : 0;
        box->out[3] = (uint8_t)((visible + area / 2) / area);
    }
    memset(box->sums, 0, (size_t)box->outWidth * 4 * sizeof(uint64_t));
}

void box_add(struct box *box, const uint8_t *row) {
    narrow(box, row);
    uint64_t rest = box->outHeight;
    while (rest > 0) {
        uint64_t part = rest < box->room ? rest : box->room;
        for (size_t index = 0; index < (size_t)box->outWidth * 4; index++) box->sums[index] += part * box->line[index];
        rest -= part;
        box->room -= part;
        if (box->room == 0) {
            emit(box);
            box->room = box->height;
        }
    }
}
