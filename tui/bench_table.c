#include "tui/bench_table.h"

#include "engine/base/event.h"
#include "tui/wrap.h"

#include <math.h>
#include <string.h>

static double field(const json_t *point, const char *name)
{
    return event_number(point, name, NAN);
}

static void rung(FILE *to, const json_t *p, bool first)
{
    if (first)
        fprintf(to, "\nOne matrix product, %.0f × %.0f, on one thread\n%-12s %10s %9s %9s %9s\n",
                field(p, "n"), field(p, "n"), "", "ms", "GFLOP/s", "faster", "error");
    fprintf(to, "%-12s %10.2f %9.1f %8.1fx %9.1e   %s\n", event_text(p, "label", "?"),
            1e3 * field(p, "time_s"), 1e-9 * field(p, "y"), field(p, "ratio"), field(p, "error"),
            event_text(p, "why", ""));
}

static void product(FILE *to, const json_t *p, bool first)
{
    if (first)
        fprintf(to, "\nThe ladder on the roof of one thread, at %.0f FLOP/byte\n%-12s %9s %9s\n",
                field(p, "x"), "", "GFLOP/s", "of roof");
    fprintf(to, "%-12s %9.1f %7.0f %%\n", event_text(p, "label", "?"), 1e-9 * field(p, "y"),
            100 * field(p, "share"));
}

/* Of a GPU: a rung's rate is in FLOP/s where its roof is arithmetic, in bytes a second where it is memory. */
static void gpu_rung(FILE *to, const json_t *p, bool first)
{
    bool memory = !strcmp(event_text(p, "roof", ""), "memory");
    if (first)
        fprintf(to, "\n%s on %s, %s\n%-12s %10s %9s %9s %7s %9s\n", event_text(p, "title", "?"),
                event_text(p, "device", "?"), event_text(p, "size", "?"), "", "us",
                memory ? "GB/s" : "GFLOP/s", "faster", "of roof", "error");
    fprintf(to, "%-12s %10.2f %9.1f %8.1fx", event_text(p, "label", "?"), 1e6 * field(p, "time_s"),
            1e-9 * field(p, "y"), field(p, "ratio"));
    if (isfinite(field(p, "share")))
        fprintf(to, " %5.0f %%", 100 * field(p, "share"));
    else
        fprintf(to, " %7s", "-");
    fprintf(to, " %9.1e   %s\n", field(p, "error"), event_text(p, "why", ""));
}

static void layer(FILE *to, const json_t *p, bool first)
{
    enum { NAME = 44 };
    const char *label = event_text(p, "label", "?");
    if (first)
        fprintf(
            to,
            "\nLayers of %s, forward, batch %.0f, on the roof of %.0f thread%s\n%-*s %9s %9s %9s %9s  %s\n",
            event_text(p, "model", "?"), field(p, "batch"), field(p, "threads"),
            field(p, "threads") > 1 ? "s" : "", NAME, "", "ms", "FLOP/byte", "GFLOP/s", "of roof",
            "bound by");
    int columns = text_columns(label);
    fprintf(to, "%s%*s %9.3f %9.2f %9.1f %7.0f %%  %s\n", label, columns < NAME ? NAME - columns : 0, "",
            1e3 * field(p, "time_s"), field(p, "x"), 1e-9 * field(p, "y"), 100 * field(p, "share"),
            event_text(p, "bound", "?"));
}

static void step(FILE *to, const json_t *p, bool first)
{
    if (first)
        fprintf(to,
                "\nTraining step of %s, batch %.0f, samples/s: medians of %.0f rounds, taking turns\n"
                "%7s %10s %10s %7s   %s\n",
                event_text(p, "model", "?"), field(p, "batch"), field(p, "rounds"), "threads", "ringside",
                event_text(p, "peer", "PyTorch"), "ratio", "smallest .. largest");
    fprintf(to, "%7.0f %10.0f", field(p, "x"), field(p, "y"));
    if (isfinite(field(p, "ratio")))
        fprintf(to, " %10.0f %7.2f   %.2f .. %.2f\n", field(p, "peer_samples_per_s"), field(p, "ratio"),
                field(p, "ratio_low"), field(p, "ratio_high"));
    else
        fprintf(to, " %10s %7s\n", "-", "-");
}

void bench_table_line(FILE *to, const json_t *point, char last[32])
{
    static const struct {
        const char *series;
        void (*line)(FILE *to, const json_t *point, bool first);
    } TABLES[] = {{"ladder", rung},      {"products", product},     {"gpu product", gpu_rung},
                  {"gpu sum", gpu_rung}, {"gpu softmax", gpu_rung}, {"layers", layer},
                  {"ringside", step}};
    const char *series = event_text(point, "series", "");
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        if (!strcmp(TABLES[i].series, series)) {
            TABLES[i].line(to, point, strcmp(last, series) != 0);
            snprintf(last, 32, "%s", series);
        }
}
