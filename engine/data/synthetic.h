/*
 * synthetic.h - samples made up on the spot, of any shape, that can be learned:
 * "synthetic:SHAPE:CLASSES:ROWS".
 *
 *     synthetic:3x224x224:1000:512      images; also 1x28x28, or 784 (flat)
 *     synthetic:100@10000:2:4096        100 tokens below 10 000
 *     synthetic:64@65:next:4096         64 tokens below 65, the class of each being the next one
 *
 * Images: row r has class r mod CLASSES. A pixel is a mean that depends on its class, its channel and which
 * sixteenth of the image (4 × 4) it lies in, drawn once from [-1, 1), plus noise of each row and pixel,
 * uniform with deviation 1. Tokens: in each place, with probability 1/4, a token of the class's own (token
 * mod CLASSES is the class), else any. next: with probability 3/4 the token after t is (5t + 1) mod the
 * vocabulary, else any; so the best loss is known. The test set has max(1, ROWS / 5) rows with other noise.
 * All follows from the row's number alone: nothing is stored.
 */
#ifndef RINGSIDE_DATA_SYNTHETIC_H
#define RINGSIDE_DATA_SYNTHETIC_H

#include "engine/data/dataset.h"

bool synthetic_known(const char *name); /* begins with "synthetic:" */
bool synthetic_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e);

#endif
