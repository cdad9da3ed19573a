/*
 * figure_memory.c - the memory hierarchy: from small and near to large and far.
 *
 *     show: memory
 *
 * Sizes and times are orders of magnitude of servers, after J. L. Hennessy and D. A. Patterson, Computer architecture:
 * a quantitative approach (chapter 2); a lesson that needs more measures them.
 */
#include "tui/figure.h"
#include "tui/text.h"

#include <stddef.h>

static const struct level {
    const char *name, *size, *time;
    enum role role;
} levels[] = {
    {N_("registers"), "1 KB", "0.3 ns", ROLE_SERIES1},
    {N_("L1 cache"), "64 KB", "1 ns", ROLE_SERIES1},
    {N_("L2 cache"), "1 MB", "4 ns", ROLE_SERIES2},
    {N_("L3 cache"), "32 MB", "20 ns", ROLE_SERIES3},
    {N_("memory"), "256 GB", "100 ns", ROLE_SERIES4},
    {N_("solid-state disk"), "4 TB", "100 µs", ROLE_SERIES5},
    {N_("hard disk"), "16 TB", "10 ms", ROLE_SERIES6},
};
enum { LEVELS = sizeof levels / sizeof *levels };

static int memory_rows(const struct block_text *t, int cols)
{
    (void)t;
    (void)cols;
    return LEVELS + 2;
}

/* A pyramid of bars, the name within where it fits, size and time at its right. */
static void memory_draw(const struct block_text *t, struct canvas *c, struct rect in, int step)
{
    int room = in.cols - 20, least = room < 18 ? room : 18;
    (void)t;
    (void)step;
    canvas_text(c, in.row, in.col + room + 2, 8, ROLE_MUTED, 0, _("holds"));
    canvas_text(c, in.row, in.col + room + 11, 9, ROLE_MUTED, 0, _("answers"));
    for (int i = 0; i < LEVELS; i++) {
        const struct level *l = &levels[i];
        int width = least + (room - least) * i / (LEVELS - 1), left = in.col + (room - width) / 2,
            row = in.row + 1 + i;
        int name = text_columns(_(l->name)) + 2;
        name = name < width ? name : width;
        canvas_fill(c, (struct rect){row, left, 1, width}, 0x2588, l->role, 0);
        canvas_format(c, row, left + (width - name) / 2, name, l->role, ATTR_BOLD, " %s ", _(l->name));
        canvas_text(c, row, in.col + room + 2, 8, ROLE_TEXT, 0, l->size);
        canvas_text(c, row, in.col + room + 11, 9, ROLE_TEXT, 0, l->time);
    }
    canvas_text(c, in.row + 1 + LEVELS, in.col, in.cols, ROLE_MUTED, 0,
                _("Orders of magnitude of a server (Hennessy, Patterson)."));
}

const struct figure figure_memory = {"memory", NULL, memory_rows, memory_draw, NULL};
