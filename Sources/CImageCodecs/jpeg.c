// On Apple platforms ImageIO decodes, and this file is empty.
#ifdef __linux__
#include "CImageCodecs.h"
#include "box.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In this order: what jpeglib.h brings decides which codes jerror.h has, and so their numbers.
#include <jpeglib.h>

#include <jerror.h>

// A progressive image has about ten scans; each walks all blocks, so that a few bytes of scan cost as much as a whole one.
#define MOST_SCANS 100

struct jpeg_work {
    jmp_buf jump;
    struct lade_image_job *job;
    int status;
    int hasEnded;
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_source_mgr source;
    uint8_t *row;
    struct box box;
};

static const JOCTET end_marker[] = {0xff, JPEG_EOI};

static void stop(struct jpeg_work *work, int status, const char *message) {
    work->status = status;
    snprintf(work->job->message, sizeof work->job->message, "%s", message);
    longjmp(work->jump, 1);
}

static int meaning(const struct jpeg_work *work, int code) {
    switch (code) {
    case JERR_OUT_OF_MEMORY: return LADE_IMAGE_NO_MEMORY;
    case JERR_INPUT_EMPTY:
    case JERR_INPUT_EOF: return LADE_IMAGE_TRUNCATED;
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
    case JERR_IMAGE_TOO_BIG:
    case JERR_ARITH_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL: return LADE_IMAGE_UNSUPPORTED;
    default: return work->hasEnded ? LADE_IMAGE_TRUNCATED : LADE_IMAGE_CORRUPT;
    }
}

static void fail(j_common_ptr info) {
    struct jpeg_work *work = info->client_data;
    char message[JMSG_LENGTH_MAX];
    info->err->format_message(info, message);
    stop(work, meaning(work, info->err->msg_code), message);
}

// libjpeg makes up pixels where the data is broken and warns; a picture that is half made up is none.
static void emit(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_MUST_RESYNC: fail(info);
    }
}

static void ignore(j_common_ptr info) { (void)info; }

static void count_scans(j_common_ptr info) {
    if (((j_decompress_ptr)info)->input_scan_number > MOST_SCANS)
        stop(info->client_data, LADE_IMAGE_CORRUPT, "it has too many scans");
}

static void begin_source(j_decompress_ptr info) { (void)info; }

// Some writers leave the end marker out. One is made up; if pixels were missing as well, a warning follows.
static boolean supply(j_decompress_ptr info) {
    struct jpeg_work *work = info->client_data;
    work->hasEnded = 1;
    info->src->next_input_byte = end_marker;
    info->src->bytes_in_buffer = sizeof end_marker;
    return TRUE;
}

static void skip(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    if ((size_t)count > info->src->bytes_in_buffer) {
        supply(info);
        return;
    }
    info->src->next_input_byte += count;
    info->src->bytes_in_buffer -= (size_t)count;
}

// Adobe's programs, which write nearly all of these, store the complement. Without a profile this is as near as it gets.
static void convert(const struct jpeg_work *work, uint8_t *row) {
    if (work->info.out_color_space != JCS_CMYK) return;
    for (uint32_t x = 0; x < work->info.output_width; x++, row += 4) {
        unsigned key = work->info.saw_Adobe_marker ? row[3] : 255u - row[3];
        for (int channel = 0; channel < 3; channel++) {
            unsigned ink = work->info.saw_Adobe_marker ? row[channel] : 255u - row[channel];
            row[channel] = (uint8_t)((ink * key + 127) / 255);
        }
        row[3] = 255;
    }
}

static void choose_scale(struct jpeg_work *work) {
    j_decompress_ptr info = &work->info;
    info->scale_denom = 8;
    for (info->scale_num = 1; info->scale_num < 8; info->scale_num++) {
        jpeg_calc_output_dimensions(info);
        if (info->output_width >= work->job->outWidth && info->output_height >= work->job->outHeight) return;
    }
}

static void read_rows(struct jpeg_work *work) {
    j_decompress_ptr info = &work->info;
    struct lade_image_job *job = work->job;
    uint32_t width = info->output_width, height = info->output_height;
    int isFinal = width == job->outWidth && height == job->outHeight;
    if (!isFinal) {
        work->row = malloc((size_t)width * 4);
        if (!work->row || !box_begin(&work->box, width, height, job->outWidth, job->outHeight, job->pixels))
            stop(work, LADE_IMAGE_NO_MEMORY, "");
    }
    while (info->output_scanline < height) {
        JSAMPROW row = isFinal ? job->pixels + (size_t)info->output_scanline * width * 4 : work->row;
        if (jpeg_read_scanlines(info, &row, 1) != 1) stop(work, LADE_IMAGE_TRUNCATED, "the data ends early");
        convert(work, row);
        if (!isFinal) box_add(&work->box, row);
    }
}

// A progressive image that is truncated between two scans is a coarse picture, and libjpeg reports no error.
static void check_scans(struct jpeg_work *work) {
    j_decompress_ptr info = &work->info;
    if (!work->hasEnded || !info->progressive_mode || !info->coef_bits) return;
    for (int component = 0; component < info->num_components; component++)
        for (int coefficient = 0; coefficient < DCTSIZE2; coefficient++)
            if (info->coef_bits[component][coefficient] != 0)
                stop(work, LADE_IMAGE_TRUNCATED, "the data ends early");
}

static void run(struct jpeg_work *work) {
    j_decompress_ptr info = &work->info;
    info->err = jpeg_std_error(&work->errors);
    work->errors.error_exit = fail;
    work->errors.emit_message = emit;
    work->errors.output_message = ignore;
    info->client_data = work;
    jpeg_create_decompress(info);
    work->progress.progress_monitor = count_scans;
    info->progress = &work->progress;
    work->source = (struct jpeg_source_mgr){
        .next_input_byte = work->job->bytes,
        .bytes_in_buffer = work->job->count,
        .init_source = begin_source,
        .fill_input_buffer = supply,
        .skip_input_data = skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = begin_source,
    };
    info->src = &work->source;
    jpeg_read_header(info, TRUE);
    if (info->image_width != work->job->width || info->image_height != work->job->height)
        stop(work, LADE_IMAGE_CORRUPT, "its size differs in two places");
    int hasInks = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = hasInks ? JCS_CMYK : JCS_EXT_RGBA;
    choose_scale(work);
    jpeg_start_decompress(info);
    check_scans(work);
    read_rows(work);
}

int lade_decode_jpeg(struct lade_image_job *job) {
    struct jpeg_work *work = calloc(1, sizeof *work);
    if (!work) return LADE_IMAGE_NO_MEMORY;
    work->job = job;
    if (setjmp(work->jump) == 0) run(work);
    int status = work->status;
    jpeg_destroy_decompress(&work->info);
    box_end(&work->box);
    free(work->row);
    free(work);
    return status;
}
#endif
