/*
 * figure_cluster.c - the anatomy of a cluster.
 *
 *     show: cluster
 *     nodes: 3          compute nodes that are drawn, 1 to 4
 *     gpus: 2           of each, 0 to 4
 */
#include "tui/figure.h"
#include "tui/text.h"

#include <stdio.h>

enum { NODE_COLS = 15, NODE_ROWS = 6, GAP = 2, LOGIN_COLS = 17, LEAST_COLS = 44 };

static void numbers(const struct block_text *t, int *nodes, int *gpus)
{
    if (!block_text_integer(t, "nodes", 1, 4, 3, nodes, NULL))
        *nodes = 3;
    if (!block_text_integer(t, "gpus", 0, 4, 0, gpus, NULL))
        *gpus = 0;
}

static bool cluster_check(const struct block_text *t, struct error *e)
{
    int nodes, gpus;
    return block_text_integer(t, "nodes", 1, 4, 3, &nodes, e) &&
           block_text_integer(t, "gpus", 0, 4, 0, &gpus, e);
}

static int cluster_rows(const struct block_text *t, int cols)
{
    (void)t;
    (void)cols;
    return 4 + 2 + NODE_ROWS + 2 + 3;
}

static void draw_node(struct canvas *c, struct rect r, int number, int gpus)
{
    char title[16];
    snprintf(title, sizeof title, "node%02d", number);
    struct rect in = canvas_box(c, r, title, ROLE_BORDER);
    canvas_text(c, in.row, in.col + 1, in.cols - 1, ROLE_SERIES1, 0, _("CPUs"));
    for (int i = 0; i < 4; i++)
        canvas_put(c, in.row, in.col + 7 + i, 0x25a0, ROLE_SERIES1, 0);
    canvas_text(c, in.row + 1, in.col + 1, in.cols - 1, ROLE_SERIES3, 0, _("memory"));
    if (gpus)
        canvas_text(c, in.row + 2, in.col + 1, in.cols - 1, ROLE_SERIES2, 0, _("GPUs"));
    else
        canvas_text(c, in.row + 2, in.col + 1, in.cols - 1, ROLE_MUTED, 0, _("no GPU"));
    for (int i = 0; i < gpus; i++)
        canvas_put(c, in.row + 2, in.col + 7 + i, 0x25a0, ROLE_SERIES2, 0);
    canvas_text(c, in.row + 3, in.col + 1, in.cols - 1, ROLE_MUTED, 0, _("local disk"));
}

static void cluster_draw(const struct block_text *t, struct canvas *c, struct rect in, int step)
{
    int nodes, gpus;
    (void)step;
    numbers(t, &nodes, &gpus);
    while (nodes > 1 && nodes * (NODE_COLS + GAP) - GAP > in.cols)
        nodes--;
    int wide = nodes * (NODE_COLS + GAP) - GAP, left = in.col + (in.cols - wide) / 2,
        middle = in.col + in.cols / 2;
    wide = wide < LEAST_COLS ? LEAST_COLS : wide;
    wide = wide < in.cols ? wide : in.cols;
    int edge = in.col + (in.cols - wide) / 2, login = wide >= LEAST_COLS ? LOGIN_COLS : (wide - 6) / 2;
    /* You, the login node and the scheduler. */
    struct rect top = {in.row, edge, 4, login};
    figure_box(c, top, _("login node;shared by all"), ROLE_BORDER, ROLE_TEXT);
    struct rect scheduler = {in.row, edge + wide - login, 4, login};
    figure_box(c, scheduler, _("scheduler;whose turn"), ROLE_BORDER, ROLE_TEXT);
    figure_right(c, in.row + 1, top.col + login, wide - 2 * login, ROLE_ACCENT, _("job"));
    /* The network between the nodes, and down to the storage. */
    int row = in.row + 5, bottom = row + 1 + NODE_ROWS;
    figure_down(c, in.row + 4, edge + wide - login / 2, 1, ROLE_ACCENT, NULL);
    canvas_hline(c, row, edge, wide, ROLE_SERIES4);
    figure_centred(c, row, middle - 6, 12, ROLE_SERIES4, ATTR_BOLD, _(" network "));
    for (int i = 0; i < nodes; i++) {
        int col = left + i * (NODE_COLS + GAP);
        draw_node(c, (struct rect){row + 1, col, NODE_ROWS, NODE_COLS}, i + 1, gpus);
    }
    canvas_hline(c, bottom, edge, wide, ROLE_SERIES4);
    canvas_put(c, bottom, middle, 0x252c, ROLE_SERIES4, 0);
    canvas_vline(c, bottom + 1, middle, 1, ROLE_SERIES4);
    figure_box(c, (struct rect){bottom + 2, edge, 3, wide}, _("one file system, the same for all"),
               ROLE_BORDER, ROLE_TEXT);
}

const struct figure figure_cluster = {"cluster", cluster_check, cluster_rows, cluster_draw, NULL};
