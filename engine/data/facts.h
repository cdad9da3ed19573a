/*
 * facts.h - what is worth knowing of a dataset before one trains on it: `ringside data info`.
 *
 * The share of the largest class is what guessing it always would score: the bar a model must clear. Mean
 * and deviation of the pixels are computed, not taken from anywhere: over all training images, or, of more
 * than 200 MB of pixels, over evenly spread ones.
 */
#ifndef RINGSIDE_DATA_FACTS_H
#define RINGSIDE_DATA_FACTS_H

#include "engine/data/dataset.h"

enum { FACTS_MAX_CHANNELS = 4 };

struct dataset_facts {
    uint32_t rows[2];  /* of DATASET_TRAIN, DATASET_TEST */
    int largest;       /* the most frequent class in training */
    double share[2];   /* of its targets in either part */
    uint32_t measured; /* images whose pixels were looked at; 0: there are no pixels, or too many channels */
    double mean[FACTS_MAX_CHANNELS], deviation[FACTS_MAX_CHANNELS]; /* of each channel, pixels being 0 to 1 */
};

bool dataset_facts(const struct dataset *train, const struct dataset *test, struct dataset_facts *f,
                   struct error *e);

#endif
