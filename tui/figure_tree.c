/*
 * figure_tree.c - the messages of an allreduce by a tree: ranks side by side, a line a message, time downwards.
 *
 *     show: tree
 *     ranks: 8          2 to 16
 *
 * The messages are those of schedule_tree: up to rank 0, which then has the sum, and down again.
 */
#include "engine/spec/schedule.h"
#include "tui/figure.h"
#include "tui/text.h"

#include <stddef.h>

enum { MOST = 16, LABEL = 9 };

static bool tree_check(const struct block_text *t, struct error *e)
{
    int ranks;
    return block_text_integer(t, "ranks", 2, MOST, 8, &ranks, e);
}

static bool schedule_of(const struct block_text *t, struct schedule *s)
{
    int ranks = 8;
    return block_text_integer(t, "ranks", 2, MOST, 8, &ranks, NULL) && schedule_tree(s, ranks, 1, NULL);
}

static int tree_rows(const struct block_text *t, int cols)
{
    struct schedule s;
    (void)cols;
    if (!schedule_of(t, &s))
        return 1;
    int rows = 1 + 2 * s.rounds;
    schedule_free(&s);
    return rows;
}

static void tree_draw(const struct block_text *t, struct canvas *c, struct rect in, int step)
{
    struct schedule s;
    (void)step;
    if (!schedule_of(t, &s))
        return;
    int each = (in.cols - LABEL - 3) / (s.ranks > 1 ? s.ranks - 1 : 1), left = in.col + LABEL + 1;
    each = each > 12 ? 12 : each < 2 ? 2 : each;
    for (int r = 0; r < s.ranks; r++)
        canvas_format(c, in.row, left + r * each, 3, ROLE_TITLE, ATTR_BOLD, "%d", r);
    for (int round = 0; round < s.rounds; round++) {
        int row = in.row + 2 + 2 * round;
        bool up = false;
        for (int r = 0; r < s.ranks; r++) {
            canvas_put(c, row - 1, left + r * each, 0x2502, ROLE_BORDER, 0);
            canvas_put(c, row, left + r * each, 0x2502, ROLE_BORDER, 0);
        }
        for (int i = 0; i < s.count; i++) {
            const struct transfer *m = &s.transfers[i];
            if (m->round != round)
                continue;
            up |= m->reduce;
            int from = left + m->from * each, to = left + m->to * each;
            enum role role = m->reduce ? ROLE_SERIES1 : ROLE_SERIES2;
            if (to > from)
                figure_right(c, row, from + 1, to - from - 1, role, NULL);
            else
                figure_left(c, row, to + 1, from - to - 1, role, NULL);
            canvas_put(c, row, from, 0x25cf, role, 0);
        }
        canvas_text(c, row, in.col, LABEL, up ? ROLE_SERIES1 : ROLE_SERIES2, 0, up ? _("add") : _("copy"));
    }
    schedule_free(&s);
}

const struct figure figure_tree = {"tree", tree_check, tree_rows, tree_draw, NULL};
