/*
 * bench_peer.h - PyTorch as a process of its own that takes its turns: exercises/models/torch_twin.py.
 */
#ifndef RINGSIDE_TRAIN_BENCH_PEER_H
#define RINGSIDE_TRAIN_BENCH_PEER_H

#include "engine/base/error.h"

#include <jansson.h>

struct bench_peer;

/* NULL and ERROR_MISSING where no Python with PyTorch is found: the sentence says what was looked for. */
struct bench_peer *bench_peer_open(const json_t *description, int threads, int batch, struct error *e);
void bench_peer_close(struct bench_peer *p);

/* Its training steps for so long. */
bool bench_peer_run(struct bench_peer *p, double seconds, long *samples, double *taken, struct error *e);

/* "PyTorch 1.13.1" */
const char *bench_peer_name(const struct bench_peer *p);
/* Whether its matrix products are the reference BLAS's: not a fair peer. */
bool bench_peer_is_slow(const struct bench_peer *p);

#endif
