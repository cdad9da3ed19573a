/*
 * ring_rows.c - ranks side by side: what each holds, the messages of this round as arrows between them, and below all rounds
 * as a matrix, a row each, that says who sends and who receives.
 *
 * Where there is room, the arrows of all rounds are drawn, one round below the other, instead.
 * Two messages between the same pair share an arrow; arrows that would touch lie in lanes one below the other, short ones
 * first. With more ranks than arrows can be told apart the matrix alone remains.
 */
#include "tui/plot.h"
#include "tui/ring_draw.h"
#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABEL = 5, MAX_ARROWS = 512, LEAST_CELL = 3 };

struct rows {
    struct canvas *c;
    struct rect area;
    const struct ring_scene *s;
    int left, wide; /* of rank 0's cell, and of each */
};

static int middle(const struct rows *w, int rank)
{
    return w->left + rank * w->wide + (w->wide - 1) / 2;
}

/* --- what they hold --- */

static void draw_labels(const struct rows *w, int row)
{
    const struct ring_model *m = w->s->model;
    for (int r = 0; r < m->ranks; r++) {
        bool complete = ring_model_complete(m, w->s->sets, r);
        char text[16];
        if (w->wide < LEAST_CELL && r % (w->wide == 1 ? 8 : 4))
            continue;
        snprintf(text, sizeof text, "%d%s", r, complete && w->wide >= 5 ? (w->c->utf8 ? "✓" : "+") : "");
        int columns = text_columns(text), col = middle(w, r) - (columns - 1) / 2;
        canvas_text(w->c, row, col, 3, complete ? ROLE_GOOD : ROLE_TITLE, ATTR_BOLD, text);
    }
}

/* A bar for each chunk where there is room for them, else one for all. */
static void draw_bars(const struct rows *w, int row, int high)
{
    const struct ring_model *m = w->s->model;
    int each = m->chunks > 0 ? (w->wide - 1) / m->chunks : 0;
    each = each > 4 ? 4 : each;
    for (int r = 0; r < m->ranks && m->chunks; r++) {
        int all = 0, col = each ? middle(w, r) - (each * m->chunks - 1) / 2 : middle(w, r) - (w->wide >= 5);
        for (int k = 0; k < m->chunks; k++) {
            int have = ring_model_have(m, w->s->sets, r, k);
            all += have;
            if (each)
                ring_draw_chunk(w->c, (struct rect){row, col + k * each, high, each}, k, have, m->ranks,
                                false);
        }
        if (!each)
            ring_draw_chunk(w->c, (struct rect){row, col, high, w->wide >= 5 ? 3 : 1}, -1, all,
                            m->ranks * m->chunks, false);
    }
}

/* --- this round's arrows --- */

struct arrow {
    int low, high;                        /* ranks */
    const struct ring_message *up, *down; /* from low to high, and back */
    int lane;
};

static int by_length(const void *a, const void *b)
{
    const struct arrow *x = a, *y = b;
    int s = x->high - x->low, t = y->high - y->low;
    return s != t ? s - t : x->low - y->low;
}

/* Returns how many; *lanes of them. */
static int arrows_of(const struct ring_scene *s, struct arrow *arrows, int *lanes)
{
    const struct ring_model *m = s->model;
    int count = 0;
    *lanes = 0;
    for (int i = m->first[s->round]; i < m->first[s->round + 1] && count < MAX_ARROWS; i++) {
        const struct ring_message *x = &m->messages[i];
        int low = x->from < x->to ? x->from : x->to, high = x->from < x->to ? x->to : x->from, k = 0;
        while (k < count && (arrows[k].low != low || arrows[k].high != high))
            k++;
        if (k == count)
            arrows[count++] = (struct arrow){.low = low, .high = high};
        const struct ring_message **way = x->from < x->to ? &arrows[k].up : &arrows[k].down;
        if (!*way || x->faulty) /* several chunks at once: the first stands for all */
            *way = x;
    }
    qsort(arrows, (size_t)count, sizeof *arrows, by_length);
    for (int i = 0; i < count; i++) {
        bool free_lane = false;
        for (arrows[i].lane = 0; !free_lane; arrows[i].lane += !free_lane) {
            free_lane = true;
            for (int k = 0; k < i; k++)
                free_lane = free_lane && (arrows[k].lane != arrows[i].lane ||
                                          arrows[k].high < arrows[i].low || arrows[k].low > arrows[i].high);
        }
        *lanes = arrows[i].lane + 1 > *lanes ? arrows[i].lane + 1 : *lanes;
    }
    return count;
}

static enum role role_of(const struct ring_message *x)
{
    return x->faulty ? ROLE_BAD : ring_chunk_role(x->chunk);
}

static void draw_token(const struct rows *w, int row, int from, int to, const struct ring_message *x)
{
    char text[8];
    double travel = w->s->travel < 0 ? 0 : w->s->travel;
    if (travel >= 1 || abs(to - from) < 3)
        return;
    int step = to > from ? 1 : -1, cells = abs(to - from) - 2;
    if (x->chunk < 0)
        snprintf(text, sizeof text, "%s", w->c->utf8 ? "●" : "o");
    else
        snprintf(text, sizeof text, "%d", x->chunk % 1000);
    int col = from + step * (1 + (int)lround(travel * cells));
    if (step < 0)
        col -= text_columns(text) - 1;
    canvas_text(w->c, row, col, 3, role_of(x), ATTR_REVERSE | ATTR_BOLD, text);
}

/* begun: its round; else it is drawn as one that is still to come. */
static void draw_arrow(const struct rows *w, int row, const struct arrow *a, bool begun)
{
    const struct ring_message *x = a->up && (!a->down || !a->down->faulty) ? a->up : a->down;
    int low = middle(w, a->low), high = middle(w, a->high);
    bool utf8 = w->c->utf8, bad = x->faulty;
    enum role line = bad ? ROLE_BAD : ROLE_MUTED;
    for (int col = low + 1; col < high; col++)
        canvas_put(w->c, row, col, bad ? (utf8 ? 0x2022 : 'x') : (utf8 ? 0x2500 : '-'), line, 0);
    canvas_put(w->c, row, low, a->down ? (utf8 ? 0x25C0 : '<') : (utf8 ? 0x2576 : '-'),
               begun ? role_of(a->down ? a->down : x) : line, begun ? ATTR_BOLD : 0);
    canvas_put(w->c, row, high, a->up ? (utf8 ? 0x25B6 : '>') : (utf8 ? 0x2574 : '-'),
               begun ? role_of(a->up ? a->up : x) : line, begun ? ATTR_BOLD : 0);
    if (a->up)
        draw_token(w, row, low, high, a->up);
    if (a->down)
        draw_token(w, row, high, low, a->down);
}

/* In so many rows; returns those used. */
static int draw_arrows(const struct rows *w, int row, int most)
{
    struct arrow arrows[MAX_ARROWS];
    int lanes, left = 0;
    int count = arrows_of(w->s, arrows, &lanes);
    bool cut = lanes > most;
    for (int i = 0; i < count; i++) {
        if (arrows[i].lane < most - cut)
            draw_arrow(w, row + arrows[i].lane, &arrows[i], true);
        else
            left++;
    }
    if (cut && most > 0)
        canvas_format(w->c, row + most - 1, w->left, w->area.cols - w->left + w->area.col, ROLE_MUTED, 0,
                      text_plural("and %d more pair of ranks", "and %d more pairs of ranks", (long)left),
                      left);
    return cut ? most : lanes;
}

/* --- all rounds --- */

static void draw_round(const struct rows *w, int row, int round)
{
    const struct ring_model *m = w->s->model;
    bool now = round == w->s->round, sends[RING_MAX_RANKS] = {0}, gets[RING_MAX_RANKS] = {0},
         wrong[RING_MAX_RANKS] = {0};
    int chunk[RING_MAX_RANKS], longest = w->area.col + w->area.cols;
    for (int i = m->first[round]; i < m->first[round + 1]; i++) {
        const struct ring_message *x = &m->messages[i];
        sends[x->from] = gets[x->to] = true;
        wrong[x->from] = wrong[x->from] || x->faulty;
        chunk[x->to] = sends[x->to] && chunk[x->to] >= 0 ? chunk[x->to] : x->chunk;
        chunk[x->from] = x->chunk;
    }
    for (int i = 0; i < m->fault_count; i++)
        if (m->faults[i].kind == RING_MISSING && m->faults[i].round == round && m->faults[i].to >= 0)
            wrong[m->faults[i].from] = true;
    canvas_format(w->c, row, w->area.col, LABEL, now ? ROLE_ACCENT : ROLE_MUTED, now ? ATTR_BOLD : 0, "%s%3d",
                  now ? (w->c->utf8 ? "▸" : ">") : " ", round + 1);
    for (int r = 0; r < m->ranks; r++) {
        bool utf8 = w->c->utf8;
        uint32_t glyph = wrong[r]              ? '!'
                         : sends[r] && gets[r] ? (utf8 ? 0x25C6 : '#')
                         : sends[r]            ? (utf8 ? 0x25B2 : '^')
                         : gets[r]             ? (utf8 ? 0x25BC : 'v')
                                               : (utf8 ? 0x00B7 : '.');
        bool idle = !sends[r] && !gets[r] && !wrong[r], past = round < w->s->round;
        enum role role = wrong[r]                  ? ROLE_BAD
                         : idle || (!now && !past) ? ROLE_MUTED
                                                   : ring_chunk_role(chunk[r]);
        canvas_put(w->c, row, middle(w, r), glyph, role, now ? ATTR_BOLD : 0);
    }
    int col = w->left + m->ranks * w->wide + 1;
    char words[48];
    if (longest - col >= 9) {
        struct ring_scene that = *w->s;
        struct ring_figures f;
        that.round = round;
        ring_figures_of(&that, &f);
        snprintf(words, sizeof words, "%s", f.phase);
        canvas_text(w->c, row, col, longest - col, now ? ROLE_ACCENT : ROLE_MUTED, 0, words);
    }
}

/* As many as there is room for, this round among them. */
static void draw_rounds(const struct rows *w, int row, int most)
{
    const struct ring_model *m = w->s->model;
    int first = w->s->round - most / 2;
    first = first > m->rounds - most ? m->rounds - most : first;
    first = first < 0 ? 0 : first;
    for (int k = first; k < m->rounds && k < first + most; k++)
        draw_round(w, row + k - first, k);
}

/* Rows that the arrows of each round take; the most of a round in *highest. */
static int all_lanes(const struct ring_scene *s, int *highest)
{
    struct arrow arrows[MAX_ARROWS];
    struct ring_scene that = *s;
    int sum = 0;
    *highest = 0;
    for (that.round = 0; that.round < s->model->rounds; that.round++) {
        int lanes;
        arrows_of(&that, arrows, &lanes);
        sum += lanes > 1 ? lanes : 1;
        *highest = lanes > *highest ? lanes : *highest;
    }
    return sum;
}

/* All rounds as arrows, one below the other: where there is room for all. */
static void draw_unrolled(const struct rows *w, int row, int gap)
{
    const struct ring_model *m = w->s->model;
    struct arrow arrows[MAX_ARROWS];
    for (int k = 0; k < m->rounds; k++) {
        struct ring_scene that = *w->s;
        struct rows there = *w;
        struct ring_figures f;
        int lanes;
        bool now = k == w->s->round;
        that.round = k;
        that.travel = now ? w->s->travel : 1;
        there.s = &that;
        int count = arrows_of(&that, arrows, &lanes);
        enum role role = now ? ROLE_ACCENT : ROLE_MUTED;
        canvas_format(w->c, row, w->area.col, LABEL, role, now ? ATTR_BOLD : 0, "%s%3d",
                      now ? (w->c->utf8 ? "▸" : ">") : " ", k + 1);
        for (int i = 0; i < count; i++)
            draw_arrow(&there, row + arrows[i].lane, &arrows[i], k <= w->s->round);
        int col = w->left + m->ranks * w->wide + 1, end = w->area.col + w->area.cols;
        ring_figures_of(&that, &f);
        if (end - col >= 9 && !(w->s->round >= m->rounds && !count))
            canvas_text(w->c, row, col, end - col, role, 0, f.phase);
        row += (lanes > 1 ? lanes : 1) + gap;
    }
}

static void draw_key(const struct rows *w, int row)
{
    bool utf8 = w->c->utf8;
    canvas_format(w->c, row, w->area.col, w->area.cols, ROLE_MUTED, 0,
                  _("rounds: %s sends  %s receives  %s both  %s neither"), utf8 ? "▲" : "^", utf8 ? "▼" : "v",
                  utf8 ? "◆" : "#", utf8 ? "·" : ".");
}

void ring_draw_rows(struct canvas *c, struct rect area, const struct ring_scene *s)
{
    const struct ring_model *m = s->model;
    struct ring_figures f;
    int row = area.row, end = area.row + area.rows;
    ring_figures_of(s, &f);
    int used = canvas_format(c, row, area.col, area.cols, ring_over(s) ? ROLE_GOOD : ROLE_ACCENT, ATTR_BOLD,
                             "%s, %s", f.phase, f.round);
    canvas_format(c, row++, area.col + used, area.cols - used, ROLE_TEXT, 0, "   %s", f.bytes);
    if (area.rows >= 12) {
        char line[240];
        snprintf(line, sizeof line, "%s%s%s   %s", f.formula, *f.formula ? "   " : "", f.really, f.shown);
        if (text_columns(line) > area.cols) /* the speed of the picture is the least of it */
            snprintf(line, sizeof line, "%s%s%s", f.formula, *f.formula ? "   " : "", f.really);
        canvas_text(c, row++, area.col, area.cols, ROLE_MUTED, 0, line);
    }
    int wide = (area.cols - LABEL) / m->ranks, room = end - row;
    wide = wide > 14 ? 14 : wide < 1 ? 1 : wide;
    /* Room for the phase's name behind the ranks. */
    if (wide > 4 && (area.cols - LABEL - m->ranks * wide) < 16)
        wide = (area.cols - LABEL - 16) / m->ranks > 3 ? (area.cols - LABEL - 16) / m->ranks : wide;
    struct rows w = {c, area, s, area.col + LABEL, wide};
    bool airy = room >= 14;
    row += airy;
    draw_labels(&w, row);
    if (m->ranks * wide > area.cols - LABEL) /* more than columns */
        canvas_format(c, row, area.col + area.cols - 5, 5, ROLE_MUTED, 0, " +%-3d",
                      m->ranks - (area.cols - LABEL));
    row++;
    int high = room >= 30 ? 4 : room >= 18 ? 2 : 1;
    draw_bars(&w, row, m->chunks ? high : 0);
    row += m->chunks ? high : 0;
    row += airy;
    int highest, sum = all_lanes(s, &highest), left = end - row - 1;
    if (wide >= LEAST_CELL + 2 && sum <= left) {
        canvas_hline(c, row++, area.col, area.cols, ROLE_BORDER);
        draw_unrolled(&w, row, sum + m->rounds - 1 <= left && airy);
        return;
    }
    /* The place of the rounds stays while arrows come and go. */
    int most = wide < LEAST_CELL ? 0 : end - row - 2 - (m->rounds < 6 ? m->rounds : 6) - airy;
    most = most < highest ? most : highest;
    if (most > 0 && !ring_over(s))
        draw_arrows(&w, row, most);
    row += most > 0 ? most + airy : 0;
    canvas_hline(c, row, area.col, area.cols, ROLE_BORDER);
    row++;
    bool key = end - row > 3;
    draw_rounds(&w, row, end - row - key);
    if (key)
        draw_key(&w, end - 1);
}
