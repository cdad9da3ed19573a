#include "tui/compare_table.h"

#include "engine/base/event.h"
#include "tui/axis.h"
#include "tui/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *label, *key; /* key: of the JSON line */
} FIGURES[COMPARE_FIGURES] = {
    [COMPARE_EPOCH] = {N_("time an epoch"), "epoch_s"},      [COMPARE_STEP] = {N_("time a step"), "step_s"},
    [COMPARE_SPEED] = {N_("samples/s"), "samples_per_s"},    [COMPARE_SPEEDUP] = {N_("speed-up"), "speedup"},
    [COMPARE_EFFICIENCY] = {N_("efficiency"), "efficiency"}, [COMPARE_LOSS] = {N_("test loss"), "loss"},
    [COMPARE_ACCURACY] = {N_("test accuracy"), "accuracy"},  [COMPARE_WALL] = {N_("wall time"), "wall_s"},
};

void compare_letter(int group, char text[8])
{
    if (group < 26)
        snprintf(text, 8, "%c", 'A' + group);
    else
        snprintf(text, 8, "%c%d", 'A' + group % 26, group / 26 % 1000 + 1);
}

/* --- figures as text ------------------------------------------------------------------------------------------------ */

struct scaled {
    double factor;
    const char *unit;
    int digits; /* after the point */
};

/* Digits that the interval leaves any meaning to: its first two; without one, four significant ones. */
static int digits_of(double value, double half)
{
    double least = isfinite(half) && half > 0 ? half : value != 0 ? fabs(value) / 100 : 1;
    int digits = 1 - (int)floor(log10(least));
    return digits < 0 ? 0 : digits > 6 ? 6 : digits;
}

static struct scaled scale_of(enum compare_figure f, double value)
{
    double s = fabs(value);
    switch (f) {
    case COMPARE_EPOCH:
    case COMPARE_STEP:
    case COMPARE_WALL:
        return s < 1e-3 ? (struct scaled){1e6, " us", 0}
               : s < 1  ? (struct scaled){1e3, " ms", 0}
                        : (struct scaled){1, " s", 0};
    case COMPARE_EFFICIENCY:
    case COMPARE_ACCURACY: return (struct scaled){100, " %", 0};
    default: return (struct scaled){1, "", 0};
    }
}

static void figure_text(enum compare_figure f, struct interval v, bool utf8, char *text, size_t size)
{
    if (!isfinite(v.mean)) {
        snprintf(text, size, "-");
        return;
    }
    struct scaled s = scale_of(f, v.mean);
    double mean = v.mean * s.factor, half = v.half * s.factor;
    s.digits = digits_of(mean, half);
    if (fabs(mean) >= 1e12) {
        snprintf(text, size, "%.3g%s", mean, s.unit);
        return;
    }
    const char *unit = utf8 && !strcmp(s.unit, " us") ? " µs" : s.unit;
    if (isfinite(half))
        snprintf(text, size, utf8 ? "%.*f ± %.*f%s" : "%.*f +- %.*f%s", s.digits, mean, s.digits, half, unit);
    else
        snprintf(text, size, "%.*f%s", s.digits, mean, unit);
}

/* --- the table ------------------------------------------------------------------------------------------------------ */

static struct compare_row *add_row(struct compare_table *t, enum compare_row_kind kind, const char *label)
{
    struct compare_row *grown = realloc(t->rows, (size_t)(t->row_count + 1) * sizeof *t->rows);
    if (!grown)
        return NULL;
    t->rows = grown;
    struct compare_row *row = &grown[t->row_count];
    *row = (struct compare_row){.kind = kind, .cells = calloc((size_t)t->columns + 1, sizeof *row->cells)};
    if (!row->cells)
        return NULL;
    t->row_count++;
    snprintf(row->label, sizeof row->label, "%s", label);
    return row;
}

static bool add_head(struct compare_table *t, const struct comparison *c)
{
    struct compare_row *head = add_row(t, ROW_HEAD, ""),
                       *runs = head ? add_row(t, ROW_HEAD, _("runs")) : NULL;
    if (!runs)
        return false;
    head = runs - 1;
    for (int g = 0; g < t->columns; g++) {
        char letter[8];
        compare_letter(g, letter);
        snprintf(head->cells[g], sizeof head->cells[g], "%s", letter);
        snprintf(runs->cells[g], sizeof runs->cells[g], "%d", c->groups[g].runs);
        t->repeated |= c->groups[g].runs > 1;
        t->replayed |= c->groups[g].again > 0;
    }
    return true;
}

static bool add_settings(struct compare_table *t, const struct comparison *c)
{
    for (int d = 0; d < c->difference_count; d++) {
        struct compare_row *row = add_row(t, ROW_SETTING, c->differences[d]);
        if (!row)
            return false;
        for (int g = 0; g < t->columns; g++)
            snprintf(row->cells[g], sizeof row->cells[g], "%s",
                     compare_value(&c->runs[c->groups[g].first], c->differences[d]));
    }
    return true;
}

static bool add_figures(struct compare_table *t, const struct comparison *c, bool utf8)
{
    for (int f = 0; f < COMPARE_FIGURES; f++) {
        bool any = false;
        for (int g = 0; g < t->columns; g++)
            any |= isfinite(c->groups[g].figure[f].mean) != 0;
        struct compare_row *row = any ? add_row(t, ROW_FIGURE, _(FIGURES[f].label)) : NULL;
        if (any && !row)
            return false;
        for (int g = 0; any && g < t->columns; g++) {
            const struct compare_group *group = &c->groups[g];
            char letter[8], *cell = row->cells[g];
            figure_text((enum compare_figure)f, group->figure[f], utf8, cell, sizeof row->cells[g]);
            compare_letter(group->base, letter);
            if (f == COMPARE_SPEEDUP && group->base == g && isfinite(group->figure[f].mean))
                snprintf(cell, sizeof row->cells[g], "%s", _("1 (base)"));
            else if (f == COMPARE_SPEEDUP && c->group_count > 2 && isfinite(group->figure[f].mean))
                snprintf(cell + strlen(cell), sizeof row->cells[g] - strlen(cell), _(" of %s"), letter);
        }
    }
    return true;
}

/* Operations that were timed, a row each. */
static bool add_cases(struct compare_table *t, const struct comparison *c, bool utf8)
{
    const char *name;
    for (int i = 0; (name = compare_case_name(c, i)); i++) {
        struct compare_row *row = add_row(t, ROW_FIGURE, name);
        if (!row)
            return false;
        for (int g = 0; g < t->columns; g++)
            figure_text(COMPARE_STEP, compare_case_time(c, g, name), utf8, row->cells[g],
                        sizeof row->cells[g]);
    }
    return true;
}

static void measure(struct compare_table *t)
{
    t->label_width = 4;
    t->cell_width = 6;
    for (int r = 0; r < t->row_count; r++) {
        int label = text_columns(t->rows[r].label);
        t->label_width = label > t->label_width ? label : t->label_width;
        for (int g = 0; g < t->columns; g++) {
            int cell = text_columns(t->rows[r].cells[g]);
            t->cell_width = cell > t->cell_width ? cell : t->cell_width;
        }
    }
    t->cell_width = t->cell_width > 22 ? 22 : t->cell_width;
}

/* "B: hosts, device; C: origin": the groups without speed-up, and what they do not share with the first. */
static void list_unlike(const struct comparison *c, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int g = 0, told = 0; g < c->group_count && used < size; g++) {
        char letter[8], names[256];
        bool last = true;
        for (int h = g + 1; h < c->group_count; h++)
            last &= c->groups[h].related;
        if (c->groups[g].related || (g == 0 && !last)) /* what the others say of the first says it too */
            continue;
        compare_letter(g, letter);
        compare_unlike(c, g, names, sizeof names);
        used += (size_t)snprintf(text + used, size - used, "%s%s: %s", told++ ? "; " : "", letter, names);
    }
}

static void write_note(struct compare_table *t, const struct comparison *c)
{
    char unlike[512];
    size_t size = sizeof t->note;
    snprintf(t->note, size, "%s",
             t->repeated
                 ? /* xgettext:no-c-format */
                 _("A figure with an interval: mean of the column's runs (the seed aside) and their "
                   "95 % confidence "
                   "interval by Student's t; of one run there is none.")
                 : _("One run a column: no confidence interval. The same configuration run again, with "
                     "any seed, "
                     "gives one."));
    if (t->replayed)
        snprintf(t->note + strlen(t->note), size - strlen(t->note), " %s",
                 _("Replays of one recording are one measurement and count once."));
    list_unlike(c, unlike, sizeof unlike);
    if (*unlike) {
        strncat(t->note, " ", size - strlen(t->note) - 1);
        snprintf(t->note + strlen(t->note), size - strlen(t->note),
                 _("No speed-up where runs differ in more than their ranks (%s)."), unlike);
    }
}

bool compare_table_build(struct compare_table *t, const struct comparison *c, bool utf8)
{
    *t = (struct compare_table){.columns = c->group_count};
    bool ok = add_head(t, c) && add_settings(t, c) && add_row(t, ROW_RULE, "") && add_figures(t, c, utf8) &&
              add_cases(t, c, utf8);
    if (!ok) {
        compare_table_free(t);
        return false;
    }
    measure(t);
    write_note(t, c);
    return true;
}

void compare_table_free(struct compare_table *t)
{
    if (!t)
        return;
    for (int r = 0; r < t->row_count; r++)
        free(t->rows[r].cells);
    free(t->rows);
    *t = (struct compare_table){0};
}

/* --- text ----------------------------------------------------------------------------------------------------------- */

/* A text in so many columns, cut or padded in front. */
static void put_right(FILE *to, const char *text, int width)
{
    int columns = text_columns(text);
    if (columns <= width) {
        fprintf(to, "%*s%s", width - columns, "", text);
        return;
    }
    const char *p = text;
    for (int used = 0; *p; used++) { /* the rest of what does not fit is left out */
        const char *next = p;
        utf8_next(&next);
        if (used == width - 2)
            break;
        fwrite(p, 1, (size_t)(next - p), to);
        p = next;
    }
    fputs("..", to);
}

static void write_part(FILE *to, const struct compare_table *t, int from, int end)
{
    for (int r = 0; r < t->row_count; r++) {
        const struct compare_row *row = &t->rows[r];
        if (row->kind == ROW_RULE) {
            for (int i = 0; i < t->label_width + (end - from) * (t->cell_width + 2); i++)
                fputc('-', to);
            fputc('\n', to);
            continue;
        }
        fprintf(to, "%s%*s", row->label, t->label_width - text_columns(row->label), "");
        for (int g = from; g < end; g++) {
            fputs("  ", to);
            put_right(to, row->cells[g], t->cell_width);
        }
        fputc('\n', to);
    }
}

static void write_member(FILE *to, const struct compare_run *run)
{
    fprintf(to, " %s (%s", run->id, _(run->origin));
    if (run->state != RUN_DONE)
        fprintf(to, ", %s", _(run_state_name(run->state)));
    if (run->again)
        fprintf(to, ", %s", _("not counted"));
    fputc(')', to);
}

static void write_members(FILE *to, const struct comparison *c)
{
    for (int g = 0; g < c->group_count; g++) {
        char letter[8];
        compare_letter(g, letter);
        fprintf(to, "%s:", letter);
        for (int i = 0; i < c->run_count; i++)
            if (c->runs[i].group == g)
                write_member(to, &c->runs[i]);
        fputc('\n', to);
    }
}

/* Broken at blanks into lines of at most so many columns. */
static void write_sentence(FILE *to, const char *text, int columns)
{
    int used = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        int wide = text_columns(word);
        if (used && used + 1 + wide > columns) {
            fputc('\n', to);
            used = 0;
        }
        used += fprintf(to, "%s", used ? " " : "") + wide;
        fputs(word, to);
        text += length;
        text += *text == ' ';
    }
    fputc('\n', to);
}

void compare_write(FILE *to, const struct comparison *c, int columns, bool utf8)
{
    struct compare_table t;
    if (!compare_table_build(&t, c, utf8))
        return;
    int across = (columns - t.label_width) / (t.cell_width + 2);
    across = across < 1 ? 1 : across;
    for (int from = 0; from < t.columns; from += across) {
        write_part(to, &t, from, from + across < t.columns ? from + across : t.columns);
        fputc('\n', to);
    }
    write_members(to, c);
    fputc('\n', to);
    write_sentence(to, t.note, columns);
    compare_table_free(&t);
}

int compare_table_draw(struct canvas *c, struct rect area, const struct compare_table *t, int column, int row)
{
    int across = (area.cols - t->label_width) / (t->cell_width + 2), at = 0;
    across = across < 0 ? 0 : across > t->columns - column ? t->columns - column : across;
    for (int r = 0; r < t->row_count && at < area.rows; r++) {
        const struct compare_row *line = &t->rows[r];
        if (r > 0 && r <= row) /* the first line, with the groups' names, stays */
            continue;
        enum role role = line->kind == ROW_SETTING ? ROLE_ACCENT
                         : line->kind == ROW_HEAD  ? ROLE_TITLE
                                                   : ROLE_TEXT;
        int y = area.row + at++;
        if (line->kind == ROW_RULE) {
            canvas_hline(c, y, area.col, t->label_width + across * (t->cell_width + 2), ROLE_BORDER);
            continue;
        }
        canvas_text(c, y, area.col, t->label_width, ROLE_MUTED, 0, line->label);
        for (int g = 0; g < across; g++) {
            const char *cell = line->cells[column + g];
            int columns = text_columns(cell), width = t->cell_width;
            int x = area.col + t->label_width + g * (width + 2) + 2;
            canvas_text(c, y, columns < width ? x + width - columns : x, width, role,
                        line->kind == ROW_HEAD ? ATTR_BOLD : 0, cell);
        }
    }
    return across;
}

/* --- JSON ----------------------------------------------------------------------------------------------------------- */

static json_t *settings_json(const struct compare_run *run)
{
    json_t *object = json_object();
    for (int i = 0; i < run->setting_count; i++)
        event_set_text(object, run->settings[i].name, run->settings[i].value);
    return object;
}

bool compare_emit(const struct comparison *c, struct error *e)
{
    bool ok = true;
    for (int i = 0; ok && i < c->run_count; i++) {
        const struct compare_run *run = &c->runs[i];
        char letter[8];
        json_t *line = event_new("compared", -1);
        compare_letter(run->group, letter);
        event_set_text(line, "run", run->id);
        event_set_text(line, "group", letter);
        event_set_text(line, "origin", run->origin);
        event_set_text(line, "state", run_state_name(run->state));
        json_object_set_new(line, "counts", json_boolean(!run->again));
        for (int f = 0; f < COMPARE_FIGURES; f++)
            event_set_number(line, FIGURES[f].key, run->figure[f]);
        ok = event_write(STDOUT_FILENO, line, e);
    }
    for (int g = 0; ok && g < c->group_count; g++) {
        const struct compare_group *group = &c->groups[g];
        char letter[8];
        json_t *line = event_new("comparison", -1);
        compare_letter(g, letter);
        event_set_text(line, "group", letter);
        event_set_integer(line, "runs", group->runs);
        event_set_integer(line, "ranks", group->ranks);
        compare_letter(group->base, letter);
        event_set_text(line, "base", letter);
        json_t *differs = json_object();
        for (int d = 0; d < c->difference_count; d++)
            event_set_text(differs, c->differences[d],
                           compare_value(&c->runs[group->first], c->differences[d]));
        json_object_set_new(line, "differs", differs);
        json_object_set_new(line, "settings", settings_json(&c->runs[group->first]));
        for (int f = 0; f < COMPARE_FIGURES; f++) {
            char key[32];
            event_set_number(line, FIGURES[f].key, group->figure[f].mean);
            snprintf(key, sizeof key, "%s_half", FIGURES[f].key);
            event_set_number(line, key, group->figure[f].half);
            snprintf(key, sizeof key, "%s_n", FIGURES[f].key);
            event_set_integer(line, key, group->figure[f].n);
        }
        const char *name;
        json_t *cases = json_object();
        for (int i = 0; (name = compare_case_name(c, i)); i++) {
            struct interval time = compare_case_time(c, g, name);
            json_t *told = json_object();
            event_set_number(told, "time_s", time.mean);
            event_set_number(told, "time_s_half", time.half);
            event_set_integer(told, "time_s_n", time.n);
            json_object_set_new(cases, name, told);
        }
        json_object_set_new(line, "cases", cases);
        ok = event_write(STDOUT_FILENO, line, e);
    }
    return ok;
}
