/*
 * bench_train.c - the training step beside PyTorch's: a round is a moment of the one and then of the other, so that
 * what slows the machine for a while slows both; the ratio is the median of the rounds' own.
 */
#include "engine/base/event.h"
#include "engine/base/timing.h"
#include "engine/train/bench_internal.h"
#include "engine/train/bench_peer.h"
#include "engine/train/bench_step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 5 };

/* Of the job's seconds, for each number of threads. */
#define TRAIN_SHARE 0.16

struct figures {
    double ours[ROUNDS], theirs[ROUNDS], ratio[ROUNDS];
    int rounds;
};

static bool take_turns(struct bench *b, struct bench_step *step, struct bench_peer *peer, struct figures *f,
                       struct error *e)
{
    double slice = TRAIN_SHARE * b->job->seconds / ROUNDS / (peer ? 2 : 1);
    for (f->rounds = 0; f->rounds < ROUNDS && !bench_stopped(b); f->rounds++) {
        int i = f->rounds;
        long samples;
        double taken;
        if (!bench_step_run(step, slice, &samples, &taken, e))
            return false;
        f->ours[i] = (double)samples / taken;
        if (!peer)
            continue;
        if (!bench_peer_run(peer, slice, &samples, &taken, e))
            return false;
        f->theirs[i] = (double)samples / taken;
        f->ratio[i] = f->ours[i] / f->theirs[i];
    }
    return true;
}

static json_t *step_point(const struct bench *b, const char *series, int threads, double rate)
{
    char title[96];
    snprintf(title, sizeof title, "Training step of %s, batch %d", b->job->model, b->job->batch);
    json_t *point = bench_point(b, title, series, threads, rate, b->job->model);
    event_set_text(point, "xlabel", "threads");
    event_set_text(point, "ylabel", "samples/s");
    event_set_text(point, "model", b->job->model);
    event_set_integer(point, "batch", b->job->batch);
    return point;
}

static bool tell(struct bench *b, int threads, struct figures *f, const char *peer, struct error *e)
{
    if (f->rounds == 0)
        return true;
    json_t *point = step_point(b, "ringside", threads, timing_median(f->ours, f->rounds));
    event_set_integer(point, "rounds", f->rounds);
    event_set_number(point, "low", f->ours[0]); /* in order since their median was taken */
    event_set_number(point, "high", f->ours[f->rounds - 1]);
    double theirs = peer ? timing_median(f->theirs, f->rounds) : NAN;
    if (peer) {
        event_set_text(point, "peer", peer);
        event_set_number(point, "peer_samples_per_s", theirs);
        event_set_number(point, "ratio", timing_median(f->ratio, f->rounds));
        event_set_number(point, "ratio_low", f->ratio[0]);
        event_set_number(point, "ratio_high", f->ratio[f->rounds - 1]);
    }
    return sink_emit(b->sink, point, e) &&
           (!peer || sink_emit(b->sink, step_point(b, "PyTorch", threads, theirs), e));
}

/* *peer_found: whether to look for PyTorch; false afterwards where there is none. */
static bool measure(struct bench *b, int threads, bool *peer_found, struct error *e)
{
    struct bench_step *step = bench_step_new(b->job->layers, threads, b->job->batch, e);
    if (!step)
        return false;
    struct error missing = {0};
    struct bench_peer *peer =
        *peer_found ? bench_peer_open(b->job->layers, threads, b->job->batch, &missing) : NULL;
    bool ok = true;
    if (peer && threads == 1 && bench_peer_is_slow(peer))
        ok = sink_note(b->sink, "warn",
                       "PyTorch's matrix products are the reference BLAS's here, which is slow: the ratio "
                       "flatters us (Debian: apt install libopenblas0-openmp makes it a fair peer)",
                       e);
    if (*peer_found && !peer) {
        *peer_found = false;
        ok = sink_note(b->sink, "info", missing.text, e);
    }
    struct figures figures;
    ok = ok && take_turns(b, step, peer, &figures, e) &&
         tell(b, threads, &figures, peer ? bench_peer_name(peer) : NULL, e);
    bench_peer_close(peer);
    bench_step_free(step);
    return ok;
}

bool bench_train(struct bench *b, struct error *e)
{
    bool peer_found = true;
    return !b->job->layers || (measure(b, 1, &peer_found, e) && (b->threads == 1 || bench_stopped(b) ||
                                                                 measure(b, b->threads, &peer_found, e)));
}
