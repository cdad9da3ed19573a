/*
 * pack.h - turns a folder of class folders with raw pictures (pnm.h) into one file of shards (shards.h).
 *
 *     DIR/CLASS/NAME.ppm                     a tenth of each class is for testing: the first ones in the order
 *                                            of the FNV-1a hashes of their names
 *     DIR/train/CLASS/NAME.ppm, DIR/test/...    or DIR/val/...: split as the folders say
 *
 * Classes are numbered in the order of their names, pictures packed in that of theirs. All must have the
 * size and the channels of the first. Files that do not end with .pgm, .ppm or .pnm are passed over and
 * counted.
 */
#ifndef RINGSIDE_DATA_PACK_H
#define RINGSIDE_DATA_PACK_H

#include "engine/base/error.h"

struct pack_report {
    long pictures[2]; /* training, test */
    long passed_over;
    int classes;
};

/* out is complete or, where it fails, as it was before. Errors are ERROR_INPUT and name the file or folder. */
bool pack_folder(const char *dir, const char *out, struct pack_report *report, struct error *e);

#endif
