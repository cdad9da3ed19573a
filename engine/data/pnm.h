/*
 * pnm.h - raw pictures: PGM (P5, grey) and PPM (P6, red, green and blue), of the Netpbm formats.
 *
 * A text header (magic, width, height, the largest value, with # comments), then the pixels. Values are
 * scaled so that the largest is 255; 16-bit files and files of several pictures are refused. Errors are
 * ERROR_INPUT and name the file.
 */
#ifndef RINGSIDE_DATA_PNM_H
#define RINGSIDE_DATA_PNM_H

#include "engine/base/error.h"

#include <stdint.h>

enum { PNM_MAX_EXTENT = 16384 };

struct pnm {
    int channels, height, width;
    uint8_t *pixels; /* C × H × W, owned */
};

bool pnm_read(const char *path, struct pnm *p, struct error *e);
void pnm_free(struct pnm *p);

#endif
