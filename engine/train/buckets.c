#include "engine/train/buckets.h"

#include <stdlib.h>

bool buckets_plan(struct buckets *b, const struct model_spec *model, size_t length, size_t bytes,
                  struct error *e)
{
    *b = (struct buckets){.list = calloc((size_t)model->layer_count + 1, sizeof *b->list)};
    if (!b->list)
        return error_set(e, ERROR_FAILED, "not enough memory for the buckets of %d layers",
                         model->layer_count);
    size_t end = length, limit = bytes < BUCKET_FIRST ? bytes : BUCKET_FIRST;
    for (int i = model->layer_count - 1; bytes > 0 && i > 0; i--) {
        const struct layer_spec *layer = &model->layers[i];
        if (layer->tensor_count == 0)
            continue;
        size_t begin = (layer->tensors[0].offset + BUCKET_LINE - 1) / BUCKET_LINE * BUCKET_LINE;
        if (begin == 0 || begin >= end || (end - begin) * sizeof(float) < limit)
            continue;
        b->list[b->count++] = (struct bucket){begin, end};
        end = begin;
        limit = bytes;
    }
    b->list[b->count++] = (struct bucket){0, end};
    return true;
}

void buckets_free(struct buckets *b)
{
    free(b->list);
    *b = (struct buckets){0};
}
