#include "engine/data/pnm.h"

#include "engine/data/gz.h"

#include <stdlib.h>
#include <string.h>

/* A header with comments, and the largest picture. */
#define PNM_MAX_BYTES ((size_t)3 * PNM_MAX_EXTENT * PNM_MAX_EXTENT + (1 << 16))

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next number of the header; comments run from # to the end of the line. */
static bool header_number(const uint8_t *data, size_t bytes, size_t *at, int most, int *number)
{
    while (*at < bytes && (is_blank(data[*at]) || data[*at] == '#')) {
        if (data[*at] == '#')
            while (*at < bytes && data[*at] != '\n')
                ++*at;
        else
            ++*at;
    }
    int value = 0;
    size_t begin = *at;
    while (*at < bytes && data[*at] >= '0' && data[*at] <= '9' && value <= most)
        value = 10 * value + (data[(*at)++] - '0');
    *number = value;
    return *at > begin && value >= 1 && value <= most;
}

/* Planes from pixels, scaled to 255. */
static void spread(const uint8_t *from, struct pnm *p, int largest)
{
    uint8_t scaled[256];
    for (int v = 0; v < 256; v++)
        scaled[v] = (uint8_t)(v >= largest ? 255 : (255 * v + largest / 2) / largest);
    size_t plane = (size_t)p->height * (size_t)p->width, channels = (size_t)p->channels;
    for (size_t c = 0; c < channels; c++)
        for (size_t k = 0; k < plane; k++)
            p->pixels[c * plane + k] = scaled[from[k * channels + c]];
}

static bool parse(const uint8_t *data, size_t bytes, const char *path, struct pnm *p, struct error *e)
{
    size_t at = 2;
    int largest;
    if (bytes < 3 || data[0] != 'P' || (data[1] != '5' && data[1] != '6'))
        return error_set(e, ERROR_INPUT,
                         "%s is no raw PGM or PPM picture: expected it to begin with P5 or P6", path);
    p->channels = data[1] == '5' ? 1 : 3;
    if (!header_number(data, bytes, &at, PNM_MAX_EXTENT, &p->width) ||
        !header_number(data, bytes, &at, PNM_MAX_EXTENT, &p->height))
        return error_set(e, ERROR_INPUT, "%s: expected a width and a height of 1 to %d in the header", path,
                         PNM_MAX_EXTENT);
    if (!header_number(data, bytes, &at, 255, &largest) || at >= bytes || !is_blank(data[at]))
        return error_set(e, ERROR_INPUT,
                         "%s: expected a largest value of 1 to 255 and one blank before the pixels (16-bit "
                         "pictures are not read)",
                         path);
    at++;
    size_t want = (size_t)p->channels * (size_t)p->height * (size_t)p->width;
    if (bytes - at != want)
        return error_set(
            e, ERROR_INPUT, "%s is %s: its header says %d × %d × %d, so %zu bytes, there are %zu", path,
            bytes - at < want ? "cut short" : "too long", p->channels, p->height, p->width, want, bytes - at);
    p->pixels = malloc(want);
    if (!p->pixels)
        return error_set(e, ERROR_FAILED, "%s: not enough memory for %zu bytes", path, want);
    spread(data + at, p, largest);
    return true;
}

bool pnm_read(const char *path, struct pnm *p, struct error *e)
{
    memset(p, 0, sizeof *p);
    uint8_t *data;
    size_t bytes;
    if (!gz_read(path, PNM_MAX_BYTES, &data, &bytes, e))
        return false;
    bool ok = parse(data, bytes, path, p, e);
    free(data);
    return ok;
}

void pnm_free(struct pnm *p)
{
    free(p->pixels);
    memset(p, 0, sizeof *p);
}
