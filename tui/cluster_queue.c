/*
 * cluster_queue.c - nodes by state and the jobs of a batch system.
 */
#include "tui/cluster_view.h"
#include "tui/text.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum role role;
    uint32_t glyph;
    char ascii;
} STATES[NODE_STATES] = {
    [NODE_FREE] = {N_("free"), ROLE_GOOD, 0x25A1, 'o'},
    [NODE_MIXED] = {N_("partly busy"), ROLE_SERIES1, 0x25A8, '+'},
    [NODE_BUSY] = {N_("busy"), ROLE_SERIES2, 0x25A0, '#'},
    [NODE_DRAINED] = {N_("drained"), ROLE_WARN, 0x25CC, 'd'},
    [NODE_DOWN] = {N_("down"), ROLE_BAD, 0x2717, 'X'},
    [NODE_OTHER] = {N_("otherwise"), ROLE_MUTED, 0x25C7, '?'},
};

static void put_state(struct canvas *c, int row, int col, enum node_state state)
{
    canvas_put(c, row, col, c->utf8 ? STATES[state].glyph : (uint32_t)STATES[state].ascii, STATES[state].role,
               ATTR_BOLD);
}

/* Names where they fit into `rows` rows, else signs alone; returns the rows used. */
static int draw_nodes(const struct queue_info *q, struct canvas *c, struct rect area, int rows)
{
    int widest = 0;
    for (int i = 0; i < q->node_count; i++) {
        int columns = text_columns(q->nodes[i].name);
        widest = columns > widest ? columns : widest;
    }
    int wide = widest + 3, across = area.cols / (wide > 0 ? wide : 1);
    bool names = across > 0 && (q->node_count + across - 1) / across <= rows && widest <= 20;
    if (!names) {
        wide = q->node_count <= area.cols / 2 * rows ? 2 : 1;
        across = area.cols / wide;
    }
    int i = 0;
    for (; i < q->node_count && i / across < rows; i++) {
        int row = area.row + i / across, col = area.col + i % across * wide;
        put_state(c, row, col, q->nodes[i].state);
        if (names)
            canvas_text(c, row, col + 1, wide - 2, ROLE_TEXT, 0, q->nodes[i].name);
    }
    if (i < q->node_count)
        canvas_format(c, area.row + rows - 1, area.col + area.cols - 12, 12, ROLE_MUTED, 0, _(" %d more"),
                      q->node_count - i);
    return q->node_count ? (i - 1) / across + 1 : 0;
}

static void draw_counts(const struct queue_info *q, struct canvas *c, struct rect line)
{
    int col = line.col, end = line.col + line.cols, busy = 0, cpus = 0;
    for (int s = 0; s < NODE_STATES && col < end - 2; s++) {
        int count = queue_count_nodes(q, (enum node_state)s);
        if (!count)
            continue;
        put_state(c, line.row, col, (enum node_state)s);
        col += 1 + canvas_format(c, line.row, col + 1, end - col - 1, ROLE_TEXT, 0, " %d %s  ", count,
                                 _(STATES[s].name));
    }
    for (int i = 0; i < q->node_count; i++)
        if (q->nodes[i].cpus > 0 && q->nodes[i].busy >= 0) {
            busy += q->nodes[i].busy;
            cpus += q->nodes[i].cpus;
        }
    if (cpus > 0)
        canvas_format(c, line.row, col, end - col, ROLE_MUTED, 0, _("%d of %d processors in use"), busy,
                      cpus);
}

/* Why nodes are out of use, as many as there is room for. */
static int draw_troubles(const struct queue_info *q, struct canvas *c, struct rect area)
{
    int row = area.row;
    for (int i = 0; i < q->node_count && row < area.row + area.rows; i++) {
        const struct queue_node *n = &q->nodes[i];
        if ((n->state == NODE_DOWN || n->state == NODE_DRAINED) && *n->why)
            canvas_format(c, row++, area.col, area.cols, STATES[n->state].role, 0, "%s %s: %s", n->name,
                          _(STATES[n->state].name), n->why);
    }
    return row - area.row;
}

static void count_text(char *text, size_t size, int value)
{
    if (value < 0)
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%d", value);
}

/* The columns of a wide list; a narrow one leaves out those that are marked. The last one takes the rest. */
enum { JOB_COLUMNS = 8 };
static const struct {
    const char *title;
    int width;
    bool right, wide;
} COLUMNS[JOB_COLUMNS] = {
    {N_("job"), 7, false, false},  {N_("user"), 8, false, false},       {N_("partition"), 9, false, true},
    {N_("name"), 13, false, true}, {N_("nodes"), 5, true, false},       {N_("procs"), 5, true, true},
    {N_("time"), 11, true, false}, {N_("where, why"), 0, false, false},
};

static void draw_line(struct canvas *c, struct rect line, bool wide, enum role role, int attributes,
                      const char *const texts[JOB_COLUMNS])
{
    int col = line.col, end = line.col + line.cols;
    for (int i = 0; i < JOB_COLUMNS; i++) {
        if (COLUMNS[i].wide && !wide)
            continue;
        int width = COLUMNS[i].width ? COLUMNS[i].width : end - col, columns = text_columns(texts[i]);
        int pad = COLUMNS[i].right && columns < width ? width - columns : 0;
        canvas_text(c, line.row, col + pad, width - pad, role, attributes, texts[i]);
        col += width + 1 + (i == JOB_COLUMNS - 2);
    }
}

static int draw_jobs(const struct queue_info *q, int scroll, struct canvas *c, struct rect area)
{
    bool wide = area.cols >= 76;
    const char *titles[JOB_COLUMNS];
    for (int i = 0; i < JOB_COLUMNS; i++)
        titles[i] = _(COLUMNS[i].title);
    draw_line(c, rect_cut_rows(&area, 1), wide, ROLE_MUTED, ATTR_UNDERLINE, titles);
    int shown = 0;
    for (int i = scroll; i < q->job_count && shown < area.rows; i++, shown++) {
        const struct queue_job *j = &q->jobs[i];
        char nodes[12], cpus[12];
        count_text(nodes, sizeof nodes, j->nodes);
        count_text(cpus, sizeof cpus, j->cpus);
        const char *texts[JOB_COLUMNS] = {j->id, j->user, j->partition, j->name,
                                          nodes, cpus,    j->time,      j->reason};
        draw_line(c, (struct rect){area.row + shown, area.col, 1, area.cols}, wide,
                  j->running ? ROLE_TEXT : ROLE_WARN, 0, texts);
    }
    if (!q->job_count)
        canvas_text(c, area.row, area.col, area.cols, ROLE_MUTED, 0, _("The queue is empty."));
    return shown;
}

int cluster_draw_queue(const struct queue_info *q, const char *head, enum role role, int scroll,
                       struct canvas *c, struct rect area)
{
    canvas_text(c, area.row, area.col, area.cols, role, ATTR_BOLD, head);
    rect_cut_rows(&area, 1);
    draw_counts(q, c, rect_cut_rows(&area, 1));
    int rows = area.rows / 4 < 1 ? 1 : area.rows / 4;
    rect_cut_rows(&area, draw_nodes(q, c, area, rows));
    if (area.rows >= 10)
        rect_cut_rows(&area, draw_troubles(q, c, (struct rect){area.row, area.col, 3, area.cols}));
    if (area.rows >= 8)
        rect_cut_rows(&area, 1);
    int running = 0;
    for (int i = 0; i < q->job_count; i++)
        running += q->jobs[i].running;
    canvas_format(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD, _("%d running, %d waiting"),
                  running, q->job_count - running);
    if (q->left_out)
        canvas_format(c, area.row, area.col + 30, area.cols - 30, ROLE_WARN, 0,
                      _("%d lines were not understood"), q->left_out);
    rect_cut_rows(&area, 1);
    return draw_jobs(q, scroll, c, area);
}
