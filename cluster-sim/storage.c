#include "cluster-sim/storage.h"

#include "engine/base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"metadata",    "disk seek", "target", "server link",
                                    "client link", "readers",   "cache"};

const char *storage_station_name(enum storage_station station)
{
    return names[station];
}

/* P[U V > z] for U and V uniform in (q, 1). */
static double product_above(double z, double q)
{
    double square = (1 - q) * (1 - q);
    if (z >= 1)
        return 0;
    if (z >= q)
        return (1 - z + z * log(z)) / square;
    return z > q * q ? 1 - (z * log(z / (q * q)) - z + q * q) / square : 1;
}

double storage_hits(double c, int n, enum storage_order order)
{
    if (c >= 1)
        return 1;
    if (c <= 0 || order == STORAGE_SEQUENTIAL)
        return 0;
    double q = 1 - 1.0 / n, hit = 0, last_had = 1.0 / n, z = 1 - c;
    while (z < 1) {
        hit += last_had * product_above(z, q);
        if (n == 1)
            break;
        z /= q;
        last_had *= q;
    }
    return hit;
}

static double or_none(double rate)
{
    return rate > 0 ? rate : INFINITY;
}

static double pieces_of(const struct storage_system *s, double bytes)
{
    if (s->kind != STORAGE_PARALLEL)
        return 1;
    double pieces = fmin(s->stripe_count, s->targets);
    return fmax(1, fmin(pieces, ceil(bytes / s->stripe_bytes)));
}

/* How many files clients read in an epoch, all together, and each. */
static double files_read(const struct storage_load *load, double *each)
{
    double all = load->share == STORAGE_EVERYTHING ? load->files * load->clients : load->files;
    *each = all / load->clients;
    return all;
}

/* The part of a client's reads that its cache answers once it is warm. */
static double hits(const struct storage_load *load)
{
    double each;
    files_read(load, &each);
    if (load->file_bytes <= 0)
        return 0;
    double held = load->cache_bytes / load->file_bytes; /* files */
    if (load->share == STORAGE_NEW_PART)
        return storage_hits(held / load->files, load->clients, load->order);
    return storage_hits(held / each, 1, load->order);
}

/* The time that one file takes alone. */
static double alone(const struct storage_system *s, const struct storage_load *load, double pieces)
{
    bool local = s->kind == STORAGE_LOCAL;
    double server = local ? INFINITY : or_none(s->server_link_bytes_per_s);
    double stream = pieces * fmin(s->target_bytes_per_s, server);
    if (!local)
        stream = fmin(stream, or_none(load->client_link_bytes_per_s));
    return s->open_s + s->seek_s + load->file_bytes / stream;
}

static void pass(const struct storage_system *s, const struct storage_load *load, double hit,
                 struct storage_pass *p)
{
    bool local = s->kind == STORAGE_LOCAL;
    double bytes = load->file_bytes, pieces = pieces_of(s, bytes), each;
    double targets = (double)s->targets * (local ? load->clients : 1);
    double seek = pieces * s->seek_s / s->depth, transfer = bytes / s->target_bytes_per_s;
    double miss = 1 - hit, memory = bytes / load->memory_bytes_per_s;
    *p = (struct storage_pass){.hit = hit};
    for (int i = 0; i < STORAGE_STATIONS; i++)
        p->limit[i] = INFINITY;
    if (!local && s->metadata_per_s > 0)
        p->limit[STORAGE_METADATA] = s->metadata_per_s / s->operations_per_file / miss;
    p->limit[seek > transfer ? STORAGE_SEEK : STORAGE_TARGET] = targets / (seek + transfer) / miss;
    if (!local && s->server_link_bytes_per_s > 0)
        p->limit[STORAGE_SERVER_LINK] = s->servers * s->server_link_bytes_per_s / bytes / miss;
    if (!local && load->client_link_bytes_per_s > 0)
        p->limit[STORAGE_CLIENT_LINK] = load->clients * load->client_link_bytes_per_s / bytes / miss;
    p->limit[STORAGE_READERS] =
        (double)load->clients * load->readers / (miss * alone(s, load, pieces) + hit * memory);
    p->limit[STORAGE_CACHE] = load->clients / memory;
    p->files_per_s = INFINITY;
    for (int i = 0; i < STORAGE_STATIONS; i++)
        if (p->limit[i] < p->files_per_s) {
            p->files_per_s = p->limit[i];
            p->bottleneck = (enum storage_station)i;
        }
    p->bytes_per_s = p->files_per_s * bytes;
    p->time_s = files_read(load, &each) / p->files_per_s;
}

/* Reads everything once and writes it to the local disks, which goes on beside the reading. */
static void stage(const struct storage_system *s, const struct storage_load *load, struct storage_pass *p)
{
    pass(s, load, 0, p);
    double seek = load->local.seek_s / load->local.depth;
    double transfer = load->file_bytes / load->local.target_bytes_per_s;
    double written = (double)load->local.targets * load->clients / (seek + transfer);
    if (written < p->files_per_s) {
        double each;
        p->files_per_s = written;
        p->bytes_per_s = written * load->file_bytes;
        p->time_s = files_read(load, &each) / written;
        p->bottleneck = seek > transfer ? STORAGE_SEEK : STORAGE_TARGET;
        p->limit[p->bottleneck] = written;
    }
}

static bool check_system(const struct storage_system *s, const char *what, struct error *e)
{
    const struct {
        const char *name;
        double value;
        bool zero; /* may be */
    } figures[] = {
        {"a target's rate", s->target_bytes_per_s, false},
        {"the seek time", s->seek_s, true},
        {"the number of seeks at once", s->depth, false},
        {"the number of targets", s->targets, false},
        {"the number of servers", s->servers, false},
        {"the server's link", s->server_link_bytes_per_s, true},
        {"the metadata rate", s->metadata_per_s, true},
        {"the time to open a file", s->open_s, true},
        {"the metadata operations of a file", s->operations_per_file, false},
        {"the stripe count", s->stripe_count, false},
        {"the stripe size", s->stripe_bytes, false},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!isfinite(figures[i].value) || figures[i].value < 0 ||
            (figures[i].value == 0 && !figures[i].zero))
            return error_set(e, ERROR_INPUT, "%s: %s is %g: expected %s", what, figures[i].name,
                             figures[i].value, figures[i].zero ? "0 or more" : "more than 0");
    return true;
}

static bool check(const struct storage_system *s, const struct storage_load *l, struct error *e)
{
    if (!check_system(s, "storage", e) || (l->stage && !check_system(&l->local, "local disk", e)))
        return false;
    if (!(l->files >= 1) || !(l->file_bytes > 0) || !isfinite(l->files * l->file_bytes))
        return error_set(e, ERROR_INPUT, "a dataset has at least one file, and files more than 0 bytes");
    if (l->clients < 1 || l->readers < 1 || l->epochs < 1)
        return error_set(e, ERROR_INPUT,
                         "reading takes at least one client, one read in flight and one epoch");
    if (l->warm && l->cache_bytes == 0)
        return error_set(e, ERROR_INPUT, "a warm cache must have a size, but cache is 0 bytes");
    if (!(l->memory_bytes_per_s > 0) || !(l->cache_bytes >= 0) || !(l->client_link_bytes_per_s >= 0) ||
        !(l->compute_files_per_s >= 0))
        return error_set(e, ERROR_INPUT,
                         "memory needs a rate above 0; cache, link and computing must not be negative");
    return true;
}

bool storage_simulate(const struct storage_system *s, const struct storage_load *load,
                      struct storage_result *r, struct error *e)
{
    *r = (struct storage_result){0};
    if (!check(s, load, e))
        return false;
    const struct storage_system *from = s;
    if (load->stage) {
        stage(s, load, &r->stage);
        from = &load->local;
    }
    double hit = hits(load), each, all = files_read(load, &each);
    pass(from, load, load->warm ? hit : 0, &r->first);
    pass(from, load, hit, &r->later);
    r->pieces = pieces_of(from, load->file_bytes);
    r->read_s = r->stage.time_s + r->first.time_s + (load->epochs - 1) * r->later.time_s;
    double compute = load->compute_files_per_s > 0 ? all / load->compute_files_per_s : 0;
    double first = load->prefetch ? fmax(r->first.time_s, compute) : r->first.time_s + compute;
    double later = load->prefetch ? fmax(r->later.time_s, compute) : r->later.time_s + compute;
    r->total_s = r->stage.time_s + first + (load->epochs - 1) * later;
    r->data_share = r->total_s > 0 ? 1 - load->epochs * compute / r->total_s : 0;
    return isfinite(r->total_s) ||
           error_set(e, ERROR_INPUT, "reading would take longer than a number can say; the bottleneck: %s",
                     storage_station_name(r->first.bottleneck));
}

bool storage_takes(const struct storage_system *s, bool stripes, const char *name, struct error *e)
{
    if (stripes)
        return s->kind == STORAGE_PARALLEL ||
               error_set(e, ERROR_INPUT,
                         "%s: only a parallel file system lays a file in stripes on several targets", name);
    return s->kind != STORAGE_LOCAL ||
           error_set(e, ERROR_INPUT, "%s: local disks have no server and no network on the way to it", name);
}

void storage_note(const struct storage_system *s, const struct storage_load *load,
                  const struct storage_result *r, char *text, size_t size)
{
    char file[32], stripe[32];
    *text = '\0';
    if (s->kind != STORAGE_PARALLEL || load->stage || r->pieces >= s->stripe_count)
        return;
    units_show_bytes(load->file_bytes, file, sizeof file);
    units_show_bytes(s->stripe_bytes, stripe, sizeof stripe);
    snprintf(text, size,
             "a stripe count of %d is the same as %g here: a file of %s makes %.6g stripe%s of %s, and there "
             "%s %d "
             "target%s",
             s->stripe_count, r->pieces, file, ceil(load->file_bytes / s->stripe_bytes),
             load->file_bytes > s->stripe_bytes ? "s" : "", stripe, s->targets > 1 ? "are" : "is", s->targets,
             s->targets > 1 ? "s" : "");
}
