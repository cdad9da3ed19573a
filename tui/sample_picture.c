#include "tui/sample_picture.h"

#include <math.h>
#include <stddef.h>

struct rgb {
    double r, g, b;
};

/* Where a palette passes through, evenly spaced; between them it runs straight. */
static struct rgb palette_at(enum palette palette, double value)
{
    static const struct rgb heat[] = {{0, 0, 4},     {40, 11, 84},   {101, 21, 110}, {159, 42, 99},
                                      {212, 72, 66}, {245, 125, 21}, {250, 193, 39}, {252, 255, 164}};
    static const struct rgb diverging[] = {{120, 200, 255}, {40, 120, 220}, {24, 60, 120},  {22, 24, 28},
                                           {120, 62, 16},   {222, 120, 24}, {255, 208, 120}};
    enum { HEAT = sizeof heat / sizeof *heat, DIVERGING = sizeof diverging / sizeof *diverging };
    value = value < 0 ? 0 : value > 1 ? 1 : value;
    if (palette == PALETTE_GREY)
        return (struct rgb){255 * value, 255 * value, 255 * value};
    const struct rgb *stops = palette == PALETTE_HEAT ? heat : diverging;
    int last = (palette == PALETTE_HEAT ? HEAT : DIVERGING) - 1, i = (int)(value * last);
    i = i < last ? i : last - 1;
    double part = value * last - i;
    return (struct rgb){stops[i].r + part * (stops[i + 1].r - stops[i].r),
                        stops[i].g + part * (stops[i + 1].g - stops[i].g),
                        stops[i].b + part * (stops[i + 1].b - stops[i].b)};
}

/* Few levels keep the pairs of colours that a terminal has to know few. */
static uint32_t packed(struct rgb colour)
{
    uint32_t r = (uint32_t)lround(colour.r / 8) * 8, g = (uint32_t)lround(colour.g / 8) * 8,
             b = (uint32_t)lround(colour.b / 8) * 8;
    return (r > 255 ? 255 : r) << 16 | (g > 255 ? 255 : g) << 8 | (b > 255 ? 255 : b);
}

/* A part of the picture, from 0 to 1 down and across. */
struct box {
    double top, bottom, left, right;
};

/* The mean of a channel over a box, from 0 to 1. */
static double mean(const struct picture *p, int channel, struct box box)
{
    double top = box.top * p->rows, bottom = box.bottom * p->rows, left = box.left * p->cols,
           right = box.right * p->cols, sum = 0, area = 0;
    const unsigned char *plane = p->bytes + (size_t)channel * (size_t)p->rows * (size_t)p->cols;
    for (int r = (int)top; r < p->rows && r < bottom; r++)
        for (int k = (int)left; k < p->cols && k < right; k++) {
            double part = (fmin(r + 1, bottom) - fmax(r, top)) * (fmin(k + 1, right) - fmax(k, left));
            sum += part * plane[r * p->cols + k];
            area += part;
        }
    return area > 0 ? sum / area / 255 : 0;
}

static uint32_t colour(const struct picture *p, struct box box)
{
    if (p->channels == 3)
        return packed((struct rgb){255 * mean(p, 0, box), 255 * mean(p, 1, box), 255 * mean(p, 2, box)});
    return packed(palette_at(p->palette, mean(p, 0, box)));
}

/* How light it is: the luma of ITU-R BT.601 of red, green and blue. */
static double light(const struct picture *p, struct box box)
{
    if (p->channels == 3)
        return 0.299 * mean(p, 0, box) + 0.587 * mean(p, 1, box) + 0.114 * mean(p, 2, box);
    return mean(p, 0, box);
}

static uint32_t shade(const struct canvas *c, double value)
{
    static const uint32_t blocks[] = {' ', 0x2591, 0x2592, 0x2593, 0x2588};
    static const char ink[] = " .:-=+*#%@";
    value = value < 0 ? 0 : value > 1 ? 1 : value;
    int levels = c->utf8 ? 5 : 10, at = (int)(value * levels);
    at = at < levels ? at : levels - 1;
    return c->utf8 ? blocks[at] : (uint32_t)(unsigned char)ink[at];
}

/* Which of a cell's 2 × 4 dots are lit, as a character of U+2800. */
static uint32_t dots(const struct picture *p, struct rect area, int row, int col)
{
    static const uint8_t BIT[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    static const uint8_t BAYER[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
    double high = 4 * area.rows, wide = 2 * area.cols;
    uint32_t lit = 0;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 2; x++) {
            int down = 4 * row + y, across = 2 * col + x;
            struct box box = {down / high, (down + 1) / high, across / wide, (across + 1) / wide};
            if (light(p, box) > (BAYER[down % 4][across % 4] + 0.5) / 16)
                lit |= BIT[y][x];
        }
    return lit ? 0x2800 + lit : ' ';
}

void picture_draw(struct canvas *c, struct rect area, const struct picture *p, enum picture_style style)
{
    for (int row = 0; row < area.rows; row++)
        for (int col = 0; col < area.cols; col++) {
            struct box box = {row / (double)area.rows, (row + 1) / (double)area.rows, col / (double)area.cols,
                              (col + 1) / (double)area.cols};
            struct box upper = box, lower = box;
            upper.bottom = lower.top = (box.top + box.bottom) / 2;
            int r = area.row + row, k = area.col + col;
            if (c->pixels && style == PICTURE_BEST)
                canvas_pixels(c, r, k, colour(p, upper), colour(p, lower));
            else if (c->utf8 && style != PICTURE_SHADES)
                canvas_put(c, r, k, dots(p, area, row, col), ROLE_TEXT, 0);
            else
                canvas_put(c, r, k, shade(c, light(p, box)), ROLE_TEXT, 0);
        }
}

int picture_rows(const struct picture *p, int cols)
{
    int rows = p->cols > 0 ? (int)lround((double)cols * p->rows / p->cols / 2) : 1;
    return rows > 0 ? rows : 1;
}

void picture_cell(struct canvas *c, int row, int col, double value, enum palette palette,
                  enum picture_style style)
{
    uint32_t rgb = packed(palette_at(palette, value));
    if (c->pixels && style == PICTURE_BEST)
        canvas_pixels(c, row, col, rgb, rgb);
    else
        canvas_put(c, row, col, shade(c, value), ROLE_TEXT, 0);
}

void picture_scale(struct canvas *c, int row, int col, int cols, enum palette palette,
                   enum picture_style style)
{
    for (int i = 0; i < cols; i++)
        picture_cell(c, row, col + i, (i + 0.5) / cols, palette, style);
}
