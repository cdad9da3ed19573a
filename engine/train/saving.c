/*
 * saving.c - what a training leaves on the disk, and goes on from: engine/train/checkpoint.h for this
 * trainer.
 */
#include "engine/train/trainer_internal.h"

#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/train/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

static bool add(struct checkpoint *c, const char *prefix, struct network *n, struct optimizer *o,
                struct error *e)
{
    if (!network_to_host(n, e) || (o && !optimizer_to_host(o, e)))
        return false;
    checkpoint_add(c, prefix, &n->model, n->host_parameters, n->host_state, o);
    return true;
}

bool trainer_add_networks(const struct trainer *tr, struct checkpoint *c, bool optimizers, struct error *e)
{
    const struct gan *g = tr->gan;
    return add(c, g ? "discriminator." : "", tr->network, optimizers ? tr->optimizer : NULL, e) &&
           (!g || add(c, "generator.", g->generator, optimizers ? g->optimizer : NULL, e));
}

bool trainer_install_networks(const struct trainer *tr, bool optimizers, struct error *e)
{
    const struct gan *g = tr->gan;
    return network_to_backend(tr->network, e) && (!g || network_to_backend(g->generator, e)) &&
           (!optimizers ||
            (optimizer_to_backend(tr->optimizer, e) && (!g || optimizer_to_backend(g->optimizer, e))));
}

static bool checkpoint_of(const struct trainer *tr, struct checkpoint *c, struct error *e)
{
    *c = (struct checkpoint){.optimizer = tr->t->optimizer,
                             .step = tr->step,
                             .epoch = trainer_epoch(tr),
                             .seed = tr->t->seed,
                             .global_batch = tr->global_batch,
                             .samples = tr->train.rows};
    return trainer_add_networks(tr, c, true, e);
}

static bool tell_saved(struct trainer *tr, double took, struct error *e)
{
    char file[64], path[PATH_MAX];
    struct stat st = {0};
    snprintf(file, sizeof file, "checkpoints/step-%ld.safetensors", tr->step);
    if (snprintf(path, sizeof path, "%s/%s", tr->rundir, file) < (int)sizeof path)
        stat(path, &st);
    json_t *event = sink_event(tr->sink, "checkpoint");
    event_set_integer(event, "step", tr->step);
    event_set_text(event, "file", file);
    event_set_integer(event, "bytes", (long long)st.st_size);
    event_set_number(event, "time_s", took);
    return sink_emit(tr->sink, event, e);
}

static bool tell_lost(struct trainer *tr, const char *why, struct error *e)
{
    json_t *event = sink_event(tr->sink, "note");
    event_set_text(event, "level", "warn");
    event_set_text(event, "text", why);
    event_set_integer(event, "lost_step", tr->step);
    return sink_emit(tr->sink, event, e);
}

bool trainer_save(struct trainer *tr, struct error *e)
{
    double before = sink_clock();
    if (!trainer_share_state(tr, e))
        return false;
    tr->saved_step = tr->step;
    activity_enter(tr->activity, ACTIVITY_SAVE, tr->step);
    if (comm_rank(tr->comm) == 0) {
        struct checkpoint c;
        struct error why = {0};
        bool told;
        if (!checkpoint_of(tr, &c, e))
            return false;
        if (checkpoint_write(tr->rundir, &c, tr->job, &why)) {
            told = tell_saved(tr, sink_clock() - before, e);
        } else { /* a full disk is no reason to lose the training as well */
            error_wrap(&why, "no checkpoint after step %ld, the training goes on without", tr->step);
            told = tell_lost(tr, why.text, e);
        }
        if (!told)
            return false;
    }
    trainer_leave_out(tr, sink_clock() - before);
    return true;
}

bool trainer_resume(struct trainer *tr, struct error *e)
{
    if (!*tr->t->resume)
        return true;
    struct checkpoint c;
    if (!checkpoint_of(tr, &c, e) ||
        !checkpoint_share(tr->comm, tr->t->resume, &c, tr->resume_note, sizeof tr->resume_note, e) ||
        !trainer_install_networks(tr, true, e))
        return false;
    if (c.seed != tr->t->seed && !*tr->resume_note)
        snprintf(tr->resume_note, sizeof tr->resume_note,
                 "the run went by seed %" PRIu64 " and goes on by %" PRIu64 ": another order of the samples",
                 c.seed, tr->t->seed);
    tr->step = tr->first_step = tr->optimizer->steps = c.step;
    if (tr->gan)
        tr->gan->optimizer->steps = c.step;
    if (tr->total_steps > 0 && tr->step >= tr->total_steps)
        return error_set(
            e, ERROR_INPUT,
            "the run %s has done %ld steps, and this one is to end after %ld: choose more --epochs or "
            "--steps, which count from the first run's beginning",
            rundir_id(tr->t->resume), tr->step, tr->total_steps);
    return true;
}
