/*
 * labels.h - whether targets are classes that a model tells apart: every backend asks before it computes a loss.
 */
#ifndef RINGSIDE_NN_LABELS_H
#define RINGSIDE_NN_LABELS_H

#include "engine/nn/backend.h"

/* A label of another data set than the model's would be read, and written to, beyond the row. */
static inline bool labels_check(const struct targets *targets, long rows, size_t classes, struct error *e)
{
    for (long r = 0; r < rows; r++)
        if (targets->classes[r] < 0 || (size_t)targets->classes[r] >= classes)
            return error_set(
                e, ERROR_INPUT,
                "class %d is not among the %zu that the model tells apart; give its last layer as "
                "many units as the data have classes",
                (int)targets->classes[r], classes);
    return true;
}

#endif
