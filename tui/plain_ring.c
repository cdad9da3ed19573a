/*
 * plain_ring.c - a collective in words: who sends which chunk to whom in each round, and what is wrong where it is.
 */
#include "engine/base/units.h"
#include "engine/spec/cost.h"
#include "tui/plain.h"
#include "tui/plain_ask.h"
#include "tui/ring_model.h"
#include "tui/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_DEFAULT = 4, MESSAGES_MAX = 400 };

#define BYTES_DEFAULT (64 * 1024.0)

static const char *phase_text(enum hop_phase phase)
{
    static const char *const names[HOP_PHASES] = {N_("reduce-scatter"), N_("allgather"), N_("reduce"),
                                                  N_("broadcast"), N_("messages")};
    return _(names[phase]);
}

static void message(const struct ring_message *m)
{
    char bytes[32];
    units_show_bytes(m->bytes, bytes, sizeof bytes);
    if (m->chunk < 0)
        printf(_("  rank %d sends %s to rank %d"), m->from, bytes, m->to);
    else if (m->span > 1)
        printf(_("  rank %d sends chunks %d to %d (%s) to rank %d"), m->from, m->chunk,
               m->chunk + m->span - 1, bytes, m->to);
    else
        printf(_("  rank %d sends chunk %d (%s) to rank %d"), m->from, m->chunk, bytes, m->to);
    puts(m->faulty ? _(": wrong") : "");
}

static void rounds(const struct plain *p, const struct ring_model *m)
{
    char text[512];
    for (int k = 0; k < m->rounds && m->first[k] < MESSAGES_MAX; k++) {
        units_show_seconds(ring_model_duration(m, k), text, sizeof text);
        printf(_("\nRound %d of %d, %s, %s\n"), k + 1, m->rounds, phase_text(ring_model_phase(m, k)), text);
        for (int i = m->first[k]; i < m->first[k + 1]; i++)
            message(&m->messages[i]);
    }
    if (m->count > MESSAGES_MAX)
        printf(_("\n... and so on: %d messages in %d rounds.\n"), m->count, m->rounds);
    for (int i = 0; i < m->fault_count; i++) {
        ring_fault_text(m, &m->faults[i], text, sizeof text);
        plain_paragraph(p, text);
    }
}

static void operation(struct plain *p, const struct run_op *op)
{
    struct ring_model m;
    struct error e = {0};
    char sent[32], formula[32];
    if (!ring_model_build(&m, op, true, &e)) {
        plain_error(&e);
        return;
    }
    plain_print_text(m.algo, 0, p->utf8, stdout);
    printf(_(", %d ranks, %d rounds, %d messages\n"), m.ranks, m.rounds, m.count);
    rounds(p, &m);
    const char *text = "";
    double bytes = ring_model_formula_bytes(&m, &text);
    units_show_bytes(ring_model_busiest_bytes(&m, m.rounds), sent, sizeof sent);
    printf(_("\nThrough the busiest rank's link: %s"), sent);
    if (isfinite(bytes)) {
        units_show_bytes(bytes, formula, sizeof formula);
        printf(_("; by the formula %s: %s"), text, formula);
    }
    puts(".");
    ring_model_free(&m);
}

static void of_run(struct plain *p, const char *dir)
{
    struct run_model *m = plain_read_run(dir);
    if (!m)
        return;
    if (!m->op_count)
        puts(_("This run has told of no messages."));
    else
        operation(p, &m->ops[m->op_count - 1]);
    run_model_free(m);
    free(m);
}

/* "ring 4 64K" -> its parts; false: what is missing keeps its default, what is wrong is told. */
static bool parse(const char *answer, char name[48], int *ranks, double *bytes)
{
    char count[16] = "", size[16] = "";
    *ranks = RANKS_DEFAULT;
    *bytes = BYTES_DEFAULT;
    if (sscanf(answer, "%47s %15s %15s", name, count, size) < 1)
        return false;
    if (*count)
        *ranks = (int)plain_number(count);
    return (!*size || units_bytes(size, bytes)) && *ranks >= 1 && *ranks <= RING_MAX_RANKS && *bytes > 0;
}

static void by_schedule(struct plain *p)
{
    char answer[PLAIN_LINE], name[48];
    int ranks;
    double bytes;
    while (!p->ended) {
        printf(_("There are:"));
        for (int i = 0; ring_schedule_name(i); i++)
            printf("%s %s", i ? "," : "", ring_schedule_name(i));
        puts("");
        plain_ask_line(p, _("which, with how many ranks and bytes (ring 4 64KiB); b: back"), answer);
        if (p->ended || !*answer || !strcmp(answer, "b"))
            return;
        struct run_op op = {0};
        struct error e = {0};
        if (!parse(answer, name, &ranks, &bytes))
            printf(_("Expected a name, and if you like a number of ranks up to %d and a size, not '%s'.\n"),
                   RING_MAX_RANKS, answer);
        else if (ring_schedule_op(&op, name, ranks, bytes, &cost_default_network, &e))
            operation(p, &op);
        else
            plain_error(&e);
        free(op.hops);
    }
}

void plain_ring(struct plain *p, const char *dir)
{
    if (dir)
        of_run(p, dir);
    else
        by_schedule(p);
}
