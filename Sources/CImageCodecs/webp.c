// On Apple platforms ImageIO decodes, and this file is empty.
#ifdef __linux__
#include "CImageCodecs.h"

#include <stdio.h>
#include <webp/decode.h>

static int stop(struct lade_image_job *job, int status, const char *message) {
    snprintf(job->message, sizeof job->message, "%s", message);
    return status;
}

static int meaning(struct lade_image_job *job, VP8StatusCode code) {
    switch (code) {
    case VP8_STATUS_OK: return LADE_IMAGE_DECODED;
    case VP8_STATUS_OUT_OF_MEMORY: return LADE_IMAGE_NO_MEMORY;
    case VP8_STATUS_UNSUPPORTED_FEATURE: return stop(job, LADE_IMAGE_UNSUPPORTED, "it uses a feature libwebp lacks");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: return stop(job, LADE_IMAGE_TRUNCATED, "the data ends early");
    default: return stop(job, LADE_IMAGE_CORRUPT, "its bit stream is broken");
    }
}

int lade_decode_webp(struct lade_image_job *job) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return stop(job, LADE_IMAGE_UNSUPPORTED, "libwebp is of another version");
    VP8StatusCode code = WebPGetFeatures(job->bytes, job->count, &config.input);
    if (code != VP8_STATUS_OK) return meaning(job, code);
    if (config.input.has_animation) return stop(job, LADE_IMAGE_UNSUPPORTED, "it is an animation");
    if ((uint32_t)config.input.width != job->width || (uint32_t)config.input.height != job->height)
        return stop(job, LADE_IMAGE_CORRUPT, "its size differs in two places");
    if (job->outWidth != job->width || job->outHeight != job->height) {
        config.options.use_scaling = 1;
        config.options.scaled_width = (int)job->outWidth;
        config.options.scaled_height = (int)job->outHeight;
    }
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = job->pixels;
    config.output.u.RGBA.stride = (int)job->outWidth * 4;
    config.output.u.RGBA.size = (size_t)job->outWidth * job->outHeight * 4;
    code = WebPDecode(job->bytes, job->count, &config);
    WebPFreeDecBuffer(&config.output);
    return meaning(job, code);
}
#endif
