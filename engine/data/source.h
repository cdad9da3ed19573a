/*
 * source.h - what lies behind a dataset (inside engine/data only): a table of functions, and the store that
 * several sources share, whole images of bytes.
 */
#ifndef RINGSIDE_DATA_SOURCE_H
#define RINGSIDE_DATA_SOURCE_H

#include "engine/data/dataset.h"

struct dataset_source {
    bool (*batch)(const struct dataset *d, const uint32_t *which, int n, void *inputs, int32_t *classes,
                  struct error *e);
    void (*classes)(const struct dataset *d, uint32_t row, int32_t *classes);
    bool (*pixels)(const struct dataset *d, uint32_t row, uint8_t *pixels,
                   struct error *e);                              /* NULL: tokens */
    const char *(*token)(const struct dataset *d, int32_t token); /* NULL: no text */
    void (*close)(struct dataset *d);
    bool mapped; /* a batch may wait for a disk */
};

/* --- bytes in memory: C × H × W a sample, plane after plane, and a value for each byte of each channel --- */

enum { BYTES_MAX_CHANNELS = 4 };

struct byte_images {
    uint8_t *pixels;                      /* rows × C × H × W, owned */
    int32_t *labels;                      /* rows, owned */
    float value[BYTES_MAX_CHANNELS][256]; /* of a pixel, normalised */
};

extern const struct dataset_source byte_images_source;

/* Makes d->self; pixels and labels are put in by the caller. */
struct byte_images *byte_images_new(struct dataset *d, struct error *e);
/* (p/255 - mean) / deviation, of each channel. */
void byte_values(float value[][256], int channels, const double *mean, const double *deviation);
/* Mean and standard deviation of pixels (0 to 1) of which so many have each value; 0 where there are none. */
void byte_moments(const uint64_t histogram[256], double *mean, double *deviation);
/* Puts one image of bytes into out as floats. */
void byte_image_values(const uint8_t *pixels, struct model_shape shape, const float value[][256], float *out);

#endif
