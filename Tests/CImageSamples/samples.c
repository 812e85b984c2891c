#ifdef __linux__
#include "CImageSamples.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <webp/encode.h>

struct buffer {
    uint8_t *bytes;
    size_t count;
};

static void append(png_structp png, png_bytep bytes, size_t count) {
    struct buffer *buffer = png_get_io_ptr(png);
    buffer->bytes = realloc(buffer->bytes, buffer->count + count);
    memcpy(buffer->bytes + buffer->count, bytes, count);
    buffer->count += count;
}

static void flush(png_structp png) { (void)png; }

// libpng's own handler ends the process on an error: a test that cannot make its samples has nothing to test.
uint8_t *lade_sample_png(const uint8_t *pixels, int width, int height, enum lade_sample_png kind, int interlaced,
                         size_t *count) {
    static const int types[] = {PNG_COLOR_TYPE_RGBA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_PALETTE,
                                PNG_COLOR_TYPE_RGBA};
    static const int sizes[] = {4, 3, 1, 1, 8};
    struct buffer buffer = {NULL, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &buffer, append, flush);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, kind == LADE_PNG_RGBA16 ? 16 : 8, types[kind],
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (kind == LADE_PNG_PALETTE) {
        png_color colors[256];
        for (int index = 0; index < 256; index++)
            colors[index] = (png_color){(png_byte)index, (png_byte)index, (png_byte)index};
        png_set_PLTE(png, info, colors, 256);
    }
    png_write_info(png, info);
    uint8_t *row = malloc((size_t)width * 8);
    int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++) {
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                const uint8_t *from = pixels + ((size_t)y * (size_t)width + (size_t)x) * 4;
                uint8_t *to = row + (size_t)x * (size_t)sizes[kind];
                for (int channel = 0; channel < 4; channel++) {
                    if (kind == LADE_PNG_RGBA16) to[channel * 2] = to[channel * 2 + 1] = from[channel];
                    else if (channel < sizes[kind]) to[channel] = from[channel];
                }
            }
            png_write_row(png, row);
        }
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    free(row);
    *count = buffer.count;
    return buffer.bytes;
}

uint8_t *lade_sample_jpeg(const uint8_t *pixels, int width, int height, enum lade_sample_jpeg kind, int quality,
                          size_t *count) {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &bytes, &size);
    info.image_width = (JDIMENSION)width;
    info.image_height = (JDIMENSION)height;
    info.input_components = kind == LADE_JPEG_GRAY ? 1 : 4;
    info.in_color_space = kind == LADE_JPEG_GRAY ? JCS_GRAYSCALE : kind == LADE_JPEG_CMYK ? JCS_CMYK : JCS_EXT_RGBA;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    if (kind == LADE_JPEG_CMYK) info.write_Adobe_marker = TRUE;
    if (kind == LADE_JPEG_PROGRESSIVE) jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    uint8_t *row = malloc((size_t)width * 4);
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            const uint8_t *from = pixels + ((size_t)y * (size_t)width + (size_t)x) * 4;
            if (kind == LADE_JPEG_GRAY) {
                row[x] = from[0];
            } else {
                memcpy(row + x * 4, from, 4);
                if (kind == LADE_JPEG_CMYK) row[x * 4 + 3] = 255;
            }
        }
        JSAMPROW rows[] = {row};
        jpeg_write_scanlines(&info, rows, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    free(row);
    *count = size;
    return bytes;
}

uint8_t *lade_sample_webp(const uint8_t *pixels, int width, int height, int lossless, size_t *count) {
    uint8_t *bytes = NULL;
    *count = lossless ? WebPEncodeLosslessRGBA(pixels, width, height, width * 4, &bytes)
                      : WebPEncodeRGBA(pixels, width, height, width * 4, 95, &bytes);
    return bytes;
}
#endif
