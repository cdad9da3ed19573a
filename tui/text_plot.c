#include "tui/text_plot.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <strings.h>

bool text_is_utf8(void)
{
    setlocale(LC_CTYPE, "");
    const char *codeset = nl_langinfo(CODESET);
    return !strcasecmp(codeset, "UTF-8") || !strcasecmp(codeset, "UTF8");
}

enum { MAX_DOT_COLUMNS = 2 * TEXT_PLOT_COLUMNS, MAX_DOT_ROWS = 4 * TEXT_PLOT_ROWS };

struct dots {
    int columns, rows;
    bool on[MAX_DOT_ROWS][MAX_DOT_COLUMNS];
};

/* Mean of the samples that fall into each column of dots; NaN where there is none. */
static void column_means(const double *x, const double *y, int count, double x0, double x1, double *mean,
                         int columns)
{
    int n[MAX_DOT_COLUMNS] = {0};
    for (int i = 0; i < columns; i++)
        mean[i] = 0;
    for (int i = 0; i < count; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i]))
            continue;
        int column = (int)((x[i] - x0) / (x1 - x0) * columns);
        column = column < 0 ? 0 : column >= columns ? columns - 1 : column;
        mean[column] += y[i];
        n[column]++;
    }
    for (int i = 0; i < columns; i++)
        mean[i] = n[i] ? mean[i] / n[i] : NAN;
}

/* A line of dots from one column's value to the next one that has a value. */
static void draw(struct dots *d, const double *mean, double y0, double y1)
{
    int before = -1, before_row = 0;
    for (int column = 0; column < d->columns; column++) {
        if (isnan(mean[column]))
            continue;
        int row = (int)lround((y1 - mean[column]) / (y1 - y0) * (d->rows - 1));
        if (before < 0)
            before = column, before_row = row;
        int across = column - before, along = row - before_row, steps = across;
        if ((along < 0 ? -along : along) > steps)
            steps = along < 0 ? -along : along;
        for (int i = 0; i <= steps; i++) {
            double part = steps ? (double)i / steps : 0;
            d->on[before_row + (int)lround(part * along)][before + (int)lround(part * across)] = true;
        }
        before = column, before_row = row;
    }
}

static void print_braille(FILE *to, const struct dots *d, int row, int column)
{
    /* Unicode 6.x, block 2800: bit of the dot at (row, column) of a cell. */
    static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    unsigned cell = 0;
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 2; c++)
            if (d->on[4 * row + r][2 * column + c])
                cell |= bit[r][c];
    if (cell)
        fprintf(to, "\xe2%c%c", (int)(0xa0 | cell >> 6), (int)(0x80 | (cell & 0x3f)));
    else
        fputc(' ', to);
}

void text_plot(FILE *to, const char *title, const char *x_label, const double *x, const double *y, int count,
               bool utf8)
{
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY, mean[MAX_DOT_COLUMNS];
    struct dots d = {.columns = utf8 ? MAX_DOT_COLUMNS : TEXT_PLOT_COLUMNS,
                     .rows = utf8 ? MAX_DOT_ROWS : TEXT_PLOT_ROWS};
    for (int i = 0; i < count; i++)
        if (isfinite(x[i]) && isfinite(y[i]))
            x0 = fmin(x0, x[i]), x1 = fmax(x1, x[i]);
    if (!(x1 > x0))
        return;
    column_means(x, y, count, x0, x1, mean, d.columns);
    for (int i = 0; i < d.columns; i++)
        if (!isnan(mean[i]))
            y0 = fmin(y0, mean[i]), y1 = fmax(y1, mean[i]);
    if (!(y1 > y0)) /* a level line lies in the middle */
        y0 -= fabs(y0) > 0 ? 0.5 * fabs(y0) : 0.5, y1 += fabs(y1) > 0 ? 0.5 * fabs(y1) : 0.5;
    draw(&d, mean, y0, y1);
    fprintf(to, "%s\n", title);
    for (int row = 0; row < TEXT_PLOT_ROWS; row++) {
        char label[16] = "";
        double part = (double)row / (TEXT_PLOT_ROWS - 1);
        if (row == 0 || row == TEXT_PLOT_ROWS - 1 || row == TEXT_PLOT_ROWS / 2)
            snprintf(label, sizeof label, "%.3g", (1 - part) * y1 + part * y0);
        fprintf(to, "%8s %s", label, utf8 ? "\xe2\x94\x82" : "|");
        for (int column = 0; column < TEXT_PLOT_COLUMNS; column++) {
            if (utf8)
                print_braille(to, &d, row, column);
            else
                fputc(d.on[row][column] ? '*' : ' ', to);
        }
        fputc('\n', to);
    }
    fprintf(to, "%8s %s", "", utf8 ? "\xe2\x94\x94" : "+");
    for (int column = 0; column < TEXT_PLOT_COLUMNS; column++)
        fputs(utf8 ? "\xe2\x94\x80" : "-", to);
    char left[24], right[64];
    bool many = x1 - x0 > 100; /* means of steps are no steps, but nearly */
    snprintf(left, sizeof left, "%.6g", many ? round(x0) : x0);
    snprintf(right, sizeof right, "%s %.6g", x_label, many ? round(x1) : x1);
    fprintf(to, "\n%9s%s%*s\n", "", left, TEXT_PLOT_COLUMNS + 1 - (int)strlen(left), right);
}
