#include "tui/line_diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct text_line {
    const char *text;
    int length; /* without blanks at its end */
};

struct lines {
    struct text_line *line;
    int count;
};

static bool cut(struct lines *l, const char *text)
{
    int room = 1;
    for (const char *at = text; *at; at++)
        room += *at == '\n';
    l->count = 0;
    l->line = malloc((size_t)room * sizeof *l->line);
    while (l->line && *text) {
        int length = (int)strcspn(text, "\n"), kept = length;
        while (kept > 0 && strchr(" \t\r", text[kept - 1]))
            kept--;
        l->line[l->count++] = (struct text_line){text, kept};
        text += length;
        text += *text == '\n';
    }
    return l->line != NULL;
}

static bool equal(const struct lines *a, int i, const struct lines *b, int k)
{
    return a->line[i].length == b->line[k].length &&
           !memcmp(a->line[i].text, b->line[k].text, (size_t)a->line[i].length);
}

static void put(struct line_diff *d, enum diff_kind kind, const struct text_line *line, int first, int second)
{
    d->only_first += kind == DIFF_FIRST;
    d->only_second += kind == DIFF_SECOND;
    d->lines[d->count++] = (struct diff_line){kind, line->text, line->length, first, second};
}

/*
 * The middle, between common ends: table[i][k] is the length of the longest common subsequence of first[i..] and
 * second[k..], so that walking from its beginning tells at each step which line to leave.
 */
static bool middle(struct line_diff *d, const struct lines *a, const struct lines *b, int from, int a_end,
                   int b_end)
{
    int rows = a_end - from, cols = b_end - from, i = 0, k = 0;
    bool small = rows <= DIFF_MAX_LINES && cols <= DIFF_MAX_LINES;
    size_t wide = (size_t)cols + 1;
    uint16_t *table = small ? calloc((size_t)(rows + 1) * wide, sizeof *table) : NULL;
    if (small && !table)
        return false;
    for (int r = rows - 1; small && r >= 0; r--)
        for (int s = cols - 1; s >= 0; s--) {
            uint16_t *here = &table[(size_t)r * wide + (size_t)s], down = here[wide], right = here[1];
            *here = equal(a, from + r, b, from + s) ? (uint16_t)(here[wide + 1] + 1)
                    : down > right                  ? down
                                                    : right;
        }
    while (small && i < rows && k < cols) {
        const uint16_t *here = &table[(size_t)i * wide + (size_t)k];
        if (equal(a, from + i, b, from + k)) {
            put(d, DIFF_SAME, &a->line[from + i], from + i + 1, from + k + 1);
            i++, k++;
        } else if (here[wide] >= here[1]) {
            put(d, DIFF_FIRST, &a->line[from + i], from + i + 1, 0);
            i++;
        } else {
            put(d, DIFF_SECOND, &b->line[from + k], 0, from + k + 1);
            k++;
        }
    }
    for (; i < rows; i++)
        put(d, DIFF_FIRST, &a->line[from + i], from + i + 1, 0);
    for (; k < cols; k++)
        put(d, DIFF_SECOND, &b->line[from + k], 0, from + k + 1);
    free(table);
    return true;
}

bool line_diff_make(struct line_diff *d, const char *first, const char *second, struct error *e)
{
    struct lines a = {0}, b = {0};
    *d = (struct line_diff){0};
    bool ok = cut(&a, first) && cut(&b, second);
    if (ok)
        d->lines = malloc((size_t)(a.count + b.count + 1) * sizeof *d->lines);
    ok = ok && d->lines;
    if (ok) {
        int from = 0, a_end = a.count, b_end = b.count;
        for (; from < a_end && from < b_end && equal(&a, from, &b, from); from++)
            put(d, DIFF_SAME, &a.line[from], from + 1, from + 1);
        while (a_end > from && b_end > from && equal(&a, a_end - 1, &b, b_end - 1))
            a_end--, b_end--;
        ok = middle(d, &a, &b, from, a_end, b_end);
        for (int i = a_end; ok && i < a.count; i++)
            put(d, DIFF_SAME, &a.line[i], i + 1, b_end + (i - a_end) + 1);
    }
    free(a.line);
    free(b.line);
    if (ok)
        return true;
    line_diff_free(d);
    return error_set(e, ERROR_FAILED, "out of memory");
}

void line_diff_free(struct line_diff *d)
{
    free(d->lines);
    *d = (struct line_diff){0};
}
