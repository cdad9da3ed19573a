/*
 * run_parts.c - pieces of the run view that several kinds of runs share.
 */
#include "tui/plot.h"

#include "engine/base/files.h"
#include "tui/run_view.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rect run_draw_slowed(const struct run_model *m, struct canvas *c, struct rect area)
{
    if (!*m->slowed)
        return area;
    struct rect row = rect_cut_rows(&area, 1);
    canvas_text(c, row.row, row.col + 1, row.cols - 2, ROLE_WARN, ATTR_BOLD, m->slowed);
    return area;
}

static int draw_state(const struct run_model *m, struct canvas *c, struct rect area)
{
    enum run_state state = m->status.state;
    bool answer_no = m->done && !m->ok && state == RUN_DONE;
    if (state == RUN_DONE && !answer_no)
        return 0;
    if (state == RUN_RUNNING && m->started)
        return 0;
    char text[1200];
    run_model_state_text(m, text, sizeof text);
    enum role role = state == RUN_FAILED || state == RUN_LOST ? ROLE_BAD
                     : state == RUN_CANCELLED || answer_no    ? ROLE_WARN
                                                              : ROLE_ACCENT;
    int limit = area.rows > 8 ? 3 : 1;
    struct rect r = {area.row, area.col + 1, limit < area.rows ? limit : area.rows, area.cols - 2};
    return wrap_text(c, r, role, ATTR_BOLD, text);
}

int run_draw_state(const struct run_view *v, struct canvas *c, struct rect area)
{
    char text[400];
    int used = draw_state(&v->m, c, area);
    if (!run_model_gaps_text(&v->m, text, sizeof text))
        return used;
    struct rect r = {area.row + used, area.col + 1, area.rows > used + 8 ? 2 : 0, area.cols - 2};
    return used + wrap_text(c, r, ROLE_WARN, 0, text);
}

static enum role note_role(enum note_level level)
{
    return level == NOTE_INFO ? ROLE_TEXT : level == NOTE_WARNING ? ROLE_WARN : ROLE_BAD;
}

void run_draw_notes(const struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    if (area.rows < 1)
        return;
    if (!m->note_count) {
        canvas_text(c, area.row, area.col, area.cols, ROLE_MUTED, 0, _("Nothing to report."));
        return;
    }
    /* As many of the latest as fit, the oldest of them first. */
    int first = m->note_count, rows = 0, prefix = area.cols > 50 ? 8 : 2;
    while (first > 0) {
        int more = wrap_rows(m->notes[first - 1].text, area.cols - prefix);
        if (rows && rows + more > area.rows)
            break;
        rows += more;
        first--;
    }
    int row = 0;
    for (int i = first; i < m->note_count && row < area.rows; i++) {
        const struct run_note *n = &m->notes[i];
        const char *glyph = n->level == NOTE_INFO      ? (c->utf8 ? "·" : "-")
                            : n->level == NOTE_WARNING ? "!"
                                                       : "✗";
        if (prefix == 8) {
            char clock[16] = "";
            if (isfinite(n->t))
                format_clock(n->t, clock, sizeof clock);
            canvas_format(c, area.row + row, area.col, 5, ROLE_MUTED, 0, "%5s", clock);
        }
        canvas_text(c, area.row + row, area.col + prefix - 2, 1, note_role(n->level), ATTR_BOLD, glyph);
        struct rect r = {area.row + row, area.col + prefix, area.rows - row, area.cols - prefix};
        row += wrap_text(c, r, note_role(n->level), 0, n->text);
    }
}

static void share_text(double part, double whole, char text[8])
{
    if (isfinite(part) && whole > 0)
        snprintf(text, 8, "%3.0f%%", 100 * part / whole);
    else
        snprintf(text, 8, "   -");
}

/* Those that find no room; slow ones among them are not to be missed. */
static void draw_more_ranks(const struct run_model *m, int from, struct canvas *c, struct rect row)
{
    char text[96];
    int more = m->rank_count - from, slow = 0;
    for (int i = from; i < m->rank_count; i++)
        slow += m->rank_table[i].straggler;
    if (slow)
        snprintf(text, sizeof text, _("and %d more ranks, %d of them slow"), more, slow);
    else
        snprintf(text, sizeof text, _("and %d more ranks"), more);
    canvas_text(c, row.row, row.col, row.cols, slow ? ROLE_WARN : ROLE_MUTED, 0, text);
}

/* Whether any rank tells how busy its GPU is. */
static bool have_readings(const struct run_model *m)
{
    for (int i = 0; i < m->rank_count; i++)
        if (isfinite(m->rank_table[i].util))
            return true;
    return false;
}

void run_draw_ranks(const struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    if (!m->rank_count) {
        canvas_text(c, area.row, area.col, area.cols, ROLE_MUTED, 0,
                    m->have_job && m->job.kind == JOB_TRAIN ? _("The ranks have not reported yet.")
                                                            : _("No ranks."));
        return;
    }
    /* Numbers stand to the right in fields of one width, so that a new figure changes few cells. */
    int fixed = 4 + 1 + 10 + 3 * 5 + 2, host = area.cols - fixed, memory = 0, gpu = 0;
    if (host >= 11 && have_readings(m)) {
        gpu = 5;
        host -= gpu;
        fixed += gpu;
    }
    if (host >= 18) {
        memory = 10;
        host -= memory;
    }
    host = host > 24 ? 24 : host < 0 ? 0 : host;
    int col = area.col;
    canvas_text(c, area.row, col, 4, ROLE_MUTED, 0, _("rank"));
    canvas_text(c, area.row, col + 5, host, ROLE_MUTED, 0, _("host"));
    int at = col + 5 + host;
    canvas_format(c, area.row, at, 10, ROLE_MUTED, 0, "%10s", _("samples/s"));
    canvas_format(c, area.row, at + 10, 15, ROLE_MUTED, 0, " %4s %4s %4s", _("comp"), _("comm"),
                  C_("at most 4 columns", "data"));
    if (gpu)
        canvas_format(c, area.row, at + 25, gpu, ROLE_MUTED, 0, "%*s", gpu, "GPU");
    if (memory)
        canvas_format(c, area.row, at + 25 + gpu, memory, ROLE_MUTED, 0, "%*s", memory, _("memory"));
    int room = area.rows - 1, skip = v->pane == PANE_RANKS ? v->scroll : 0;
    skip = skip > m->rank_count - room ? m->rank_count - room : skip;
    skip = skip < 0 ? 0 : skip;
    for (int i = 0; i < m->rank_count - skip && i < room; i++) {
        const struct run_rank *r = &m->rank_table[skip + i];
        int row = area.row + 1 + i;
        if (i + 1 == room && m->rank_count > skip + i + 1) {
            draw_more_ranks(m, skip + i, c, (struct rect){row, col, 1, area.cols});
            break;
        }
        enum role role = r->straggler ? ROLE_WARN : ROLE_TEXT;
        char speed[16], compute[8], comm[8], data[8], bytes[24] = "-";
        double whole = 0, parts[3] = {r->compute_s, run_rank_exposed(r), r->data_s};
        for (int k = 0; k < 3; k++)
            whole += isfinite(parts[k]) ? parts[k] : 0;
        snprintf(speed, sizeof speed, isfinite(r->samples_per_s) ? "%.0f" : "-", r->samples_per_s);
        share_text(r->compute_s, whole, compute);
        share_text(parts[1], whole, comm);
        share_text(r->data_s, whole, data);
        canvas_format(c, row, col, 4, role, ATTR_BOLD, "%4d", r->rank);
        canvas_text(c, row, col + 5, host, role, 0, r->host);
        canvas_format(c, row, at, 10, role, 0, "%10s", speed);
        canvas_format(c, row, at + 10, 15, role, 0, " %4s %4s %4s", compute, comm, data);
        if (gpu && isfinite(r->util))
            canvas_format(c, row, at + 25, gpu, role, 0, " %3.0f%%", 100 * r->util);
        if (memory) { /* the one that a batch may be too large for */
            double taken = isfinite(r->gpu_used_bytes) ? r->gpu_used_bytes : r->rss_bytes;
            if (isfinite(taken))
                format_bytes(taken, bytes, sizeof bytes);
            canvas_format(c, row, at + 25 + gpu, memory, role, 0, "%*s", memory, bytes);
        }
        if (r->straggler)
            canvas_text(c, row, at + 25 + gpu + memory + 1, 6, ROLE_WARN, ATTR_BOLD,
                        host + fixed + memory + 5 <= area.cols ? _("◀ slow") : "◀");
    }
}

void run_draw_children(const struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    int first = v->selected >= area.rows ? v->selected - area.rows + 1 : 0;
    for (int i = first; i < m->child_count && i - first < area.rows; i++) {
        const struct run_child *k = &m->children[i];
        enum role role = k->state == RUN_DONE      ? ROLE_GOOD
                         : k->state == RUN_RUNNING ? ROLE_ACCENT
                         : k->state == RUN_PENDING ? ROLE_MUTED
                                                   : ROLE_BAD;
        int row = area.row + i - first;
        bool selected = i == v->selected;
        canvas_text(c, row, area.col, 2, ROLE_ACCENT, ATTR_BOLD, selected ? (c->utf8 ? "▸ " : "> ") : "  ");
        canvas_text(c, row, area.col + 2, area.cols - 12, selected ? ROLE_SELECTED : ROLE_TEXT, 0, k->id);
        canvas_text_right(c, row, area.col + area.cols - 9, 9, role, 0, _(run_state_name(k->state)));
        if (selected)
            c->cursor_row = row, c->cursor_col = area.col;
    }
}

enum role check_role(enum check_result result)
{
    return result == CHECK_PASS ? ROLE_GOOD : result == CHECK_FAIL ? ROLE_BAD : ROLE_WARN;
}

const char *check_glyph(enum check_result result, bool utf8)
{
    if (utf8)
        return result == CHECK_PASS ? "✓" : result == CHECK_FAIL ? "✗" : "?";
    return result == CHECK_PASS ? "+" : result == CHECK_FAIL ? "x" : "?";
}

enum { LABEL_COLS = 12 };

static int labelled(struct canvas *c, struct rect area, int row, const char *label, enum role role,
                    const char *text)
{
    if (!*text || row >= area.rows)
        return 0;
    canvas_text(c, area.row + row, area.col + 2, LABEL_COLS - 2, ROLE_MUTED, 0, label);
    struct rect r = {area.row + row, area.col + LABEL_COLS, area.rows - row, area.cols - LABEL_COLS};
    return wrap_text(c, r, role, 0, text);
}

int check_draw(struct canvas *c, struct rect area, const struct run_check *check)
{
    if (area.rows < 1)
        return 0;
    canvas_text(c, area.row, area.col, 1, check_role(check->result), ATTR_BOLD,
                check_glyph(check->result, c->utf8));
    struct rect r = {area.row, area.col + 2, area.rows, area.cols - 2};
    int row =
        wrap_text(c, r, check_role(check->result), check->result == CHECK_PASS ? 0 : ATTR_BOLD, check->name);
    /* What passes takes one row: what was measured stands behind it where there is room. */
    if (check->result == CHECK_PASS) {
        int name = text_columns(check->name) + 4, room = area.cols - name;
        if (row == 1 && room >= text_columns(check->measured))
            canvas_text(c, area.row, area.col + name, room, ROLE_MUTED, 0, check->measured);
        return row;
    }
    row += labelled(c, area, row, _("measured"), ROLE_TEXT, check->measured);
    row += labelled(c, area, row, _("accepted"), ROLE_TEXT, check->accepted);
    row += labelled(c, area, row, _("next"), ROLE_ACCENT, check->next);
    return row;
}

static int text_rows(const char *text, int cols)
{
    return *text ? wrap_rows(text, cols - LABEL_COLS) : 0;
}

int checks_rows(const struct run_check *checks, int count, int cols)
{
    int rows = 0;
    for (int i = 0; i < count; i++) {
        const struct run_check *k = &checks[i];
        rows += wrap_rows(k->name, cols - 2);
        if (k->result != CHECK_PASS)
            rows += text_rows(k->measured, cols) + text_rows(k->accepted, cols) + text_rows(k->next, cols);
    }
    return rows;
}

int checks_draw(struct canvas *c, struct rect area, const struct run_check *checks, int count, int skip)
{
    int i = skip;
    for (; i < count && area.rows > 0; i++) {
        int used = check_draw(c, area, &checks[i]);
        rect_cut_rows(&area, used < area.rows ? used : area.rows);
    }
    return i;
}

void run_draw_log(struct run_view *v, struct canvas *c, struct rect area)
{
    char path[PATH_MAX + 8];
    static const char *const none =
        N_("The log is empty: whatever the job's processes print on standard error comes here.");
    enum { TAIL = 32768 };
    snprintf(path, sizeof path, "%s/log", v->m.dir);
    area = rect_inset(canvas_box(c, area, _("Log (l closes)"), ROLE_BORDER), 0, 1);
    char *text = malloc(TAIL + 1);
    int fd = file_open(path, 0, NULL);
    ssize_t got = -1;
    if (text && fd >= 0) {
        off_t end = lseek(fd, 0, SEEK_END);
        got = pread(fd, text, TAIL, end > TAIL ? end - TAIL : 0);
    }
    if (fd >= 0)
        close(fd);
    if (got <= 0) {
        wrap_text(c, area, ROLE_MUTED, 0, _(none));
        free(text);
        return;
    }
    text[got] = '\0';
    while (got > 0 && text[got - 1] == '\n')
        text[--got] = '\0';
    /* Back from the end, as many lines as fit. */
    char *from = text + got;
    for (int rows = 0; from > text; from--)
        if (from[-1] == '\n' && ++rows >= area.rows)
            break;
    for (int row = 0; row < area.rows && from && *from; row++) {
        char *next = strchr(from, '\n');
        if (next)
            *next = '\0';
        canvas_text(c, area.row + row, area.col, area.cols, ROLE_TEXT, 0, from);
        from = next ? next + 1 : NULL;
    }
    free(text);
}
