#include "tui/collective_table.h"

#include "engine/base/event.h"

#include <math.h>
#include <string.h>

/* What is printed of one case. */
struct row {
    double bytes, count, time_us, model_us, algbw, busbw; /* GB/s */
    bool inplace;
    char algo[64], error[16];
};

static struct row row_of(const json_t *event)
{
    double bytes = event_number(event, "bytes", 0), time_s = event_number(event, "time_s", NAN);
    double error = event_number(event, "error", NAN);
    const char *chosen = event_text(event, "chosen", "");
    struct row r = {
        .bytes = bytes,
        .count = event_number(event, "count", bytes / 4),
        .time_us = 1e6 * time_s,
        .model_us = 1e6 * event_number(event, "predicted_s", NAN),
        .algbw = 1e-9 * event_number(event, "algbw_bytes_per_s", bytes / time_s),
        .busbw = 1e-9 * event_number(event, "busbw_bytes_per_s", NAN),
        .inplace = !json_is_false(json_object_get(event, "inplace")),
        .error = "-",
    };
    snprintf(r.algo, sizeof r.algo, "%.30s%s%.30s", event_text(event, "algo", "?"), *chosen ? ": " : "",
             chosen);
    if (isfinite(error))
        snprintf(r.error, sizeof r.error, "%.0e", error);
    return r;
}

/* In as many characters as there are, with a digit behind the point where it has room. */
static const char *number(char text[24], double value, int width)
{
    if (!isfinite(value))
        return "-";
    for (int digits = 2; digits >= 0; digits--)
        if (snprintf(text, 24, "%.*f", digits, value) <= width)
            return text;
    snprintf(text, 24, "%.0e", value);
    return text;
}

/* One half of a pair's line: time, time over model, rates, error. */
enum { ALGO = 18, HALF = 31 };

static void half(char text[128], const struct row *r)
{
    char time[24], over[24], alg[24], bus[24];
    snprintf(text, 128, " %7s %4s %5s %5s %5s", number(time, r->time_us, 7),
             number(over, r->time_us / r->model_us, 4), number(alg, r->algbw, 5), number(bus, r->busbw, 5),
             r->error);
}

static void print_pair(FILE *to, struct collective_table *t, const struct row *r)
{
    char mine[128];
    half(mine, r);
    if (r->bytes != t->bytes) {
        collective_table_break(to, t);
        fprintf(to, "%.0f B, %.0f elements\n", r->bytes, r->count);
        t->bytes = r->bytes;
    }
    if (!r->inplace) { /* its other half comes next */
        collective_table_break(to, t);
        snprintf(t->left, sizeof t->left, "%-*.*s%s", ALGO, ALGO, r->algo, mine);
    } else if (*t->left) {
        fprintf(to, "%s%s\n", t->left, mine);
        t->left[0] = 0;
    } else {
        fprintf(to, "%-*.*s%*s%s\n", ALGO, ALGO, r->algo, HALF, "", mine);
    }
}

static void print_one(FILE *to, const struct row *r)
{
    char model[24] = "-";
    if (isfinite(r->model_us))
        snprintf(model, sizeof model, "%.1f", r->model_us);
    fprintf(to, "%9.0f %8.0f %-18.18s %3s %8.1f %8s %6.2f %6.2f %5s\n", r->bytes, r->count, r->algo,
            r->inplace ? "in" : "out", r->time_us, model, r->algbw, r->busbw, r->error);
}

static const char singles[] =
    "    bytes    count algo                       time    model  algbw  busbw error\n"
    "                                                us       us   GB/s   GB/s\n";
static const char pairs[] = /* over mod.: measured over predicted */
    "                            out of place                     in place\n"
    "                      time over algbw busbw error    time over algbw busbw error\n"
    "                        us mod.  GB/s  GB/s            us mod.  GB/s  GB/s\n";

/* A heading where what is measured changes. */
static void print_heading(FILE *to, struct collective_table *t, const json_t *event, bool both, int ranks)
{
    const char *op = event_text(event, "op", "allreduce"), *slowed = event_text(event, "slowed", "");
    char heading[sizeof t->heading], where[48];
    if (!strcmp(event_text(event, "origin", ""), "sim"))
        snprintf(where, sizeof where, "simulated (network: %.12s)", event_text(event, "tier", "-"));
    else
        snprintf(where, sizeof where, "%.16s buffers", event_text(event, "buffer", "engine"));
    snprintf(heading, sizeof heading, "%.20s%s of %.8s on %lld ranks, %s%s%.255s", op,
             strstr(op, "reduce") ? " (sum)" : "", event_text(event, "dtype", "f32"),
             event_integer(event, "ranks", ranks), where, *slowed ? "\n" : "", slowed);
    if (strcmp(t->heading, heading) == 0)
        return;
    collective_table_break(to, t);
    memcpy(t->heading, heading, sizeof heading);
    t->bytes = -1;
    fprintf(to, "\n%s\n", heading);
    fputs(both ? pairs : singles, to);
}

void collective_table_line(FILE *to, struct collective_table *t, const json_t *event, bool both, int ranks)
{
    struct row r = row_of(event);
    print_heading(to, t, event, both, ranks);
    if (both)
        print_pair(to, t, &r);
    else
        print_one(to, &r);
}

void collective_table_break(FILE *to, struct collective_table *t)
{
    if (*t->left)
        fprintf(to, "%s\n", t->left);
    t->left[0] = 0;
}
