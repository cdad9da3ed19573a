#include "engine/train/telemetry.h"

#include "engine/base/event.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void meter_reset(struct meter *m)
{
    memset(m, 0, sizeof *m);
    m->began = sink_clock();
}

void meter_add(struct meter *m, const struct phases *p, double loss, double share, bool read)
{
    m->steps++;
    m->batches += share;
    m->read += read;
    m->phases.data += p->data;
    m->phases.compute += p->compute;
    m->phases.comm += p->comm;
    m->phases.exposed += p->exposed;
    m->loss += share * loss;
}

void meter_add_gan(struct meter *m, const struct gan_figures *figures)
{
    m->gan = true;
    m->figures.loss_d += figures->loss_d;
    m->figures.loss_g += figures->loss_g;
    m->figures.d_real += figures->d_real;
    m->figures.d_fake += figures->d_fake;
}

void telemetry_gan(json_t *event, const struct gan_figures *sums, double n)
{
    event_set_number(event, "loss_d", sums->loss_d / n);
    event_set_number(event, "loss_g", sums->loss_g / n);
    event_set_number(event, "d_real", sums->d_real / n);
    event_set_number(event, "d_fake", sums->d_fake / n);
}

/* Of one step: the sums divided by n. */
static void set_phases(json_t *event, const struct phases *sums, double n)
{
    event_set_number(event, "compute_s", sums->compute / n);
    event_set_number(event, "comm_s", sums->comm / n);
    event_set_number(event, "exposed_comm_s", sums->exposed / n);
    event_set_number(event, "data_s", sums->data / n);
}

bool telemetry_step(struct event_sink *sink, const struct meter *m, long step, double epoch,
                    long global_batch, double lr, double grad_norm, const struct fusion *fusion,
                    struct error *e)
{
    double n = (double)m->steps, wall = sink_clock() - m->began;
    json_t *event = sink_event(sink, "step");
    event_set_integer(event, "step", step);
    event_set_number(event, "epoch", epoch);
    event_set_number(event, "loss", m->loss / m->batches);
    event_set_number(event, "samples_per_s", m->batches * (double)global_batch / wall);
    set_phases(event, &m->phases, n);
    event_set_number(event, "lr", lr);
    event_set_number(event, "grad_norm", grad_norm);
    if (fusion->algo)
        event_set_text(event, "algo", fusion->algo);
    if (fusion->buckets > 1) {
        event_set_integer(event, "bucket", (long long)fusion->bucket);
        event_set_integer(event, "buckets", fusion->buckets);
    }
    if (fusion->joined > 0)
        event_set_integer(event, "joined", fusion->joined);
    if (isfinite(fusion->sent_bytes))
        event_set_number(event, "sent_bytes", fusion->sent_bytes);
    if (fusion->compression) {
        event_set_number(event, "compress_error", fusion->compression->error);
        event_set_number(event, "compress_lost", fusion->compression->lost);
    }
    if (m->gan)
        telemetry_gan(event, &m->figures, n);
    return sink_emit(sink, event, e);
}

static double resident_bytes(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f)
        return 0;
    if (fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* What a rank tells of itself. */
struct rank_report {
    char host[64], device[64];
    double samples_per_s, rss_bytes;
    struct gpu_readings gpu;
    struct phases phases; /* means over its steps */
};

/* Rank r holds the others up, or does no longer. */
static bool say_slow(struct event_sink *sink, const struct rank_report *all, int r, long step,
                     const struct stragglers *s, struct error *e)
{
    char text[400];
    if (s->news[r] == STRAGGLER_RECOVERED) {
        snprintf(text, sizeof text, "rank %d on %s keeps pace with the others again", r, all[r].host);
        return sink_note(sink, "info", text, e);
    }
    snprintf(
        text, sizeof text,
        "rank %d on %s computes %.1f times as long as the others (%.3g ms a step), who wait for it in each "
        "allreduce: another program may be using its cores, or its processor is slower; the run goes on",
        r, all[r].host, s->ratio[r], 1e3 * all[r].phases.compute);
    char waits[80];
    snprintf(waits, sizeof waits, "the allreduce of the gradients, in step %ld", step);
    json_t *event = sink_event(sink, "fault");
    event_set_integer(event, "rank", r);
    event_set_text(event, "host", all[r].host);
    event_set_text(event, "kind", "slow");
    event_set_text(event, "waiting_for", waits);
    event_set_number(event, "ratio", s->ratio[r]);
    event_set_text(event, "text", text);
    return sink_emit(sink, event, e);
}

static void look_for_stragglers(const struct rank_report *all, int size, struct stragglers *s)
{
    double compute[JOB_MAX_RANKS] = {0};
    for (int r = 0; r < size; r++) /* one that joins has no samples of its own */
        compute[r] = all[r].samples_per_s > 0 ? all[r].phases.compute : NAN;
    stragglers_take(s, compute, size);
}

static bool say_stragglers(struct event_sink *sink, const struct rank_report *all, int size, long step,
                           const struct stragglers *s, struct error *e)
{
    for (int r = 0; r < size; r++)
        if (s->news[r] != STRAGGLER_SAME && !say_slow(sink, all, r, step, s, e))
            return false;
    return true;
}

/* What the GPU does; what it does not tell is left out. */
static void set_gpu(json_t *event, const struct gpu_readings *g)
{
    const struct {
        const char *name;
        double value;
    } fields[] = {{"util", g->util},
                  {"gpu_used_bytes", g->used_bytes},
                  {"gpu_total_bytes", g->total_bytes},
                  {"power_w", g->power_w}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (isfinite(fields[i].value))
            event_set_number(event, fields[i].name, fields[i].value);
}

bool telemetry_ranks(struct comm *comm, struct event_sink *sink, const struct meter *m, struct device *device,
                     int batch, long step, struct stragglers *s, struct error *e)
{
    double n = m->steps > 0 ? (double)m->steps : 1;
    struct rank_report mine = {.samples_per_s = (double)m->read * batch / (sink_clock() - m->began),
                               .phases = {.data = m->phases.data / n,
                                          .compute = m->phases.compute / n,
                                          .comm = m->phases.comm / n,
                                          .exposed = m->phases.exposed / n},
                               .rss_bytes = resident_bytes()};
    gethostname(mine.host, sizeof mine.host - 1);
    snprintf(mine.device, sizeof mine.device, "%s", device->name);
    device_read(device, &mine.gpu);
    int size = comm_size(comm);
    struct rank_report *all = calloc((size_t)size, sizeof *all);
    if (!all)
        return error_set(e, ERROR_FAILED, "not enough memory for the reports of %d ranks", size);
    bool ok = comm_gather(comm, &mine, sizeof mine, all, e);
    if (ok && comm_rank(comm) == 0)
        look_for_stragglers(all, size, s);
    for (int r = 0; ok && comm_rank(comm) == 0 && r < size; r++) {
        json_t *event = sink_event(sink, "rank");
        event_set_integer(event, "rank", r);
        event_set_text(event, "host", all[r].host);
        event_set_text(event, "device", all[r].device);
        event_set_number(event, "samples_per_s", all[r].samples_per_s);
        set_phases(event, &all[r].phases, 1);
        event_set_number(event, "rss_bytes", all[r].rss_bytes);
        set_gpu(event, &all[r].gpu);
        if (s->slow[r])
            json_object_set_new(event, "slow", json_true());
        ok = sink_emit(sink, event, e);
    }
    if (ok && comm_rank(comm) == 0)
        ok = say_stragglers(sink, all, size, step, s, e);
    free(all);
    return ok;
}
