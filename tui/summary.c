#include "tui/summary.h"

#include "tui/axis.h"
#include "tui/canvas.h"
#include "tui/follow.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE = 110, TEXT_MIN = 16 };
enum column { NUMBER, TEXT, NAME, OUTPUT, PARAMETERS, FLOPS, BACKWARD, BYTES, INTENSITY, COLUMNS };

static const char *const titles[COLUMNS] = {
    [NUMBER] = "",           [TEXT] = "layer",        [NAME] = "name",
    [OUTPUT] = "output",     [PARAMETERS] = "params", [FLOPS] = "FLOP",
    [BACKWARD] = "backward", [BYTES] = "bytes",       [INTENSITY] = "FLOP/B",
};

/* The cells of one line, and how wide each column is. */
struct line {
    char cell[COLUMNS][96];
};
struct widths {
    int of[COLUMNS], gap; /* gap: blanks between columns */
    bool wide, utf8;
};

static bool shown(const struct widths *w, int column)
{
    return w->wide || (column != NAME && column != BACKWARD);
}

/*
 * "7.branches.1.2" is set in, one step a level, with the path it lies on: blank for a residual's layers, + for its
 * shortcut, the number of a branch.
 */
static void set_in(const char *name, const char *text, char *out, size_t size)
{
    size_t used = 0;
    for (const char *p = strchr(name, '.'); p && used + 3 < size; p = strchr(p, '.')) {
        p++;
        char mark = *p == 's' ? '+' : *p == 'b' ? '?' : ' ';
        p = strchr(p, '.');
        if (mark == '?' && p) {
            mark = (char)('1' + atoi(p + 1) % 9);
            p = strchr(p + 1, '.');
        }
        out[used++] = mark;
        out[used++] = ' ';
        if (!p)
            break;
        p++; /* the layer's number on that path */
    }
    snprintf(out + used, size - used, "%s", text);
}

static void flops_text(double flops, char *text, size_t size)
{
    if (flops > 0)
        format_si(flops, text, size);
    else
        snprintf(text, size, "-");
}

static void bytes_text(double bytes, char *text, size_t size)
{
    char number[32];
    format_si(bytes, number, sizeof number);
    size_t n = strlen(number);
    bool unit = n && (unsigned char)number[n - 1] > '9'; /* "3.21 k" takes its B close by */
    snprintf(text, size, bytes > 0 ? (unit ? "%sB" : "%s B") : "-", number);
}

static void figures(struct line *line, const struct run_layer *l)
{
    text_grouped(line->cell[PARAMETERS], sizeof line->cell[0], l->parameters);
    if (l->parameters <= 0)
        snprintf(line->cell[PARAMETERS], sizeof line->cell[0], "-");
    flops_text(l->flops, line->cell[FLOPS], sizeof line->cell[0]);
    flops_text(l->backward_flops, line->cell[BACKWARD], sizeof line->cell[0]);
    bytes_text(l->bytes, line->cell[BYTES], sizeof line->cell[0]);
    double intensity = l->bytes > 0 ? l->flops / l->bytes : 0;
    const char *format = intensity < 1 ? "%.2f" : intensity < 99.95 ? "%.1f" : "%.0f";
    snprintf(line->cell[INTENSITY], sizeof line->cell[0], intensity > 0 ? format : "-", intensity);
}

static struct line line_of(const struct run_layer *l)
{
    struct line line = {0};
    if (!strchr(l->name, '.'))
        snprintf(line.cell[NUMBER], sizeof line.cell[0], "%d", atoi(l->name) + 1);
    set_in(l->name, l->text, line.cell[TEXT], sizeof line.cell[0]);
    snprintf(line.cell[NAME], sizeof line.cell[0], "%s", l->name);
    snprintf(line.cell[OUTPUT], sizeof line.cell[0], "%s", l->output);
    figures(&line, l);
    return line;
}

static void widen(struct widths *w, const struct line *line)
{
    for (int i = 0; i < COLUMNS; i++)
        if (text_columns(line->cell[i]) > w->of[i])
            w->of[i] = text_columns(line->cell[i]);
}

static int total_width(const struct widths *w)
{
    int sum = -w->gap;
    for (int i = 0; i < COLUMNS; i++)
        sum += shown(w, i) ? w->of[i] + w->gap : 0;
    return sum;
}

/* At most `columns` of them: for the terminal's multibyte characters too. */
static void cut(char *text, int columns)
{
    while (text_columns(text) > columns && *text) {
        size_t n = strlen(text) - 1;
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
            n--;
        text[n] = '\0';
    }
}

/* Without × where it cannot be shown. */
static void plain(char *text)
{
    for (char *times; (times = strstr(text, "×"));) {
        *times = 'x';
        memmove(times + 1, times + strlen("×"), strlen(times + strlen("×")) + 1);
    }
}

static void put(FILE *to, const struct widths *w, const struct line *line)
{
    char out[COLUMNS * 100];
    size_t used = 0;
    for (int i = 0; i < COLUMNS; i++) {
        char cell[96];
        if (!shown(w, i))
            continue;
        snprintf(cell, sizeof cell, "%s", line->cell[i]);
        if (!w->utf8)
            plain(cell);
        cut(cell, w->of[i]);
        bool left = i == TEXT || i == NAME || i == OUTPUT;
        int pad = w->of[i] - text_columns(cell);
        used += (size_t)snprintf(out + used, sizeof out - used, "%*s%s%*s", left ? 0 : pad, "", cell,
                                 (left ? pad : 0) + w->gap, "");
    }
    while (used > 0 && out[used - 1] == ' ')
        used--;
    fprintf(to, "%.*s\n", (int)used, out);
}

static struct run_layer total(const struct run_layer *layers, int count)
{
    struct run_layer sum = {.text = "total"};
    for (int i = 0; i < count; i++) {
        sum.parameters += layers[i].parameters;
        sum.flops += layers[i].flops;
        sum.backward_flops += layers[i].backward_flops;
        sum.bytes += layers[i].bytes;
        sum.output_bytes += layers[i].output_bytes;
    }
    return sum;
}

static void write_foot(FILE *to, const struct run_layer *sum)
{
    char forward[32], backward[32], parameters[32], activations[32];
    format_si(sum->flops, forward, sizeof forward);
    format_si(sum->backward_flops, backward, sizeof backward);
    bytes_text(4 * sum->parameters, parameters, sizeof parameters);
    bytes_text(sum->output_bytes, activations, sizeof activations);
    fprintf(to,
            "Of one sample, forward. A multiply and an add are two FLOP; bytes are\n"
            "inputs, parameters and output, each moved once, in float32.\n"
            "Training takes %s FLOP forward and %s backward a sample, %s for\n"
            "the parameters, as much for their gradients, %s for activations.\n",
            forward, backward, parameters, activations);
}

static void write_model(FILE *to, const struct run_layer *layers, int count, int columns, bool utf8)
{
    struct widths w = {.wide = columns >= WIDE, .utf8 = utf8};
    struct line head = {0}, foot = {0};
    struct run_layer sum = total(layers, count);
    for (int i = 0; i < COLUMNS; i++)
        snprintf(head.cell[i], sizeof head.cell[i], "%s", titles[i]);
    snprintf(foot.cell[TEXT], sizeof foot.cell[TEXT], "total");
    figures(&foot, &sum);
    widen(&w, &head);
    widen(&w, &foot);
    for (int i = 0; i < count; i++) {
        struct line line = line_of(&layers[i]);
        widen(&w, &line);
    }
    w.gap = 2;
    if (total_width(&w) > columns)
        w.gap = 1;
    int over = total_width(&w) - columns;
    if (over > 0)
        w.of[TEXT] = w.of[TEXT] - over > TEXT_MIN ? w.of[TEXT] - over : TEXT_MIN;
    put(to, &w, &head);
    for (int i = 0; i < count; i++) {
        struct line line = line_of(&layers[i]);
        put(to, &w, &line);
    }
    put(to, &w, &foot);
    write_foot(to, &sum);
}

void summary_write(FILE *to, const struct run_model *m, int columns, bool utf8)
{
    for (int from = 0, end; from < m->layer_count; from = end) {
        const struct run_layer *first = &m->layers[from];
        for (end = from; end < m->layer_count && !strcmp(m->layers[end].model, first->model);)
            end++;
        fprintf(to, "%s%s\n", from ? "\n" : "", first->model);
        write_model(to, first, end - from, columns, utf8);
    }
}

void summary_draw(struct canvas *c, struct rect area, const struct run_model *m, int skip)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return;
    summary_write(to, m, area.cols, c->utf8);
    if (fclose(to) == 0) {
        int lines = 0, row = 0;
        for (const char *p = text; *p; p++)
            lines += *p == '\n';
        skip = skip > lines - area.rows ? lines - area.rows : skip;
        for (char *p = text, *end; row < area.rows && (end = strchr(p, '\n')); p = end + 1) {
            *end = '\0';
            if (skip-- > 0)
                continue;
            canvas_text(c, area.row + row++, area.col, area.cols, ROLE_TEXT, 0, p);
        }
    }
    free(text);
}
