// On Apple platforms ImageIO decodes, and this file is empty.
#ifdef __linux__
#include "CImageCodecs.h"
#include "box.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Memory for one chunk that is no picture data; profiles and texts are not read at all.
#define CHUNK_BYTES (8u << 20)

struct png_work {
    jmp_buf jump;
    struct lade_image_job *job;
    size_t offset;
    int status;
    png_structp png;
    png_infop info;
    uint8_t *buffer;
    struct box box;
};

static void fail(png_structp png, png_const_charp message) {
    struct png_work *work = png_get_error_ptr(png);
    if (work->status == LADE_IMAGE_DECODED)
        work->status = strstr(message, "emory") ? LADE_IMAGE_NO_MEMORY : LADE_IMAGE_CORRUPT;
    snprintf(work->job->message, sizeof work->job->message, "%s", message);
    longjmp(work->jump, 1);
}

static void ignore(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void supply(png_structp png, png_bytep target, size_t count) {
    struct png_work *work = png_get_io_ptr(png);
    if (work->job->count - work->offset < count) {
        work->status = LADE_IMAGE_TRUNCATED;
        png_error(png, "the data ends early");
    }
    memcpy(target, work->job->bytes + work->offset, count);
    work->offset += count;
}

static void out_of_memory(struct png_work *work) {
    work->status = LADE_IMAGE_NO_MEMORY;
    longjmp(work->jump, 1);
}

static void read_rows(struct png_work *work, int passes) {
    struct lade_image_job *job = work->job;
    size_t stride = (size_t)job->width * 4;
    if (job->width == job->outWidth && job->height == job->outHeight) {
        for (int pass = 0; pass < passes; pass++)
            for (uint32_t y = 0; y < job->height; y++) png_read_row(work->png, job->pixels + y * stride, NULL);
        return;
    }
    if (!box_begin(&work->box, job->width, job->height, job->outWidth, job->outHeight, job->pixels)) out_of_memory(work);
    // The rows of an interlaced image are complete only after the last pass.
    work->buffer = calloc(passes > 1 ? job->height : 1, stride);
    if (!work->buffer) out_of_memory(work);
    for (int pass = 0; pass < passes - 1; pass++)
        for (uint32_t y = 0; y < job->height; y++) png_read_row(work->png, work->buffer + y * stride, NULL);
    for (uint32_t y = 0; y < job->height; y++) {
        uint8_t *row = work->buffer + (passes > 1 ? y * stride : 0);
        png_read_row(work->png, row, NULL);
        box_add(&work->box, row);
    }
}

static void run(struct png_work *work) {
    struct lade_image_job *job = work->job;
    work->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, work, fail, ignore);
    if (!work->png) out_of_memory(work);
    work->info = png_create_info_struct(work->png);
    if (!work->info) out_of_memory(work);
    // The size was checked by its pixels; libpng's own limit is a million for each side.
    png_set_user_limits(work->png, 0x7fffffff, 0x7fffffff);
    png_set_chunk_malloc_max(work->png, CHUNK_BYTES);
    static const png_byte skipped[] = "iCCP\0tEXt\0zTXt\0iTXt\0sPLT\0eXIf";
    png_set_keep_unknown_chunks(work->png, PNG_HANDLE_CHUNK_NEVER, skipped, 6);
    png_set_read_fn(work->png, work, supply);
    png_read_info(work->png, work->info);
    if (png_get_image_width(work->png, work->info) != job->width ||
        png_get_image_height(work->png, work->info) != job->height)
        png_error(work->png, "its size differs in two places");
    png_set_expand(work->png);
    png_set_scale_16(work->png);
    png_set_gray_to_rgb(work->png);
    png_set_add_alpha(work->png, 0xff, PNG_FILLER_AFTER);
    int passes = png_set_interlace_handling(work->png);
    png_read_update_info(work->png, work->info);
    if (png_get_rowbytes(work->png, work->info) != (size_t)job->width * 4)
        png_error(work->png, "its rows cannot be made RGBA");
    read_rows(work, passes);
}

int lade_decode_png(struct lade_image_job *job) {
    struct png_work *work = calloc(1, sizeof *work);
    if (!work) return LADE_IMAGE_NO_MEMORY;
    work->job = job;
    if (setjmp(work->jump) == 0) run(work);
    int status = work->status;
    if (work->png) png_destroy_read_struct(&work->png, &work->info, NULL);
    box_end(&work->box);
    free(work->buffer);
    free(work);
    return status;
}
#endif
