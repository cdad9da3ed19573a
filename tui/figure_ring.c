/*
 * figure_ring.c - ring-allreduce with its numbers, round by round.
 *
 *     show: ring
 *     ranks: 3          2 to 4
 *
 * The messages are those of schedule_ring, carried out on rank r's numbers 10^r (chunk + 1): with three ranks the
 * example that the lesson works by hand. Step 0 is before the first round. Where there is room, ranks stand on a ring
 * and arrows say which chunk goes; else they are a table.
 */
#include "engine/spec/schedule.h"
#include "tui/figure.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4, ARROW = 12, CELL = 7, NARROW_CELL = 6, LABEL = 7 };

struct state {
    int ranks, round; /* round -1: before the first */
    struct schedule s;
    long value[MOST][MOST];
    bool fresh[MOST][MOST]; /* arrived in this round */
    int sends[MOST];        /* the chunk that a rank sends in this round; -1: none */
    bool adds;
};

static int ranks_of(const struct block_text *t)
{
    int ranks;
    return block_text_integer(t, "ranks", 2, MOST, 4, &ranks, NULL) ? ranks : 4;
}

static bool ring_check(const struct block_text *t, struct error *e)
{
    int ranks;
    return block_text_integer(t, "ranks", 2, MOST, 4, &ranks, e);
}

static int ring_steps(const struct block_text *t)
{
    return 2 * (ranks_of(t) - 1) + 1;
}

/* The numbers after so many rounds; a message of a round takes what was there before it. */
static bool carry_out(struct state *st, int ranks, int round)
{
    *st = (struct state){.ranks = ranks, .round = round};
    if (!schedule_ring(&st->s, ranks, (size_t)ranks, NULL))
        return false;
    long power = 1;
    for (int r = 0; r < ranks; r++, power *= 10)
        for (int k = 0; k < ranks; k++)
            st->value[r][k] = power * (k + 1);
    for (int now = 0; now <= round; now++) {
        long before[MOST][MOST];
        for (int r = 0; r < MOST; r++) {
            st->sends[r] = -1;
            for (int k = 0; k < MOST; k++) {
                before[r][k] = st->value[r][k];
                st->fresh[r][k] = false;
            }
        }
        for (int i = 0; i < st->s.count; i++) {
            const struct transfer *m = &st->s.transfers[i];
            if (m->round != now)
                continue;
            long *place = &st->value[m->to][m->chunk];
            *place = before[m->from][m->chunk] + (m->reduce ? *place : 0);
            st->fresh[m->to][m->chunk] = true;
            st->sends[m->from] = m->chunk;
            st->adds = m->reduce;
        }
    }
    return true;
}

static int box_cols(int ranks)
{
    return ranks * CELL + 2;
}

/* Whether the ring fits: the boxes of the upper half beside each other. */
static bool round_ring(int ranks, int cols)
{
    int upper = (ranks + 1) / 2;
    return upper * box_cols(ranks) + (upper - 1) * ARROW <= cols;
}

static int ring_rows(const struct block_text *t, int cols)
{
    int ranks = ranks_of(t);
    return 2 + (round_ring(ranks, cols) ? 4 + 3 + 4 : ranks + 1);
}

static void draw_numbers(const struct state *st, struct canvas *c, int row, int col, int rank, int cell)
{
    long whole[MOST] = {0};
    for (int k = 0; k < st->ranks; k++) {
        long power = 1;
        for (int r = 0; r < st->ranks; r++, power *= 10)
            whole[k] += power * (k + 1);
        bool fresh = st->fresh[rank][k], complete = st->value[rank][k] == whole[k];
        canvas_format(c, row, col + k * cell, cell,
                      complete ? ROLE_GOOD
                      : fresh  ? ROLE_ACCENT
                               : ROLE_TEXT,
                      fresh ? ATTR_BOLD : 0, fresh ? "[%*ld]" : " %*ld ", cell - 2, st->value[rank][k]);
    }
}

static void word(const struct state *st, int rank, char *text, size_t size)
{
    *text = '\0';
    if (st->round >= 0 && st->sends[rank] >= 0)
        snprintf(text, size, _("chunk %d"), st->sends[rank]);
}

static void draw_rank(const struct state *st, struct canvas *c, struct rect box, int rank)
{
    char title[32];
    snprintf(title, sizeof title, _("rank %d"), rank);
    struct rect in = canvas_box(c, box, title, ROLE_BORDER);
    for (int k = 0; k < st->ranks; k++)
        canvas_format(c, in.row, in.col + k * CELL, CELL, ROLE_MUTED, 0, "%*d ", CELL - 1, k);
    draw_numbers(st, c, in.row + 1, in.col, rank, CELL);
}

/* Upper half from left to right, lower half from right to left, so that arrows go round. */
static void draw_round(const struct state *st, struct canvas *c, struct rect in)
{
    int n = st->ranks, upper = (n + 1) / 2, lower = n - upper, each = box_cols(n), slot = each + ARROW;
    int wide = upper * each + (upper - 1) * ARROW, left = in.col + (in.cols - wide) / 2;
    int from = left + (wide - (lower * each + (lower - 1) * ARROW)) / 2, below = in.row + 4 + 3;
    char text[24];
    for (int r = 0; r < n; r++) {
        int i = r < upper ? r : lower - 1 - (r - upper);
        int row = r < upper ? in.row : below, col = (r < upper ? left : from) + i * slot;
        draw_rank(st, c, (struct rect){row, col, 4, each}, r);
        word(st, r, text, sizeof text);
        enum role role = *text ? ROLE_ACCENT : ROLE_BORDER;
        if (r + 1 < upper)
            figure_right(c, row + 2, col + each, ARROW, role, text);
        else if (r + 1 == upper)
            figure_down(c, in.row + 4, lower == upper || n == 2 ? col + each / 2 : col + 3, 3, role, text);
        else if (r + 1 < n)
            figure_left(c, row + 2, col - ARROW, ARROW, role, text);
        else
            figure_up(c, in.row + 4, lower == upper || n == 2 ? col + each / 2 : left + each - 4, 3, role,
                      text);
    }
}

static void draw_table(const struct state *st, struct canvas *c, struct rect in)
{
    char text[24];
    int cell = LABEL + st->ranks * CELL <= in.cols ? CELL : NARROW_CELL;
    for (int k = 0; k < st->ranks; k++)
        canvas_format(c, in.row, in.col + LABEL + k * cell, cell, ROLE_MUTED, 0, "%*d ", cell - 1, k);
    for (int r = 0; r < st->ranks; r++) {
        canvas_format(c, in.row + 1 + r, in.col, LABEL, ROLE_TEXT, 0, _("rank %d"), r);
        draw_numbers(st, c, in.row + 1 + r, in.col + LABEL, r, cell);
        word(st, r, text, sizeof text);
        int col = in.col + LABEL + 1 + st->ranks * cell;
        if (*text && col + 15 < in.col + in.cols)
            canvas_format(c, in.row + 1 + r, col, in.col + in.cols - col, ROLE_ACCENT, 0, _("%s to %d"), text,
                          (r + 1) % st->ranks);
    }
}

static void ring_draw(const struct block_text *t, struct canvas *c, struct rect in, int step)
{
    struct state st;
    int ranks = ranks_of(t);
    char text[128];
    if (!carry_out(&st, ranks, step - 1))
        return;
    if (step == 0)
        snprintf(text, sizeof text, "%s", _("At the beginning each rank has its own numbers."));
    else
        snprintf(text, sizeof text,
                 st.adds ? _("Round %d of %d, reduce-scatter: what arrives is added.")
                         : _("Round %d of %d, allgather: what arrives replaces."),
                 step, st.s.rounds);
    wrap_text(c, rect_cut_rows(&in, 2), ROLE_TITLE, 0, text);
    if (round_ring(ranks, in.cols))
        draw_round(&st, c, in);
    else
        draw_table(&st, c, in);
    schedule_free(&st.s);
}

const struct figure figure_ring = {"ring", ring_check, ring_rows, ring_draw, ring_steps};
