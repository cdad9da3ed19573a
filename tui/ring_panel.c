/*
 * ring_panel.c - beside the picture, where there is room: the messages of the round, what the formula says, what is wrong,
 * and what the heights of the bars mean.
 */
#include "tui/axis.h"
#include "tui/ring_draw.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>

/* What a ring costs each rank, and what it would cost if everybody sent everything to everybody. */
static void draw_budget(struct canvas *c, struct rect in, int row, const struct ring_scene *s)
{
    const struct ring_model *m = s->model;
    char bytes[24];
    int n = m->ranks, done = s->round + (s->travel >= 1 && !ring_over(s));
    canvas_hline(c, row++, in.col, in.cols, ROLE_BORDER);
    canvas_text(c, row++, in.col, in.cols, ROLE_TITLE, ATTR_BOLD, _("What each rank sends in all"));
    canvas_format(c, row++, in.col + 1, in.cols - 1, ROLE_TEXT, 0, _("2(N-1)     = %d messages, %d sent"),
                  2 * (n - 1), done);
    format_bytes(ring_expected_bytes(n, m->buffer_bytes), bytes, sizeof bytes);
    canvas_format(c, row++, in.col + 1, in.cols - 1, ROLE_TEXT, 0, "2(N-1)/N S = %s", bytes);
    canvas_text(c, row++, in.col, in.cols, ROLE_TITLE, ATTR_BOLD, _("All to all, for comparison"));
    format_bytes((n - 1) * m->buffer_bytes, bytes, sizeof bytes);
    canvas_format(c, row++, in.col + 1, in.cols - 1, ROLE_TEXT, 0, "(N-1) S    = %s", bytes);
    format_bytes(m->buffer_bytes, bytes, sizeof bytes);
    canvas_format(c, row, in.col + 1, in.cols - 1, ROLE_MUTED, 0, _("N = %d ranks, S = %s"), n, bytes);
}

/* What the linear model says of any other algorithm. */
static void draw_formula(struct canvas *c, struct rect in, int row, const struct ring_scene *s)
{
    const struct ring_model *m = s->model;
    const char *formula;
    char bytes[24];
    double by_formula = ring_model_formula_bytes(m, &formula);
    if (!formula)
        return;
    canvas_hline(c, row++, in.col, in.cols, ROLE_BORDER);
    canvas_text(c, row++, in.col, in.cols, ROLE_TITLE, ATTR_BOLD, _("The cost model"));
    row += wrap_text(c, (struct rect){row, in.col + 1, 2, in.cols - 1}, ROLE_CODE, 0, formula);
    format_bytes(by_formula, bytes, sizeof bytes);
    if (isfinite(by_formula))
        canvas_format(c, row++, in.col + 1, in.cols - 1, ROLE_TEXT, 0, _("bytes by the formula  %s"), bytes);
    format_bytes(ring_model_busiest_bytes(m, m->rounds), bytes, sizeof bytes);
    canvas_format(c, row++, in.col + 1, in.cols - 1, ROLE_TEXT, 0, _("on the busiest rank   %s"), bytes);
    format_bytes(m->total_bytes, bytes, sizeof bytes);
    canvas_format(c, row, in.col + 1, in.cols - 1, ROLE_TEXT, 0, _("all ranks together    %s"), bytes);
}

static void draw_faults(struct canvas *c, struct rect in, const struct ring_model *m)
{
    char text[300], words[200];
    int end = in.row + in.rows;
    canvas_hline(c, in.row++, in.col, in.cols, ROLE_BORDER);
    canvas_format(c, in.row++, in.col, in.cols, ROLE_BAD, ATTR_BOLD,
                  text_plural("%d fault", "%d faults", (long)m->fault_count), m->fault_count);
    for (int i = 0; i < m->fault_count && in.row < end; i++) {
        const struct ring_fault *f = &m->faults[i];
        ring_fault_text(m, f, words, sizeof words);
        if (f->round < m->rounds)
            snprintf(text, sizeof text, _("round %d: %s"), f->round + 1, words);
        else
            snprintf(text, sizeof text, "%s", words);
        in.row += wrap_text(c, (struct rect){in.row, in.col, end - in.row, in.cols}, ROLE_TEXT, 0, text);
    }
}

static int draw_messages(struct canvas *c, struct rect in, const struct ring_scene *s)
{
    const struct ring_model *m = s->model;
    int row = in.row, first = ring_over(s) ? 0 : m->first[s->round];
    int last = ring_over(s) ? 0 : m->first[s->round + 1];
    if (ring_over(s))
        canvas_text(c, row++, in.col, in.cols, m->fault_count ? ROLE_WARN : ROLE_GOOD, 0,
                    _("No more messages."));
    for (int i = first; i < last; i++, row++) {
        const struct ring_message *x = &m->messages[i];
        char bytes[24], time[24], chunk[24] = "";
        if (row == in.row + in.rows - 1 && i + 1 < last) {
            canvas_format(c, row++, in.col, in.cols, ROLE_MUTED, 0, _("and %d more"), last - i);
            break;
        }
        format_bytes(x->bytes, bytes, sizeof bytes);
        format_seconds(x->t1 - x->t0, time, sizeof time);
        if (x->chunk >= 0)
            snprintf(chunk, sizeof chunk, _("chunk %d"), x->chunk);
        canvas_format(c, row, in.col, in.cols, x->faulty ? ROLE_BAD : ROLE_TEXT, 0, "%2d %s %-2d", x->from,
                      c->utf8 ? "→" : ">", x->to);
        canvas_text(c, row, in.col + 9, 9, x->faulty ? ROLE_BAD : ring_chunk_role(x->chunk), ATTR_BOLD,
                    chunk);
        canvas_format(c, row, in.col + 18, in.cols - 18, ROLE_TEXT, 0, "%9s", bytes);
        canvas_format(c, row, in.col + 28, in.cols - 28, ROLE_MUTED, 0, "%8s", time);
    }
    return row;
}

/* What the heights mean. */
static void draw_legend(struct canvas *c, struct rect in, const struct ring_model *m)
{
    int steps[3] = {1, (m->ranks + 1) / 2, m->ranks}, row = in.row;
    const char *words[3] = {_("its own numbers only"), _("the sum of some ranks"), _("the complete sum")};
    bool copies = m->collective == BROADCAST || m->collective == ALLGATHER || m->collective == ALLTOALL;
    canvas_hline(c, row++, in.col, in.cols, ROLE_BORDER);
    canvas_text(c, row++, in.col, in.cols, ROLE_TITLE, ATTR_BOLD, _("What a rank holds of each chunk"));
    for (int i = 0; i < 3; i++) {
        if (i == 1 && (m->ranks < 3 || copies))
            continue;
        int have = copies && i == 0 ? 0 : steps[i];
        ring_draw_chunk(c, (struct rect){row, in.col + 1, 1, 1}, 0, have, m->ranks, false);
        if (copies)
            canvas_text(c, row++, in.col + 4, in.cols - 4, ROLE_TEXT, 0,
                        have ? _("what is to be there") : _("not yet what is to be there"));
        else
            canvas_format(c, row++, in.col + 4, in.cols - 4, ROLE_TEXT, 0, _("%d of %d: %s"), steps[i],
                          m->ranks, words[i]);
    }
}

void ring_draw_panel(struct canvas *c, struct rect area, const struct ring_scene *s)
{
    const struct ring_model *m = s->model;
    struct rect in = canvas_box(c, area, _("This round"), ROLE_BORDER);
    in = rect_inset(in, 0, 1);
    struct rect legend = rect_cut_rows(&in, -6);
    int extra = m->fault_count ? in.rows / 2 : 9;
    struct rect below = in.rows > extra + 3 ? rect_cut_rows(&in, -extra) : (struct rect){0};
    int row = draw_messages(c, in, s);
    below.rows += below.row - row - 1; /* right below the messages */
    below.row = row + 1;
    if (below.cols && m->fault_count)
        draw_faults(c, below, m);
    else if (below.cols && m->claims_ring && m->ring && m->collective == ALLREDUCE && m->buffer_bytes > 0)
        draw_budget(c, below, below.row, s);
    else if (below.cols)
        draw_formula(c, below, below.row, s);
    draw_legend(c, legend, m);
}
