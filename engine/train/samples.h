/*
 * samples.h - what a model shows of itself at an evaluation, as `sample` events (fields: CONTRIBUTING.md).
 *
 * Of a classifier the first test samples it gets right and the first it takes for something else, images or texts, with
 * the probability of what it says; the feature maps of its first convolution and the gates of its first LSTM for the
 * first test sample; of a model that continues texts, what it writes. Only rank 0 has a struct samples. No event
 * is longer than 16 KiB: large images are shown smaller, many channels, units or steps in part.
 */
#ifndef RINGSIDE_TRAIN_SAMPLES_H
#define RINGSIDE_TRAIN_SAMPLES_H

#include "engine/base/sink.h"
#include "engine/data/dataset.h"
#include "engine/nn/network.h"

struct samples {
    struct event_sink *sink;
    long step; /* done so far */
    uint64_t seed;
    int right, wrong; /* shown */
    bool inside;      /* feature maps and gates have been shown */
};

/* Of a batch of the test set that `n` has just been evaluated on: which samples, their classes, what it says. */
bool samples_of_batch(struct samples *s, struct network *n, const struct dataset *d, const uint32_t *which,
                      const int32_t *classes, const int32_t *predicted, int count, struct error *e);

/*
 * Texts that the model writes after the first test sample, its last tokens the first of them: each next token is drawn
 * from the softmax of its logits divided by the temperature (0.5 and 1), from the job's seed and the step. Nothing
 * where it is no model of that kind. samples_text.c.
 */
bool samples_written(const struct samples *s, const struct network *n, const struct dataset *d,
                     struct error *e);

/* A byte image, channels × rows × cols: made smaller (means of squares of pixels) where it is large. */
bool samples_image(struct event_sink *sink, json_t *event, const uint8_t *pixels, int channels, int rows,
                   int cols, struct error *e);

/* An event with what all samples have. */
json_t *samples_event(struct event_sink *sink, const char *kind, long step, long row);

/* The tokens as text: words with blanks between them, or characters. size: of text. */
void samples_tokens(const struct dataset *d, const int32_t *tokens, int count, char *text, size_t size);
bool samples_by_character(const struct dataset *d);

#endif
