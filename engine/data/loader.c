#include "engine/data/loader.h"

#include "engine/base/timing.h"
#include "engine/data/source.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { READY = 2 }; /* batches made ahead */

struct loader {
    struct loader_spec spec;
    size_t sample_bytes;
    int parts; /* calls a step */
    /* Of whoever makes them: */
    long step; /* whose parts are made */
    int made;  /* of it so far */

    /* Only where a thread makes them. */
    bool started;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long filled, taken; /* counted from the first part; 0 <= filled - taken <= READY */
    bool stop, failed;
    struct error error; /* of the part that failed */
    uint8_t *inputs[READY];
    int32_t *classes[READY];
};

static bool make_part(struct loader *l, void *inputs, int32_t *classes, struct error *e)
{
    const struct loader_spec *s = &l->spec;
    const uint32_t *rows = order_rows(s->order, l->step, s->rank);
    while (!rows) /* steps in which this rank has none: every epoch has others */
        rows = order_rows(s->order, ++l->step, s->rank);
    rows += l->made * s->part;
    if (++l->made == l->parts)
        l->made = 0, l->step++;
    return dataset_batch(s->data, rows, s->part, inputs, classes, e);
}

static void *make_ahead(void *self)
{
    struct loader *l = self;
    pthread_mutex_lock(&l->lock);
    while (!l->failed) {
        while (l->filled - l->taken == READY && !l->stop)
            pthread_cond_wait(&l->changed, &l->lock);
        if (l->stop)
            break;
        int slot = (int)(l->filled % READY);
        pthread_mutex_unlock(&l->lock);
        bool ok = make_part(l, l->inputs[slot], l->classes[slot], &l->error);
        pthread_mutex_lock(&l->lock);
        l->filled += ok;
        l->failed = !ok;
        pthread_cond_signal(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* The thread takes no signals: they are for the rank's own. */
static bool start_thread(struct loader *l, struct error *e)
{
    size_t part = (size_t)l->spec.part;
    for (int i = 0; i < READY; i++) {
        l->inputs[i] = malloc(part * l->sample_bytes);
        l->classes[i] = malloc(part * (size_t)l->spec.data->targets * sizeof(int32_t));
        if (!l->inputs[i] || !l->classes[i])
            return error_set(e, ERROR_FAILED, "not enough memory to load %d batches of %zu bytes ahead",
                             READY, part * l->sample_bytes);
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    l->started = pthread_create(&l->thread, NULL, make_ahead, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return l->started || error_set(e, ERROR_FAILED, "no thread can be started to load the data");
}

struct loader *loader_new(const struct loader_spec *spec, struct error *e)
{
    if (spec->part < 1 || spec->order->batch % spec->part != 0) {
        error_set(e, ERROR_INPUT, "a batch of %d samples cannot be taken %d at a time: it must be a multiple",
                  spec->order->batch, spec->part);
        return NULL;
    }
    struct loader *l = calloc(1, sizeof *l);
    if (!l) {
        error_set(e, ERROR_FAILED, "not enough memory to load data");
        return NULL;
    }
    l->spec = *spec;
    l->step = spec->first_step;
    l->sample_bytes = dataset_sample_bytes(spec->data);
    l->parts = spec->order->batch / spec->part;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    if (spec->ahead && !start_thread(l, e)) {
        loader_free(l);
        return NULL;
    }
    return l;
}

void loader_free(struct loader *l)
{
    if (!l)
        return;
    if (l->started) {
        pthread_mutex_lock(&l->lock);
        l->stop = true;
        pthread_cond_signal(&l->changed);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
    }
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    for (int i = 0; i < READY; i++) {
        free(l->inputs[i]);
        free(l->classes[i]);
    }
    free(l);
}

/* Waits for the thread's next part and copies it. */
static bool take(struct loader *l, void *inputs, int32_t *classes, struct error *e)
{
    pthread_mutex_lock(&l->lock);
    while (l->filled == l->taken && !l->failed)
        pthread_cond_wait(&l->changed, &l->lock);
    bool ready = l->filled != l->taken;
    pthread_mutex_unlock(&l->lock);
    if (!ready)
        return error_set(e, l->error.kind, "%s", l->error.text);
    int slot = (int)(l->taken % READY);
    size_t part = (size_t)l->spec.part;
    memcpy(inputs, l->inputs[slot], part * l->sample_bytes);
    memcpy(classes, l->classes[slot], part * (size_t)l->spec.data->targets * sizeof *classes);
    pthread_mutex_lock(&l->lock);
    l->taken++;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
    return true;
}

bool loader_next(struct loader *l, void *inputs, int32_t *classes, double *data_s, struct error *e)
{
    double began = timing_now();
    bool ok = l->started ? take(l, inputs, classes, e) : make_part(l, inputs, classes, e);
    *data_s += timing_now() - began;
    return ok;
}

bool loader_ahead_pays(const struct dataset *d)
{
    return d->source->mapped;
}
