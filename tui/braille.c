#include "tui/braille.h"

#include <stdlib.h>

bool dots_init(struct dots *d, int rows, int cols, bool braille)
{
    *d = (struct dots){.rows = rows > 0 ? rows : 0, .cols = cols > 0 ? cols : 0, .braille = braille};
    d->high = d->rows * (braille ? 4 : 1);
    d->wide = d->cols * (braille ? 2 : 1);
    size_t cells = (size_t)d->rows * (size_t)d->cols;
    d->bits = calloc(cells + 1, 1);
    d->series = calloc(cells + 1, 1);
    if (d->bits && d->series)
        return true;
    dots_free(d);
    return false;
}

void dots_free(struct dots *d)
{
    if (!d)
        return;
    free(d->bits);
    free(d->series);
    *d = (struct dots){0};
}

void dots_set(struct dots *d, int x, int y, int series)
{
    /* The order of the dots in U+2800: the first six by columns, the last two in the fourth row. */
    static const uint8_t BIT[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= d->wide || y >= d->high)
        return;
    int row = d->braille ? y / 4 : y, col = d->braille ? x / 2 : x;
    int cell = row * d->cols + col;
    d->bits[cell] |= d->braille ? BIT[y % 4][x % 2] : 1;
    d->series[cell] = (uint8_t)(series + 1);
}

void dots_line(struct dots *d, int x0, int y0, int x1, int y1, int series, struct dash dash, int *phase)
{
    int dx = abs(x1 - x0), dy = -abs(y1 - y0), sx = x0 < x1 ? 1 : -1, sy = y0 < y1 ? 1 : -1, error = dx + dy;
    int period = dash.on + dash.off;
    for (;;) {
        if (period <= 0 || dash.off <= 0 || *phase % period < dash.on)
            dots_set(d, x0, y0, series);
        ++*phase;
        if (x0 == x1 && y0 == y1)
            return;
        int twice = 2 * error;
        if (twice >= dy) {
            error += dy;
            x0 += sx;
        }
        if (twice <= dx) {
            error += dx;
            y0 += sy;
        }
    }
}

void dots_draw(const struct dots *d, struct canvas *c, int row, int col, const enum role *roles,
               const char *ascii)
{
    for (int r = 0; r < d->rows; r++)
        for (int k = 0; k < d->cols; k++) {
            int cell = r * d->cols + k;
            if (!d->series[cell])
                continue;
            int series = d->series[cell] - 1;
            uint32_t glyph = d->braille ? 0x2800u + d->bits[cell] : (uint32_t)(unsigned char)ascii[series];
            canvas_put(c, row + r, col + k, glyph, roles[series], 0);
        }
}
