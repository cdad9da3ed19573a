/*
 * bench_step.h - whole training steps of a model on made-up samples, as a peer's are timed beside them: the next batch
 * out of memory in random order, forward, loss, backward, Adam.
 */
#ifndef RINGSIDE_TRAIN_BENCH_STEP_H
#define RINGSIDE_TRAIN_BENCH_STEP_H

#include "engine/nn/network.h"

#include <jansson.h>

struct bench_step;

/* description: the JSON of a model, copied. One step is taken to warm up. */
struct bench_step *bench_step_new(const json_t *description, int threads, int batch, struct error *e);
void bench_step_free(struct bench_step *s);

/* Takes steps for so long, one at least: samples of them, and how long they took. */
bool bench_step_run(struct bench_step *s, double seconds, long *samples, double *taken, struct error *e);

size_t bench_step_parameters(const struct bench_step *s);

/* Puts made-up samples of the model's input into `inputs`: floats of -1 to 1, or tokens of its vocabulary. */
void bench_made_up(const struct model_spec *model, size_t samples, void *inputs);

#endif
